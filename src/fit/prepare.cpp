// One pass over the rows before all else: finds NaN, and the column statistics behind T, bandwidth and shift. Means and
// variances by slabs of rows, merged in their order (Chan, Golub and LeVeque 1983): sums of squares about the slab's own
// mean, so that nothing is lost to a large offset. Cost n d.
#include "fit.h"

#include "../core/threads.h"
#include "../gram/magnitude.h"
#include "../gram/matrix.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

struct ColumnStats {
    double count = 0;
    CountedVector<double> mean, square, lo, hi; // square: sum of squares about the mean

    void merge(const ColumnStats &other) {
        if (other.count == 0) return;
        if (count == 0) {
            *this = other;
            return;
        }
        const double total = count + other.count;
        for (size_t k = 0; k < mean.size(); ++k) {
            double delta = other.mean[k] - mean[k];
            mean[k] += delta * other.count / total;
            square[k] += other.square[k] + delta * delta * count * other.count / total;
            lo[k] = std::min(lo[k], other.lo[k]);
            hi[k] = std::max(hi[k], other.hi[k]);
        }
        count = total;
    }
};

// weights: of the rows, sum n.
ColumnStats slab_stats(Run &run, const Source &source, const CountedVector<double> &weights, int64_t row0,
                       int64_t rows) {
    const int64_t d = source.cols();
    const size_t cols = static_cast<size_t>(d);
    Buffer<double> window = run.buffer<double>(rows, d);
    source.read(row0, rows, window.data());
    ColumnStats stats{0, CountedVector<double>(cols), CountedVector<double>(cols),
                      CountedVector<double>(cols, INFINITY), CountedVector<double>(cols, -INFINITY)};
    auto weight = [&](int64_t i) { return weights[static_cast<size_t>(row0 + i)]; };
    for (int64_t i = 0; i < rows; ++i) {
        if (weight(i) == 0) continue; // checked by read, else as if it were not there
        stats.count += weight(i);
        for (size_t k = 0; k < cols; ++k) {
            double value = window[i * d + static_cast<int64_t>(k)];
            stats.mean[k] += weight(i) * value;
            stats.lo[k] = std::min(stats.lo[k], value);
            stats.hi[k] = std::max(stats.hi[k], value);
        }
    }
    if (stats.count == 0) return stats;
    for (double &mean : stats.mean) mean /= stats.count;
    for (int64_t i = 0; i < rows; ++i)
        for (size_t k = 0; k < cols; ++k) {
            double diff = window[i * d + static_cast<int64_t>(k)] - stats.mean[k];
            stats.square[k] += weight(i) * diff * diff;
        }
    return stats;
}

// Slabs in windows of a few for each thread: a wide slab's statistics are as large as its rows.
int64_t scan_rows(const Source &source) {
    return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(source.cols(), 1), 1, 1024);
}
int64_t scan_window(const Run &run, const Source &source) { // 64 MiB
    return std::clamp<int64_t>((int64_t{1} << 21) / std::max<int64_t>(source.cols(), 1), 1, 4 * run.threads());
}

ColumnStats scan(Run &run, const Source &source, const CountedVector<double> &weights) {
    const int64_t n = source.rows(), rows = scan_rows(source), window = scan_window(run, source),
                  slabs = (n + rows - 1) / rows;
    ColumnStats all;
    for (int64_t first = 0; first < slabs; first += window) {
        const int64_t count = std::min(window, slabs - first);
        std::vector<ColumnStats> parts(static_cast<size_t>(count));
        Run::Span span(run, static_cast<double>(first) / static_cast<double>(slabs),
                       static_cast<double>(first + count) / static_cast<double>(slabs));
        parallel_for(run, count, [&](int64_t s) {
            const int64_t row0 = (first + s) * rows;
            parts[static_cast<size_t>(s)] = slab_stats(run, source, weights, row0, std::min(rows, n - row0));
        });
        for (const ColumnStats &part : parts) all.merge(part);
    }
    return all;
}

