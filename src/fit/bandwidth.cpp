// Computes sigma by a rule: the median or mean distance between at most 1000 mapped rows, or
// sqrt(d var), where var is the variance of the entries of all rows (the rule "scale" of
// scikit-learn: gamma = 1 / (d var)).
//
// Distances come from tiles of squares, and f64 holds squares only of numbers between 1e-154 and
// 1e154. If rows come near these limits, the smallest entry of each column is subtracted, which
// changes no distance, and the rows are divided by a power of 2 near the widest range of a column.
// Cost: m^2 / 2 distances in d columns for a sample of m rows; "scale" needs O(d) operations.
// Error: a distance is as accurate as its tile (gram/tile.cpp), a variance as in column_stats.cpp;
// the sampling error of the median and the mean is a few per cent.
#include "bandwidth.h"

#include "../core/threads.h"
#include "../gram/tile.h"

#include <algorithm>
#include <cfloat>
#include <cinttypes>

namespace mercer {
namespace {

// The number of rows from which a bandwidth is computed: 1000, or fewer if these would take more
// than 128 MiB, but at least 20; for objects 100, because their distances may be expensive.
int64_t sample_size(const Source &source) {
    const int64_t fits = (int64_t{1} << 24) / std::max<int64_t>(source.cols(), 1);
    return source.kind() == Source::Kind::objects ? 100 : std::clamp<int64_t>(fits, 20, 1000);
}

} // namespace

double Bandwidth::operator()(const Leaf &leaf, const std::string &rule) const {
    const double length = rule == "scale" ? scale(leaf) : of_distances(leaf, rule == "mean"), square = length * length;
    const bool squared = leaf.form != MERCER_L1;
    if (!std::isfinite(length) || (squared && length > 0 && !(square >= DBL_MIN && square <= DBL_MAX)))
        fail(MERCER_E_DATA,
             "kernel.bandwidth = %s gives %g for these data,%s out of the range of f64: rescale the data", rule.c_str(),
             length, std::isfinite(length) ? " and its square is" : "");
    return length;
}

double Bandwidth::of_distances(const Leaf &leaf, bool mean) const {
    CountedVector<Distance> distances = sample(leaf);
    double total = 0, sum = 0;
    for (const Distance &pair : distances) total += pair.weight, sum += pair.weight * pair.value;
    if (distances.empty()) return 0;
    if (mean) return sum / total;
    std::sort(distances.begin(), distances.end(),
              [](const Distance &a, const Distance &b) { return a.value < b.value; });
    double below = 0;
    for (const Distance &pair : distances)
        if ((below += pair.weight) > total / 2) return pair.value;
    return distances.back().value;
}

// Returns sqrt(d var), where var is the variance of all mapped entries in the d columns of the
// leaf.
double Bandwidth::scale(const Leaf &leaf) const {
    if (stats_.mean.empty()) fail(MERCER_E_UNSUPPORTED, "kernel.bandwidth = scale needs columns: objects have none");
    std::vector<int64_t> columns = leaf.columns;
    for (int64_t k = 0; leaf.columns.empty() && k < static_cast<int64_t>(stats_.mean.size()); ++k) columns.push_back(k);
    const double d = static_cast<double>(columns.size());
    std::vector<double> means, deviations;
    double largest = 0;
    for (int64_t k : columns) {
        const size_t at = static_cast<size_t>(k);
        const bool identity = prepared_.map.identity();
        const double factor = identity ? 1 : prepared_.map.scale[at], shift = identity ? 0 : prepared_.map.shift[at];
        means.push_back((stats_.mean[at] - shift) * factor);
        deviations.push_back(stats_.deviation(at) * factor);
        largest = std::max({largest, std::fabs(means.back()), deviations.back()});
    }
    const double unit = unit_for_squares(largest);
    double mean = 0, square = 0;
    for (double own : means) mean += own / unit / d;
    for (size_t k = 0; k < means.size(); ++k) {
        const double spread = deviations[k] / unit, off = means[k] / unit - mean;
        square += (spread * spread + off * off) / d;
    }
    return std::sqrt(d * square) * unit;
}

CountedVector<Bandwidth::Distance> Bandwidth::sample(const Leaf &leaf) const {
    const Source &source = *prepared_.source;
    const bool objects = source.kind() == Source::Kind::objects;
    CountedVector<int64_t> rows;
    rows.reserve(static_cast<size_t>(source.rows()));
    for (int64_t i = 0; i < source.rows(); ++i)
        if (weights_[static_cast<size_t>(i)] > 0) rows.push_back(i);
    const int64_t n = static_cast<int64_t>(rows.size()), wanted = std::min(n, sample_size(source));
    for (int64_t i = 0; i < wanted; ++i) // the first steps of a Fisher-Yates shuffle
        std::swap(
            rows[static_cast<size_t>(i)],
            rows[static_cast<size_t>(i + static_cast<int64_t>(random_.uniform(i, 0) * static_cast<double>(n - i)))]);
    rows.resize(static_cast<size_t>(wanted));
    std::sort(rows.begin(), rows.end());
    return objects ? object_distances(rows) : row_distances(leaf, rows);
}

void Bandwidth::add(CountedVector<Distance> &out, double distance, int64_t i, int64_t j) const {
    if (!std::isfinite(distance))
        fail(MERCER_E_DATA,
             "kernel.bandwidth: the distance between rows %" PRId64 " and %" PRId64 " overflows f64: rescale the data",
             i, j);
    if (distance > 0) out.push_back({distance, weights_[static_cast<size_t>(i)] * weights_[static_cast<size_t>(j)]});
}

CountedVector<Bandwidth::Distance> Bandwidth::object_distances(const CountedVector<int64_t> &rows) const {
    std::vector<int64_t> i, j;
    for (size_t a = 0; a < rows.size(); ++a)
        for (size_t b = 0; b < a; ++b) i.push_back(rows[a]), j.push_back(rows[b]);
    std::vector<double> distances(i.size());
    static_cast<const ObjectSource &>(*prepared_.source)
        .given(i.data(), j.data(), static_cast<int64_t>(i.size()), distances.data());
    CountedVector<Distance> out;
    for (size_t k = 0; k < i.size(); ++k) add(out, distances[k], i[k], j[k]);
    return out;
}

// Prevents squares of distances from overflowing or underflowing f64. If the entries of the leaf's
// columns are too large or too small for that, it subtracts the smallest entry of each of these
// columns, divides by a unit near their widest range, and returns the unit. Otherwise it leaves the
// rows unchanged and returns 1.
double Bandwidth::bring_near_1(const Leaf &leaf, int64_t rows, double *values) const {
    const int64_t d = prepared_.source->cols(), own = prepared_.kernel.leaf_columns(leaf, d);
    double reach = 0, largest = 0;
    std::vector<double> least;
    for (int64_t k = 0; k < own; ++k) {
        const int64_t column = leaf.columns.empty() ? k : leaf.columns[static_cast<size_t>(k)];
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < rows; ++i) {
            lo = std::min(lo, values[i * d + column]);
            hi = std::max(hi, values[i * d + column]);
        }
        least.push_back(lo);
        reach = std::max(reach, hi - lo);
        largest = std::max({largest, std::fabs(lo), std::fabs(hi)});
    }
    if (!std::isfinite(reach) || (unit_for_squares(reach) == 1 && unit_for_squares(largest) == 1)) return 1;
    const double unit = unit_for_squares(reach);
    for (int64_t k = 0; k < own; ++k) {
        const int64_t column = leaf.columns.empty() ? k : leaf.columns[static_cast<size_t>(k)];
        for (int64_t i = 0; i < rows; ++i) {
            double &value = values[i * d + column];
            value = (value - least[static_cast<size_t>(k)]) / unit;
        }
    }
    return unit;
}

