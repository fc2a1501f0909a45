// One pass over the rows finds NaN and computes the column statistics from which the input map, the
// bandwidths and the shifts of the kernel are computed (prepare.cpp). Means and variances are
// computed for slabs of rows and merged in order (Chan, Golub and LeVeque 1983). A slab's sums of
// squares are about its own mean, so a large offset costs no accuracy. If the largest entry of a
// column is above 2^400 or below 2^-400, the squares of its entries could overflow or underflow
// f64. The mean and the squares of such a column are therefore computed in units of a power of 2
// near its largest entry. Nothing then overflows, what underflows is below rounding, and the
// results of all other columns are the same bits as without units. Cost: O(n d) flops. A mean has
// an error of at most n u times the mean of |x|, and a variance a relative error of at most n u.
#include "column_stats.h"

#include "../core/slabs.h"

#include <algorithm>

namespace mercer {
namespace {

// Returns the statistics of zero rows. In this file `mean` is divided by `unit`, until column_stats
// multiplies it by `unit` at the end.
ColumnStats stats_of(size_t cols) {
    ColumnStats stats;
    stats.mean.resize(cols), stats.square.resize(cols);
    stats.lo.assign(cols, INFINITY), stats.hi.assign(cols, -INFINITY), stats.unit.assign(cols, 1);
    return stats;
}

bool is_zero(const ColumnStats &stats, size_t k) { return stats.lo[k] == 0 && stats.hi[k] == 0; }

// Chooses the units of the columns by their largest entries. Returns false if all are 1.
bool choose_units(ColumnStats &stats) {
    bool chosen = false;
    for (size_t k = 0; k < stats.unit.size(); ++k) {
        stats.unit[k] = unit_for_squares(std::max(std::fabs(stats.lo[k]), std::fabs(stats.hi[k])));
        chosen |= stats.unit[k] != 1;
    }
    return chosen;
}

// The unit of column k after two parts are merged. A part whose entries are all 0 fits any unit.
double common_unit(const ColumnStats &a, const ColumnStats &b, size_t k) {
    return is_zero(a, k) ? b.unit[k] : is_zero(b, k) ? a.unit[k] : std::max(a.unit[k], b.unit[k]);
}

void merge(ColumnStats &all, const ColumnStats &part) {
    if (part.count == 0) return;
    if (all.count == 0) {
        all = part;
        return;
    }
    const double total = all.count + part.count;
    for (size_t k = 0; k < all.mean.size(); ++k) {
        const double unit = common_unit(all, part, k), own = is_zero(all, k) ? 1 : all.unit[k] / unit,
                     other = is_zero(part, k) ? 1 : part.unit[k] / unit;
        const double mean = all.mean[k] * own, delta = part.mean[k] * other - mean;
        all.unit[k] = unit;
        all.mean[k] = mean + delta * part.count / total;
        all.square[k] =
            all.square[k] * own * own + part.square[k] * other * other + delta * delta * all.count * part.count / total;
        all.lo[k] = std::min(all.lo[k], part.lo[k]);
        all.hi[k] = std::max(all.hi[k], part.hi[k]);
    }
    all.count = total;
}

ColumnStats slab_stats(Run &run, const Source &source, const RowWeights &weights, int64_t row0, int64_t rows) {
    const int64_t d = source.cols();
    const size_t cols = static_cast<size_t>(d);
    Buffer<double> window = run.buffer<double>(rows, d);
    source.read(row0, rows, window.data());
    ColumnStats stats = stats_of(cols);
    auto weight = [&](int64_t i) { return weights[static_cast<size_t>(row0 + i)]; };
    auto each = [&](auto &&body) {
        for (int64_t i = 0; i < rows; ++i) {
            const double w = weight(i);
            // A row of weight 0 does not count; read() has nevertheless refused NaN and Inf in it.
            if (w == 0) continue;
            for (size_t k = 0; k < cols; ++k) body(w, window[i * d + static_cast<int64_t>(k)], k);
        }
    };
    for (int64_t i = 0; i < rows; ++i) stats.count += weight(i);
    if (stats.count == 0) return stats;
    each([&](double w, double value, size_t k) {
        stats.mean[k] += w * value;
        stats.lo[k] = std::min(stats.lo[k], value);
        stats.hi[k] = std::max(stats.hi[k], value);
    });
    if (choose_units(stats)) {
        std::fill(stats.mean.begin(), stats.mean.end(), 0.0);
        each([&](double w, double &value, size_t k) { stats.mean[k] += w * (value /= stats.unit[k]); });
    }
    for (double &mean : stats.mean) mean /= stats.count;
    each([&](double w, double value, size_t k) {
        const double diff = value - stats.mean[k];
        stats.square[k] += w * diff * diff;
    });
    return stats;
}

// The number of rows in a slab: at most 1024, with at most 2 MiB of entries unless one row has
// more.
int64_t scan_rows(const Source &source) {
    return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(source.cols(), 1), 1, 1024);
}
// The number of slabs whose statistics are held at the same time. If rows are wide, the statistics
// of a slab can take more memory than its rows. All statistics together take at most 80 MiB, unless
// those of one slab take more.
int64_t scan_window(const Run &run, const Source &source) {
    return std::clamp<int64_t>((int64_t{1} << 21) / std::max<int64_t>(source.cols(), 1), 1, 4 * run.threads());
}

ColumnStats scan(Run &run, const Source &source, const RowWeights &weights) {
    ColumnStats all;
    reduce_slabs<ColumnStats>(
        run,
        {.n = source.rows(),
         .rows = scan_rows(source),
         .window = scan_window(run, source),
         .serial = source.in_passes()},
        [&](int64_t row0, int64_t rows, ColumnStats &slab) { slab = slab_stats(run, source, weights, row0, rows); },
        [&](const ColumnStats &slab) { merge(all, slab); });
    return all;
}

// Computes the same statistics from the stored entries of sparse rows alone. lo and hi start at 0,
// the value of all other entries.
ColumnStats sparse_stats(const SparseSource &source, const RowWeights &weights) {
    const size_t cols = static_cast<size_t>(source.cols());
    const double n = static_cast<double>(source.rows()); // the sum of the weights
    ColumnStats stats = stats_of(cols);
    stats.count = n;
    std::fill(stats.lo.begin(), stats.lo.end(), 0.0);
    std::fill(stats.hi.begin(), stats.hi.end(), 0.0);
    CountedVector<double> zeros(cols, n); // for each column, the weight of the rows without an entry
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
    if (choose_units(stats)) {
        std::fill(stats.mean.begin(), stats.mean.end(), 0.0);
        each([&](size_t column, double value, double weight) {
            stats.mean[column] += weight * (value / stats.unit[column]) / n;
        });
    }
    for (size_t c = 0; c < cols; ++c) stats.square[c] = std::max(zeros[c], 0.0) * stats.mean[c] * stats.mean[c];
    each([&](size_t column, double value, double weight) {
        const double diff = value / stats.unit[column] - stats.mean[column];
        stats.square[column] += weight * diff * diff;
    });
    return stats;
}

} // namespace

ColumnStats column_stats(Run &run, const Source &source, const RowWeights &weights) {
    ColumnStats stats;
    if (source.kind() == Source::Kind::sparse)
        stats = sparse_stats(static_cast<const SparseSource &>(source), weights);
    else if (source.kind() == Source::Kind::dense)
        stats = scan(run, source, weights);
    for (size_t k = 0; k < stats.mean.size(); ++k) stats.mean[k] *= stats.unit[k];
    return stats;
}

Bytes column_stats_bytes(const Run &run, const Source &source) {
    constexpr int64_t vectors = 5; // numbers for each column in a ColumnStats
    const int64_t d = source.cols(), n = source.rows();
    if (source.kind() == Source::Kind::objects) return 0;
    if (source.kind() == Source::Kind::sparse) return (vectors + 1) * 8 * d;
    const int64_t rows = std::min(scan_rows(source), n), slabs = (n + rows - 1) / rows;
    const int64_t window = std::min(scan_window(run, source), slabs), readers = std::min(run.threads(), window),
                  all = std::min(readers * rows, n);
    return {8 * rows * d + window * vectors * 8 * d,
            8 * all * d + readers * source.window_bytes(rows) + (window + 2) * vectors * 8 * d};
}

} // namespace mercer