// The same from the entries alone; lo and hi from 0 on.
ColumnStats sparse_stats(const SparseSource &source, const CountedVector<double> &weights) {
    const size_t cols = static_cast<size_t>(source.cols());
    const double n = static_cast<double>(source.rows()); // the weights' sum
    ColumnStats stats{n, CountedVector<double>(cols), CountedVector<double>(cols), CountedVector<double>(cols),
                      CountedVector<double>(cols)};
    CountedVector<double> zeros(cols, n); // weight of the rows without an entry
    auto each = [&](auto &&body) {
        for (int64_t i = 0; i < source.rows(); ++i)
            for (int64_t k = source.offsets()[i]; k < source.offsets()[i + 1]; ++k)
                body(static_cast<size_t>(source.columns()[k]), source.value(k), weights[static_cast<size_t>(i)]);
    };
    each([&](size_t column, double value, double weight) {
        stats.mean[column] += weight * value / n;
        stats.lo[column] = std::min(stats.lo[column], value);
        stats.hi[column] = std::max(stats.hi[column], value);
        zeros[column] -= weight;
    });
    for (size_t c = 0; c < cols; ++c) stats.square[c] = std::max(zeros[c], 0.0) * stats.mean[c] * stats.mean[c];
    each([&](size_t column, double value, double weight) {
        double diff = value - stats.mean[column];
        stats.square[column] += weight * diff * diff;
    });
    return stats;
}

InputMap make_map(DataScale scale, const ColumnStats &stats) {
    InputMap map;
    if (scale == DataScale::none) return map;
    for (size_t k = 0; k < stats.mean.size(); ++k) {
        bool standard = scale == DataScale::standard;
        const bool constant = !(stats.hi[k] > stats.lo[k]); // its computed mean may be off by rounding
        double spread = constant ? 0 : standard ? std::sqrt(stats.square[k] / stats.count) : stats.hi[k] - stats.lo[k];
        if (!std::isfinite(spread))
            fail(MERCER_E_DATA, "data.scale: column %zu, from %g to %g, spreads beyond f64", k, stats.lo[k],
                 stats.hi[k]);
        map.shift.push_back(standard && !constant ? stats.mean[k] : stats.lo[k]);
        map.scale.push_back(spread > 0 ? 1 / spread : 1); // a constant column becomes 0
    }
    return map;
}

// Columns are divided by their lengths after all else.
void divide(InputMap &map, const std::vector<double> &lengths, int64_t d) {
    if (lengths.empty()) return;
    if (lengths.size() != 1 && static_cast<int64_t>(lengths.size()) != d)
        fail(MERCER_E_SHAPE, "data.lengths: %zu numbers, must be 1 or %" PRId64 ", one a column", lengths.size(), d);
    if (map.identity()) map.shift.assign(static_cast<size_t>(d), 0.0), map.scale.assign(static_cast<size_t>(d), 1.0);
    for (size_t k = 0; k < map.scale.size(); ++k) map.scale[k] /= lengths[lengths.size() == 1 ? 0 : k];
}

// Rows that a bandwidth is taken from, at most 128 MiB of them; objects, whose distances may be dear, are fewer.
int64_t sample_size(const Source &source) {
    const int64_t fits = (int64_t{1} << 24) / std::max<int64_t>(source.cols(), 1);
    return source.kind() == Source::Kind::objects ? 100 : std::clamp<int64_t>(fits, 20, 1000);
}

// The number behind a bandwidth rule: the weighted median or mean of the positive distances among sample_size rows of
// positive weight, drawn by the seed. A pair counts w_i w_j times, and
// equal rows do not count, so weights are repetitions here too; 0 where all rows are equal.
class Bandwidth {
  public:
    Bandwidth(Run &run, const Prepared &prepared, const ColumnStats &stats, const CountedVector<double> &weights,
              uint64_t seed)
        : run_(run), prepared_(prepared), stats_(stats), weights_(weights), random_(seed, Stage::bandwidth) {}

    double operator()(const Leaf &leaf, const std::string &rule) const {
        if (rule == "scale") return scale(leaf);
        CountedVector<Distance> distances = sample(leaf);
        double total = 0, sum = 0;
        for (const Distance &pair : distances) total += pair.weight, sum += pair.weight * pair.value;
        if (distances.empty()) return 0;
        if (rule == "mean") return sum / total;
        std::sort(distances.begin(), distances.end(),
                  [](const Distance &a, const Distance &b) { return a.value < b.value; });
        double below = 0;
        for (const Distance &pair : distances)
            if ((below += pair.weight) > total / 2) return pair.value;
        return distances.back().value;
    }