CountedVector<Bandwidth::Distance> Bandwidth::row_distances(const Leaf &leaf,
                                                            const CountedVector<int64_t> &rows) const {
    const int64_t d = prepared_.source->cols(), m = static_cast<int64_t>(rows.size());
    Buffer<double> values = run_.buffer<double>(m, d);
    prepared_.source->gather(rows.data(), m, values.data());
    map_rows(prepared_.map, d, values.data(), m);
    const double unit = bring_near_1(leaf, m, values.data());
    auto sample = make_array_source(std::move(values), m, d);
    std::vector<LeafSpec> spec = {{leaf.form == MERCER_L1 ? MERCER_L1 : MERCER_SQDIST, false, leaf.columns, {}}};
    Points<double> points(sample, {}, spec);
    Tiles<double> tiles(spec[0].form, points, points);
    std::vector<CountedVector<Distance>> parts(static_cast<size_t>(blocks_of(m)));
    // parts[b] receives the pairs of the rows of block b with all earlier rows.
    for (int64_t b = 0; b < blocks_of(m); ++b)
        parts[static_cast<size_t>(b)].reserve(static_cast<size_t>(tile_rows * std::min(m, (b + 1) * tile_rows)));
    sweep<double>(run_, tiles, 0, m, [&](const Tile<double> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            for (int64_t j = 0; j < tile.y.rows && tile.y.row0 + j < tile.x.row0 + i; ++j) {
                const double value = tile.values[i * tile_rows + j];
                add(parts[static_cast<size_t>(tile.slab)], (leaf.form == MERCER_L1 ? value : std::sqrt(value)) * unit,
                    rows[static_cast<size_t>(tile.x.row0 + i)], rows[static_cast<size_t>(tile.y.row0 + j)]);
            }
        return true;
    });
    CountedVector<Distance> out;
    out.reserve(static_cast<size_t>(m * (m - 1) / 2));
    for (const auto &part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

// The sample and the distances of its pairs, which are first collected by blocks, are held
// throughout. The tiles (gram/tile.cpp keeps prepared panels of rows if they are small) are
// released before all distances are copied into one array, so only the larger of these two is
// added.
Bytes bandwidth_bytes(const Run &run, const Source &source) {
    // row: bytes of a prepared row at most: its coordinates, a transposed copy of them (only l1 has
    // one) and its norm.
    const int64_t d = source.cols(), n = source.rows(), m = std::min(n, sample_size(source)), blocks = blocks_of(m),
                  row = 8 * (source.kind() == Source::Kind::objects ? 0 : 2 * d + 1);
    int64_t parts = 0;
    for (int64_t b = 0; b < blocks; ++b) parts += 16 * tile_rows * std::min(m, (b + 1) * tile_rows);
    const int64_t stored = 8 * (n + m * d) + parts;
    auto tiles = [&](int64_t each) {
        return held_by(run.threads(), blocks, 8 * tile_rows * tile_rows + std::min(tile_rows, m) * each) + m * each;
    };
    return stored + larger({tiles(row / 2).likely, tiles(row).most}, 8 * m * (m - 1));
}

} // namespace mercer
