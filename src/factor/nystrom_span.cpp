// One sweep over the rows l of L gives their weighted mean mu and their scatter about it,
//   sum w (l - c)(l - c)^T - W (mu - c)(mu - c)^T,   W = sum w,
// where c is the mean of the first slab, so that a large mean costs no accuracy (c = mu = 0 if
// uncentred). The cost is n m^2 flops (for the lower blocks of the symmetric scatter) in the tile's
// type, and an m x m eigenproblem. Sums across slabs are added in f64 and in order. The memory is
// O(m^2) for each slab being processed.
#include "nystrom_span.h"

#include "../core/slabs.h"

#include <cmath>

namespace mercer {
namespace {

int64_t slabs_of(int64_t n) { return (n + span_slab - 1) / span_slab; }

constexpr int64_t scatter_block = 64; // columns of the scatter that are computed at once
constexpr int64_t scatter_depth = 64; // rows of a slab that are summed at once

// scatter_stride returns the distance between columns of a scatter, and part_count how many numbers
// a slab produces: its scatter and the sum of its rows. size: bytes of one number.
int64_t scatter_stride(int64_t m, int64_t size) {
    return size == 4 ? padded_columns<float>(m) : padded_columns<double>(m);
}
int64_t part_count(int64_t m, int64_t size) { return (m + 1) * scatter_stride(m, size); }

// The number of slabs whose scatters are stored at once.
int64_t window_of(int64_t n, int64_t m, int64_t threads, int64_t size) {
    constexpr int64_t most_bytes = int64_t{32} << 20;
    return std::min(std::clamp<int64_t>(most_bytes / (part_count(m, size) * size + 1), threads, 64), slabs_of(n));
}

} // namespace

Bytes project_bytes(int64_t n, int64_t m, int64_t count, int64_t threads, int64_t size) {
    // The workspace in f64 numbers per row of the matrix: `all` is that of dsyevd, which computes
    // all eigenpairs, and `range` that of dsyevr, which computes only the leading ones.
    // eigh.most allows for dsyevd, to which eigh_top falls back if dsyevr does not find all pairs
    // because some eigenvalues are equal up to rounding.
    const int64_t width = scatter_stride(m, size), all = 2 * m + 9, range = count + 79;
    const Bytes eigh{8 * m * (count + (count == m ? all : range)), 8 * m * (count + std::max(all, range))};
    const int64_t sweep = size * (window_of(n, m, threads, size) * part_count(m, size) +
                                  std::min(threads, slabs_of(n)) * (span_slab + scatter_block) * width);
    const int64_t squares = 8 * std::min(window_of(n, m, threads, size) * span_slab, n);
    return 8 * n + 8 * m * (m + 1) + larger(sweep + squares, eigh);
}

int64_t projection_bytes(int64_t n, int64_t m, int64_t count) { return 8 * n + 8 * m * count; }

template <class T>
SpanRows<T>::SpanRows(Run &run, const Expression &kernel, Points<T> rows, Points<T> basis_points,
                      std::shared_ptr<const PartialCholesky<T>> basis)
    : basis_(std::move(basis)), kernel_(&kernel), points_(std::make_unique<Points<T>>(std::move(rows))),
      basis_points_(std::make_unique<Points<T>>(std::move(basis_points))),
      column_(static_cast<size_t>(basis_points_->rows()), -1) {
    points_->lean();
    basis_points_->lean();
    tiles_ = std::make_unique<Tiles<T>>(kernel, *points_, *basis_points_);
    for (int64_t b = 0; b < blocks_of(basis_points_->rows()); ++b) basis_panels_.push_back(basis_points_->load(run, b));
    for (int64_t k = 0; k < rank(); ++k) column_[static_cast<size_t>(basis_->index()[k])] = k;
    const Buffer<double> exact = triangle(run);
    triangle_ = run.buffer<T>(rank(), rank());
    std::copy(exact.begin(), exact.end(), triangle_.begin());
}

// Computes rows of L, X = K_xB L_B^-T, by substitution in the tile's type; the columns of a stored
// factor are computed in this type, too. BLAS reads the row-major result X as the column-major X^T,
// so the system that is solved is L_B X^T = K_Bx.
template <class T>
void SpanRows<T>::make(Run &run, const Points<T> &points, const Tiles<T> &tiles, int64_t row0, int64_t count, T *out,
                       double *self) const {
    const int64_t m = rank();
    TileScratch<T> tile = tiles.scratch(run);
    for (int64_t at = 0; at < count; at += tile_rows) {
        const Panel<T> panel = points.load(run, row0 + at, std::min(tile_rows, count - at));
        if (self) {
            T values[tile_rows];
            tiles.self(run, panel, false, values);
            std::copy_n(values, panel.rows, self + at);
        }
        for (const Panel<T> &y : basis_panels_)
            tiles.strips(panel, y, tile, [&](const auto &strip) {
                for (int64_t i = 0; i < strip.rows; ++i) {
                    T *to = out + (at + strip.row0 + i) * m;
                    const T *values = tile.tile.data() + i * tile_rows;
                    for (int64_t j = 0; j < y.rows; ++j)
                        if (const int64_t k = column_[static_cast<size_t>(y.row0 + j)]; k >= 0) to[k] = values[j];
                }
            });
    }
    evaluations_ += count * basis_points_->rows();
    solve_lower(m, count, triangle_.data(), m, out, m);
}

template <class T>
const T *SpanRows<T>::rows(Run &run, int64_t row0, int64_t count, Buffer<T> &scratch, int64_t &stride,
                           double *self) const {
    stride = stored_ ? stored_->stride() : rank();
    if (stored_) return stored_->factor() + row0 * stride;
    if (scratch.empty()) scratch = run.buffer<T>(span_slab, rank());
    make(run, *points_, *tiles_, row0, count, scratch.data(), self);
    return scratch.data();
}

template <class T>
void SpanRows<T>::gather(Run &run, const int64_t *numbers, int64_t count, T *out) const {
    if (stored_) return copy_rows(numbers, count, out);
    gather(run, points_->only(numbers, count), 0, numbers, count, out);
}

template <class T>
void SpanRows<T>::gather(Run &run, const Points<T> &drawn, int64_t row0, const int64_t *numbers, int64_t count,
                         T *out) const {
    if (stored_) return copy_rows(numbers, count, out);
    if (count == 0) return;
    Points<T> some = drawn, basis_points = *basis_points_;
    some.lean();
    make(run, some, Tiles<T>(*kernel_, some, basis_points), row0, count, out);
}

template <class T>
void SpanRows<T>::copy_rows(const int64_t *numbers, int64_t count, T *out) const {
    for (int64_t k = 0; k < count; ++k)
        std::copy_n(stored_->factor() + numbers[k] * stored_->stride(), rank(), out + k * rank());
}

template <class T>
double SpanRows<T>::sum_of_self(Run &run, const double *weights) const {
    Buffer<double> self = run.buffer<double>(n());
    self_values(run, Tiles<T>(*kernel_, *points_, *points_), self.data());
    double sum = 0;
    for (int64_t i = 0; i < n(); ++i) sum += (weights ? weights[i] : 1) * std::max(self[i], 0.0);
    return sum;
}

namespace {

// Returns c, the mean of the first slab, in the tile's type.
template <class T>
std::vector<T> origin_of(Run &run, const SpanRows<T> &span) {
    const int64_t rows = std::min(span.n(), span_slab), m = span.rank();
    Buffer<T> scratch;
    int64_t stride = 0;
    const T *l = span.rows(run, 0, rows, scratch, stride);
    std::vector<double> sum(static_cast<size_t>(m));
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < m; ++k) sum[static_cast<size_t>(k)] += static_cast<double>(l[i * stride + k]);
    std::vector<T> out;
    for (double value : sum) out.push_back(static_cast<T>(value / static_cast<double>(rows)));
    return out;
}

// Computes the part of a slab: the scatter about the origin (lower blocks) and the weighted sum of
// its rows. The rows x are sqrt(w) (l - c); roots holds the sqrt(w). The scatter of scatter_depth
// rows at a time is computed and then added up. Otherwise the rounding errors of equal rows, which
// all have the same sign, would accumulate over all rows of the slab. tile: workspace of
// scatter_block rows, padded like x.
template <class T>
void scatter_of(const T *x, int64_t rows, int64_t m, const std::vector<T> &roots, T *tile, T *part) {
    constexpr int64_t depth = scatter_depth;
    const int64_t ld = padded_columns<T>(m);
    std::fill_n(part, m * ld, T(0));
    // Computes columns j ... j + count - 1 of the symmetric scatter, from the diagonal block on.
    for (int64_t j = 0; j < m; j += scatter_block)
        for (int64_t k = 0; k < rows; k += depth) {
            const T *from = x + k * ld + j;
            const int64_t count = std::min(scatter_block, m - j), wide = ld - j;
            thin_table<T>().product(count, wide, std::min(depth, rows - k), from, 1, ld, from, ld, tile, ld, false);
            for (int64_t i = 0; i < count; ++i)
                for (int64_t l = 0; l < wide; ++l) part[(j + i) * ld + j + l] += tile[i * ld + l];
        }
    T *sum = part + m * ld;
    std::fill_n(sum, m, T(0));
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < m; ++k) sum[k] += roots[static_cast<size_t>(i)] * x[i * ld + k];
}

