// Forecasts what `compress` will need, from shapes alone. Its three steps, the reducer, the
// assignment of old centres to new ones and the projection, need their memory one after the other.
#include "compress_task.h"

#include "../core/threads.h"
#include "../factor/expansion_algebra.h"
#include "../fit/forecast.h"
#include "../fit/voronoi.h"

#include <cinttypes>

namespace mercer {
namespace {

// The memory and the work of projecting q vectors from m0 old centres to m new ones.
struct Projecting {
    Run &run;
    const Prepared &prepared;
    int64_t q;
    int64_t m0() const { return prepared.source->rows(); }

    // The memory of sums over this number of centres at this number of points (queries): prepared
    // panels of the centres and, for each thread, a tile, panels and sums.
    Bytes sums(const TileBytes &tiles, int64_t queries, int64_t centres) const {
        const int64_t rows = std::min(tile_rows, queries), width = padded_columns<double>(q),
                      each = tiles.scratch + 2 * (tiles.stored(1, rows) + tiles.loading(rows)) + 16 * rows * width;
        return held_by(run.threads(), blocks_of(queries), each) + tiles.stored(blocks_of(centres), centres);
    }
    // The memory of project() in compress.cpp, without the old centres.
    Bytes bytes(int64_t m) const {
        const TileBytes tiles = tiles_of<double>(prepared.kernel, *prepared.source);
        const int64_t width = padded_columns<double>(q);
        const Need whole = gram_need<double>(run, m0(), q, tiles);
        const Bytes products = whole.vectors + whole.scratch + whole.panels,
                    limits = sums(tiles, m0(), m) + (24 * m0() + 8 * m * width),
                    density = gram_need<double>(run, m, 1, tiles).vectors + whole.scratch + whole.panels,
                    later = larger(limits, density) + 8 * m * (3 * q + 2),
                    span = CentreSpan::bytes(m, run, tiles) + 8 * m * q + larger(sums(tiles, m, m0()), later);
        return larger(products, span) + 8 * m0() * width + 64 * q * q;
    }
    // Kernel values: half of the m0 x m0 matrix for the inner products of the old vectors, half of
    // the m x m matrix for those of the density, m^2 for the span, and m0 m each for the
    // projections and for the limits. The upper bound adds four rounds of 256 candidates for the
    // span, each candidate with m kernel values.
    mercer_figure evaluations(int64_t m) const {
        const double likely = static_cast<double>(pass_evaluations(m0()) + pass_evaluations(m) + m * m) +
                              2 * static_cast<double>(m0()) * static_cast<double>(m);
        return {likely, likely + 4 * 256 * static_cast<double>(m)};
    }
    double flops(int64_t m) const { // excluding those of kernel values
        const double old = static_cast<double>(m0()), now = static_cast<double>(m), width = static_cast<double>(q);
        return 2 * old * (old + 2 * now) * width + now * now * now / 3 + 2 * now * now * width;
    }
};

// Returns the bytes of a copy of the model's tensors.
int64_t copied_bytes(const Model &model) {
    int64_t out = 0;
    for (const auto &[name, tensor] : model.tensors()) out += tensor.bytes.size();
    return out;
}

} // namespace

DerivationForecast forecast_compress(const DeriveTask &task) {
    Run &run = task.run;
    const Model &model = *task.models.front();
    check_compressible(model);
    const Originals originals(model);
    const Prepared prepared = centres_as_rows(task, model, originals);
    const Source &source = *prepared.source;
    const int64_t m0 = model.m();
    DerivationForecast out;
    if (copies_model(task.recipe, model, originals)) {
        out.bytes = copied_bytes(model) + 8 * m0;
        out.strategy = "no fewer centres are requested: the model is copied";
        return out;
    }
    Data rows;
    rows.source = prepared.source;
    const mercer_cost cost =
        forecast_centres(run, task.recipe, rows, {prepared.kernel, source, prepared.f32}, false).cost;
    const Projecting projecting{run, prepared, originals.count};
    const AssignCost assigning = assign_cost(run, prepared.kernel, source, prepared.f32, cost.m);
    const auto bytes = [&](int64_t m, const Bytes &reducing) {
        const int64_t always = base_bytes(source, prepared.weighted(), m, prepared.f32) + 8 * m0 + 64 * m;
        return larger(reducing, larger(assigning.bytes, projecting.bytes(m))) + always;
    };
    out.bytes = {bytes(cost.likely_m, cost.likely_bytes).likely, bytes(cost.m, cost.bytes).most};
    const auto assigned = static_cast<double>(assigning.kernel_evaluations);
    const double share = static_cast<double>(cost.likely_m) / static_cast<double>(cost.m);
    out.kernel_evaluations = {cost.likely_evaluations + share * assigned + projecting.evaluations(cost.likely_m).likely,
                              static_cast<double>(cost.kernel_evaluations) + assigned +
                                  projecting.evaluations(cost.m).most};
    const auto flops = [&](int64_t m, double evaluations, double reducing) {
        return flops_of(source.cols(), 0, evaluations, 0) + projecting.flops(m) + reducing;
    };
    out.flops = {flops(cost.likely_m, out.kernel_evaluations.likely, share * share * cost.flops),
                 flops(cost.m, out.kernel_evaluations.most, cost.flops)};
    out.dense_order = static_cast<double>(originals.r);
    out.strategy = format("%" PRId64 " of %" PRId64 " centres", cost.m, m0);
    return out;
}

} // namespace mercer
