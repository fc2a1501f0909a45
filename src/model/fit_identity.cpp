// Rows, weights and landmarks are identified by the CRC-32 of their bytes. Objects and user kernels
// cannot be read, so they are identified by the CRC-32 of the values of a fixed sample of pairs.
// For objects, the sample has up to 4096 pairs of different objects, in which no object occurs
// twice. With up to 8192 objects, each one is in a pair (except the last one of an odd number), so
// that a change of any object is noticed unless the value of its pair remains the same. For user
// kernels, the sample has all pairs of up to 64 rows. The callbacks must therefore return the same
// bits whenever they are called.
//
// Cost: one pass over the rows; for objects at most 4096 values in one call, which is little
// compared to the n^2 / 2 values of a fit that keeps a checkpoint.
#include "fit_identity.h"

#include "../gram/source.h"
#include "../gram/tile.h"
#include "../io/safetensors.h"

namespace mercer {
namespace {

constexpr int64_t most_pairs = 4096, most_sampled_rows = 64;

// Returns entry k of `count` numbers that are spread evenly over 0 ... n - 1.
int64_t spread(int64_t k, int64_t count, int64_t n) { return k * n / count; }

uint32_t crc_of_pairs(const ObjectSource &objects) {
    const int64_t n = objects.rows(), count = std::min(n / 2, most_pairs);
    CountedVector<int64_t> i, j;
    for (int64_t k = 0; k < count; ++k) {
        // The partner of the k-th object of the first half is not the k-th one of the second half,
        // but one a third of the way further. If the second half repeats the first, objects would
        // otherwise be paired with their own copies, whose distances are all 0.
        i.push_back(spread(k, 2 * count, n));
        j.push_back(spread(count + (k + count / 3 + 1) % count, 2 * count, n));
    }
    CountedVector<double> values(static_cast<size_t>(count));
    if (count > 0) objects.given(i.data(), j.data(), count, values.data());
    return crc_of(values.data(), 8 * count);
}

template <class T>
uint32_t crc_of_kernel(Run &run, const Prepared &prepared) {
    const int64_t n = prepared.source->rows(), count = std::min(n, most_sampled_rows);
    CountedVector<int64_t> rows;
    for (int64_t k = 0; k < count; ++k) rows.push_back(spread(k, count, n));
    Points<T> points(prepared.source, prepared.map, leaf_specs(prepared.kernel), rows.data(), count);
    const Tiles<T> tiles(prepared.kernel, points, points);
    TileScratch<T> scratch = tiles.scratch(run);
    const Panel<T> panel = points.load(run, 0);
    tiles.compute(panel, panel, scratch);
    uint32_t crc = 0;
    for (int64_t i = 0; i < count; ++i)
        crc = crc_of(scratch.tile.data() + i * tile_rows, count * static_cast<int64_t>(sizeof(T)), crc);
    return crc;
}

template <class T>
uint32_t crc_of_rows(Run &run, const Source &source) {
    constexpr int64_t entries = 8192; // of a window; so few that forecasts of memory leave them out
    const int64_t n = source.rows(), d = source.cols(), step = std::max<int64_t>(entries / std::max<int64_t>(d, 1), 1);
    Buffer<T> window = run.buffer<T>(step, d);
    uint32_t crc = 0;
    for (int64_t row0 = 0; row0 < n; row0 += step) {
        const int64_t count = std::min(step, n - row0);
        source.fill(row0, count, window.data());
        crc = crc_of(window.data(), count * d * static_cast<int64_t>(sizeof(T)), crc);
        run.progress(0); // throws if the fit was cancelled
    }
    return crc;
}

uint32_t crc_of_sparse(const SparseSource &rows) {
    uint32_t crc = crc_of(rows.offsets(), 8 * (rows.rows() + 1));
    crc = crc_of(rows.columns(), 4 * rows.count(), crc);
    for (int64_t entry = 0; entry < rows.count(); ++entry) {
        const double value = rows.value(entry);
        crc = crc_of(&value, sizeof value, crc);
    }
    return crc;
}

uint32_t crc_of_view(const mercer_view &view) {
    const int64_t size = dtype_size(view.dtype);
    const auto *bytes = static_cast<const unsigned char *>(view.data);
    uint32_t crc = 0;
    for (int64_t i = 0; i < view.rows; ++i)
        for (int64_t j = 0; j < view.cols; ++j)
            crc = crc_of(bytes + (i * view.row_stride + j * view.col_stride) * size, size, crc);
    return crc;
}

void identify_rows(Run &run, const Source &source, Json &out) {
    if (source.kind() == Source::Kind::objects) {
        const auto &objects = static_cast<const ObjectSource &>(source);
        out["objects"] = objects.is_distance() ? "distances" : "kernel values";
        out["data"]["sampled pairs"] = crc_of_pairs(objects);
    } else if (source.kind() == Source::Kind::sparse) {
        out["data"]["rows"] = crc_of_sparse(static_cast<const SparseSource &>(source));
    } else {
        out["data"]["rows"] =
            source.dtype() == MERCER_F32 ? crc_of_rows<float>(run, source) : crc_of_rows<double>(run, source);
    }
}

} // namespace

Json fit_identity(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared) {
    const CoreValues &values = recipe.values();
    const Source &source = *prepared.source;
    Json out = record({{"version", MERCER_VERSION},
                       {"recipe", record({{"method", values.method},
                                          {"reducer", values.reducer},
                                          {"lift", values.lift},
                                          {"solver", values.solver},
                                          {"kernel", prepared.kernel.text()}})},
                       {"n", source.rows()},
                       {"d", source.cols()}});
    for (const auto &[name, value] : recipe.stored()) // except parameters that may differ between runs
        if (name != "solver.max_passes" && name != "solver.strict" && name.rfind("report.", 0) != 0)
            out["recipe"][name] = value;
    for (const auto &[name, value] : prepared.kernel.stored()) out["recipe"][name] = value; // resolved bandwidths
    identify_rows(run, source, out);
    if (prepared.kernel.has_user())
        out["data"]["values of the user kernel"] =
            prepared.f32 ? crc_of_kernel<float>(run, prepared) : crc_of_kernel<double>(run, prepared);
    const double *weights = prepared.weights.data(); // nullptr: all 1
    out["data"]["weights"] = weights ? crc_of(weights, 8 * source.rows()) : 0;
    if (data.has_landmarks()) out["data"]["landmarks"] = crc_of_view(data.landmarks);
    return out;
}

} // namespace mercer