// Returns the scatter (m columns) and the sum (one column) of all rows about the origin. Also fills
// out.residual, and adds up out.weight, out.uncentred and out.left in the order of the rows.
template <class T>
Buffer<double> sweep_rows(Run &run, const SpanRows<T> &span, const double *weights, const std::vector<T> &origin,
                          SpanMoments &out) {
    const int64_t n = span.n(), m = span.rank(), width = padded_columns<T>(m), part_size = part_count(m, sizeof(T));
    const int64_t window = window_of(n, m, run.threads(), sizeof(T)); // slabs whose parts are stored at once
    Buffer<T> parts = run.buffer<T>(window, part_size);
    Buffer<double> sums = std::move(run.buffer<double>(m, m + 1).zero());
    Buffer<double> square = run.buffer<double>(std::min(window * span_slab, n)); // |l|^2
    struct Work {
        Buffer<T> made, rows, tile;
    };
    Pool<Work> pool([&] {
        return std::unique_ptr<Work>(
            new Work{{}, std::move(run.buffer<T>(span_slab, width).zero()), run.buffer<T>(scatter_block, width)});
    });
    for_windows(run, n, window * span_slab, [&](int64_t first, int64_t count) {
        const int64_t now = slabs_of(count);
        auto slab = [&](int64_t s) {
            const int64_t row0 = first + s * span_slab, rows = std::min(span_slab, n - row0);
            auto work = pool.take();
            int64_t ld = 0;
            double self[span_slab];
            const T *l = span.rows(run, row0, rows, work->made, ld, self);
            T *x = work->rows.data();
            std::vector<T> roots;
            for (int64_t i = 0; i < rows; ++i) {
                const T root = static_cast<T>(weights ? std::sqrt(weights[row0 + i]) : 1);
                roots.push_back(root);
                for (int64_t k = 0; k < m; ++k)
                    x[i * width + k] = root * (l[i * ld + k] - origin[static_cast<size_t>(k)]);
                const double length = square[row0 - first + i] = dot(l + i * ld, l + i * ld, m);
                out.residual[static_cast<size_t>(row0 + i)] = span.residual(row0 + i, length, self[i]);
            }
            scatter_of(x, rows, m, roots, work->tile.data(), parts.data() + s * part_size);
        };
        parallel_for(run, now, slab, span.serial());
        for (int64_t i = first; i < first + count; ++i) {
            const double w = weights ? weights[i] : 1, d = out.residual[static_cast<size_t>(i)];
            out.weight += w;
            out.uncentred += w * (d + square[i - first]);
            out.left += w * d;
        }
        // Task j < m adds up column j of the scatters, and task m the sums of rows, over the slabs
        // in order.
        parallel_for(run, m + 1, [&](int64_t j) {
            for (int64_t s = 0; s < now; ++s)
                for (int64_t k = j < m ? j : 0; k < m; ++k)
                    sums[k + j * m] += static_cast<double>(parts[s * part_size + j * width + k]);
        });
        return true;
    });
    return sums;
}

} // namespace