  private:
    // sqrt(d var), var over all entries of the leaf's columns (scikit-learn's "scale").
    double scale(const Leaf &leaf) const {
        if (stats_.mean.empty())
            fail(MERCER_E_UNSUPPORTED, "kernel.bandwidth = scale needs columns: objects have none");
        std::vector<int64_t> columns = leaf.columns;
        for (int64_t k = 0; leaf.columns.empty() && k < static_cast<int64_t>(stats_.mean.size()); ++k)
            columns.push_back(k);
        double mean = 0, square = 0;
        const double d = static_cast<double>(columns.size());
        auto mapped = [&](int64_t k, double *variance) {
            size_t at = static_cast<size_t>(k);
            bool identity = prepared_.map.identity();
            double factor = identity ? 1 : prepared_.map.scale[at], shift = identity ? 0 : prepared_.map.shift[at];
            *variance = stats_.square[at] / stats_.count * factor * factor;
            return (stats_.mean[at] - shift) * factor;
        };
        for (int64_t k : columns) {
            double variance;
            mean += mapped(k, &variance) / d;
        }
        for (int64_t k : columns) {
            double variance, own = mapped(k, &variance);
            square += (variance + (own - mean) * (own - mean)) / d;
        }
        return std::sqrt(d * square);
    }

    struct Distance {
        double value, weight;
    };

    CountedVector<Distance> sample(const Leaf &leaf) const {
        const Source &source = *prepared_.source;
        const bool objects = source.kind() == Source::Kind::objects;
        CountedVector<int64_t> rows;
        rows.reserve(static_cast<size_t>(source.rows()));
        for (int64_t i = 0; i < source.rows(); ++i)
            if (weights_[static_cast<size_t>(i)] > 0) rows.push_back(i);
        const int64_t n = static_cast<int64_t>(rows.size()), wanted = std::min(n, sample_size(source));
        for (int64_t i = 0; i < wanted; ++i) // the first steps of a Fisher-Yates shuffle
            std::swap(rows[static_cast<size_t>(i)],
                      rows[static_cast<size_t>(
                          i + static_cast<int64_t>(random_.uniform(i, 0) * static_cast<double>(n - i)))]);
        rows.resize(static_cast<size_t>(wanted));
        std::sort(rows.begin(), rows.end());
        return objects ? object_distances(rows) : row_distances(leaf, rows);
    }

    void add(CountedVector<Distance> &out, double distance, int64_t i, int64_t j) const {
        if (!std::isfinite(distance))
            fail(MERCER_E_DATA, "kernel.bandwidth: the distance of rows %" PRId64 " and %" PRId64 " is beyond f64", i,
                 j);
        if (distance > 0)
            out.push_back({distance, weights_[static_cast<size_t>(i)] * weights_[static_cast<size_t>(j)]});
    }

    CountedVector<Distance> object_distances(const CountedVector<int64_t> &rows) const {
        std::vector<int64_t> i, j;
        for (size_t a = 0; a < rows.size(); ++a)
            for (size_t b = 0; b < a; ++b) i.push_back(rows[a]), j.push_back(rows[b]);
        std::vector<double> squares(i.size());
        static_cast<const ObjectSource &>(*prepared_.source)
            .pairs(i.data(), j.data(), static_cast<int64_t>(i.size()), squares.data());
        CountedVector<Distance> out;
        for (size_t k = 0; k < i.size(); ++k) add(out, std::sqrt(squares[k]), i[k], j[k]);
        return out;
    }