template <class T>
Buffer<double> scatter_of_rows(Run &run, const SpanRows<T> &span, const double *weights, bool centred,
                               SpanMoments &out) {
    const int64_t n = span.n(), m = span.rank();
    out.mean.assign(static_cast<size_t>(m), 0.0);
    out.residual.resize(static_cast<size_t>(n));
    const std::vector<T> origin = centred ? origin_of(run, span) : std::vector<T>(static_cast<size_t>(m));
    Buffer<double> sums = sweep_rows(run, span, weights, origin, out);
    const double total = out.weight;
    for (int64_t k = 0; centred && k < m; ++k) {
        const size_t at = static_cast<size_t>(k);
        const double shift = sums[m * m + k] / total; // mu - c
        out.mean[at] = shift + static_cast<double>(origin[at]);
        for (int64_t j = 0; j <= k; ++j) sums[k + j * m] -= shift * sums[m * m + j];
    }
    out.trace = out.uncentred - total * out.mean_square();
    return sums;
}

template <class T>
Projection project(Run &run, const SpanRows<T> &span, const double *weights, bool centred, int64_t count) {
    const int64_t m = span.rank();
    Projection out;
    Buffer<double> sums = scatter_of_rows(run, span, weights, centred, out);
    constexpr double u = unit_roundoff(sizeof(T) == 4);
    out.floor = rounding_floor(sizeof(T) == 4, m) * out.uncentred;
    count = std::min(count, m);
    out.theta.resize(static_cast<size_t>(count));
    out.v = run.buffer<double>(m, count);
    eigh_top(m, sums.data(), m, count, out.theta.data(), out.v.data(), m);
    // If s similar terms are added up, the k-th partial sum is k / s of the total. All roundings
    // may have the same sign, so s / 2 roundings of the total bound the error. Here scatter_depth
    // rows are added up at a time, and then their span_slab / scatter_depth sums.
    constexpr double steps = (scatter_depth + span_slab / scatter_depth) / 2.0;
    out.sums = count > 0 ? steps * u * out.theta[0] : 0;
    return out;
}

template <class T>
void directions(Run &run, const SpanRows<T> &span, const Projection &projection, const double *weights, Columns to) {
    const int64_t n = span.n(), m = span.rank(), p = to.count;
    to.block->use(to.first, p);
    const int64_t width = padded_columns<T>(p);
    Buffer<T> v = std::move(run.buffer<T>(m, width).zero()); // V theta^-1/2, row-major
    std::vector<double> offset(static_cast<size_t>(p));
    for (int64_t j = 0; j < p; ++j)
        for (int64_t k = 0; k < m; ++k) {
            const T value =
                static_cast<T>(projection.v[k + j * m] / std::sqrt(projection.theta[static_cast<size_t>(j)]));
            v[k * width + j] = value;
            offset[static_cast<size_t>(j)] += static_cast<double>(value) * projection.mean[static_cast<size_t>(k)];
        }
    struct Work {
        Buffer<T> made, part;
        Buffer<double> column;
    };
    Pool<Work> pool([&] {
        return std::unique_ptr<Work>(new Work{{}, run.buffer<T>(span_slab, width), run.buffer<double>(span_slab)});
    });
    auto slab = [&](int64_t s) {
        const int64_t row0 = s * span_slab, rows = std::min(span_slab, n - row0);
        auto work = pool.take();
        int64_t stride = 0;
        const T *l = span.rows(run, row0, rows, work->made, stride), *part = work->part.data();
        thin_table<T>().product(rows, width, m, l, stride, 1, v.data(), width, work->part.data(), width, false);
        for (int64_t j = 0; j < p; ++j) {
            for (int64_t i = 0; i < rows; ++i) {
                const double root = weights ? std::sqrt(weights[row0 + i]) : 1;
                work->column[i] = root * (static_cast<double>(part[i * width + j]) - offset[static_cast<size_t>(j)]);
            }
            to.block->write(to.first + j, row0, rows, work->column.data());
        }
    };
    parallel_for(run, slabs_of(n), slab, span.serial());
}

template class SpanRows<float>;
template class SpanRows<double>;
template Buffer<double> scatter_of_rows(Run &, const SpanRows<float> &, const double *, bool, SpanMoments &);
template Buffer<double> scatter_of_rows(Run &, const SpanRows<double> &, const double *, bool, SpanMoments &);
template Projection project(Run &, const SpanRows<float> &, const double *, bool, int64_t);
template Projection project(Run &, const SpanRows<double> &, const double *, bool, int64_t);
template void directions(Run &, const SpanRows<float> &, const Projection &, const double *, Columns);
template void directions(Run &, const SpanRows<double> &, const Projection &, const double *, Columns);

} // namespace mercer