    CountedVector<Distance> row_distances(const Leaf &leaf, const CountedVector<int64_t> &rows) const {
        const int64_t d = prepared_.source->cols(), m = static_cast<int64_t>(rows.size());
        Buffer<double> values = run_.buffer<double>(m, d);
        for (int64_t i = 0; i < m; ++i) prepared_.source->read(rows[static_cast<size_t>(i)], 1, values.data() + i * d);
        auto sample = make_array_source(std::move(values), m, d);
        std::vector<LeafSpec> spec = {{leaf.form == MERCER_L1 ? MERCER_L1 : MERCER_SQDIST, false, leaf.columns, {}}};
        Points<double> points(sample, prepared_.map, spec);
        Tiles<double> tiles(spec[0].form, points, points);
        std::vector<CountedVector<Distance>> parts(static_cast<size_t>(blocks_of(m)));
        for (int64_t b = 0; b < blocks_of(m); ++b) // pairs of its rows with those before them
            parts[static_cast<size_t>(b)].reserve(static_cast<size_t>(tile_rows * std::min(m, (b + 1) * tile_rows)));
        sweep<double>(run_, tiles, 0, m, [&](const Tile<double> &tile) {
            for (int64_t i = 0; i < tile.x.rows; ++i)
                for (int64_t j = 0; j < tile.y.rows && tile.y.row0 + j < tile.x.row0 + i; ++j) {
                    double value = tile.values[i * tile_rows + j];
                    add(parts[static_cast<size_t>(tile.slab)], leaf.form == MERCER_L1 ? value : std::sqrt(value),
                        rows[static_cast<size_t>(tile.x.row0 + i)], rows[static_cast<size_t>(tile.y.row0 + j)]);
                }
            return true;
        });
        CountedVector<Distance> out;
        out.reserve(static_cast<size_t>(m * (m - 1) / 2));
        for (const auto &part : parts) out.insert(out.end(), part.begin(), part.end());
        return out;
    }

    Run &run_;
    const Prepared &prepared_;
    const ColumnStats &stats_;
    const CountedVector<double> &weights_;
    Random random_;
};

// The sample, its pairs by blocks, then tiles (gram/tile.cpp holds a side's panels where they are small) or all pairs in a row.
// The rule "scale" takes none of it.
Bytes bandwidth_bytes(const Run &run, const Source &source) {
    const int64_t d = source.cols(), n = source.rows(), m = std::min(n, sample_size(source)), blocks = blocks_of(m),
                  row = 8 * (source.kind() == Source::Kind::objects ? 0 : 2 * d + 1); // l1 wants them transposed
    int64_t parts = 0;
    for (int64_t b = 0; b < blocks; ++b) parts += 16 * tile_rows * std::min(m, (b + 1) * tile_rows);
    const int64_t held = 8 * (n + m * d) + parts;
    auto tiles = [&](int64_t each) {
        return held_by(run.threads(), blocks, 8 * tile_rows * tile_rows + std::min(tile_rows, m) * each) + m * each;
    };
    return held + larger({tiles(row / 2).likely, tiles(row).most}, 8 * m * (m - 1));
}

// Says what tiles can hold, of numbers between the columns' smallest and largest.
void measure(Prepared &prepared, ColumnStats &stats) {
    Extent extent{std::move(stats.lo), std::move(stats.hi)};
    for (CountedVector<double> *ends : {&extent.lo, &extent.hi})
        for (size_t k = 0; k < ends->size() && !prepared.map.identity(); ++k)
            (*ends)[k] = ((*ends)[k] - prepared.map.shift[k]) * prepared.map.scale[k];
    const Magnitude own = magnitude_of(prepared.kernel, extent, prepared.f32);
    own.check(prepared.kernel, prepared.f32);
    prepared.squares_hold = own.squares_hold();
    prepared.f32_serves = magnitude_of(prepared.kernel, extent, true).serves_f32();
}

} // namespace

bool tile_is_f32(const Recipe &recipe, const Source &source) {
    const DataType dtype = static_cast<DataType>(recipe.values().data_dtype);
    return dtype == DataType::f32 || (dtype == DataType::as_given && source.dtype() == MERCER_F32);
}

Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source) {
    const int64_t d = source.cols(), n = source.rows();
    Bytes scanned;
    if (source.kind() == Source::Kind::sparse) {
        scanned = 5 * 8 * d;
    } else if (source.kind() == Source::Kind::dense) {
        const int64_t rows = std::min(scan_rows(source), n), slabs = (n + rows - 1) / rows;
        const int64_t window = std::min(scan_window(run, source), slabs), readers = std::min(run.threads(), window),
                      all = std::min(readers * rows, n);
        scanned = {8 * rows * d + window * 4 * 8 * d,
                   8 * all * d + readers * source.window_bytes(rows) + (window + 2) * 4 * 8 * d};
    }
    auto is_asked_for = [](const Leaf &leaf) {
        const int64_t rule = leaf.plugin ? leaf.params.table().find("bandwidth") : -1;
        return rule >= 0 && !leaf.params.group_is_set(rule);
    };
    const std::vector<Leaf> &leaves = recipe.kernel().leaves;
    if (std::none_of(leaves.begin(), leaves.end(), is_asked_for)) return scanned;
    return larger(scanned, 4 * 8 * d + bandwidth_bytes(run, source));
}

Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32) {
    Prepared out;
    out.source = data.source->load(run);
    if (!out.source) out.source = data.source;
    const Source &source = *out.source;
    if (source.rows() < 1) fail(MERCER_E_DATA, "the data have 0 rows, must be >= 1");
    out.weights = sample_weights(data, source);
    const bool objects = source.kind() == Source::Kind::objects, sparse = source.kind() == Source::Kind::sparse;
    if (!objects && source.cols() < 1) fail(MERCER_E_DATA, "the data have 0 columns, must be >= 1");
    const CoreValues &values = recipe.values();
    out.f32 = f32.value_or(tile_is_f32(recipe, source));
    const DataScale scale = static_cast<DataScale>(values.data_scale);
    const std::vector<double> lengths = parse_lengths(values.data_lengths ? values.data_lengths : "");
    if (!lengths.empty() && objects) fail(MERCER_E_UNSUPPORTED, "data.lengths: objects have no columns");
    if (scale != DataScale::none && (sparse || objects))
        fail(MERCER_E_UNSUPPORTED, "data.scale: %s",
             sparse ? "shifting sparse data would fill them" : "objects have no columns");
    out.kernel = recipe.kernel();
    if (out.kernel.has_user() && !out.kernel.user && !objects)
        fail(MERCER_E_ARGUMENT, "kernel = %s: no function was given with mercer_recipe_set_kernel",
             out.kernel.text().c_str());
    ColumnStats stats;
    if (sparse)
        stats = sparse_stats(static_cast<const SparseSource &>(source), out.weights);
    else if (!objects)
        stats = scan(run, source, out.weights);
    out.map = make_map(scale, stats);
    divide(out.map, lengths, source.cols());
    out.kernel.choose_forms();
    if (objects) check_objects(out.kernel, static_cast<const ObjectSource &>(source));
    if (const auto *matrix = dynamic_cast<const MatrixSource *>(&source)) matrix->check_fit(run);
    out.kernel.finish(run, source.cols(), Bandwidth(run, out, stats, out.weights, static_cast<uint64_t>(values.seed)));
    for (Leaf &leaf : out.kernel.leaves) {
        if (objects && !leaf.plugin && static_cast<const ObjectSource &>(source).psd()) leaf.facts.flags |= MERCER_PSD;
        if (leaf.form != MERCER_SQDIST || objects || sparse) continue;
        for (int64_t k = 0; k < out.kernel.leaf_columns(leaf, source.cols()); ++k) {
            size_t at = static_cast<size_t>(leaf.columns.empty() ? k : leaf.columns[static_cast<size_t>(k)]);
            double mean = stats.mean[at];
            leaf.shift.push_back(out.map.identity() ? mean : (mean - out.map.shift[at]) * out.map.scale[at]);
        }
    }
    measure(out, stats);
    return out;
}

CountedVector<double> sample_weights(const Data &data, const Source &source) {
    const int64_t n = source.rows();
    CountedVector<double> weights(static_cast<size_t>(n), 1.0);
    if (!data.has_weights()) return weights;
    const mercer_view &view = data.weights;
    if (view.rows != source.given_rows())
        fail(MERCER_E_SHAPE, "weights: %" PRId64 " of them for %" PRId64 " rows", view.rows, source.given_rows());
    for (int64_t i = 0; i < n; ++i) {
        const int64_t row = source.number(i), at = row * view.row_stride;
        double value = view.dtype == MERCER_F32 ? static_cast<double>(static_cast<const float *>(view.data)[at])
                                                : static_cast<const double *>(view.data)[at];
        if (!std::isfinite(value) || value < 0)
            fail(MERCER_E_DATA, "weights: row %" PRId64 " has %g, must be finite and >= 0", row, value);
        weights[static_cast<size_t>(i)] = value;
    }
    scale_weights(weights, n);
    if (std::all_of(weights.begin(), weights.end(), [&](double value) { return value == weights[0]; }))
        weights.assign(weights.size(), 1.0); // equal ones are none, to the bit
    return weights;
}

} // namespace mercer
