// Product of the operator (nystrom_operator.h) with a block Q of p columns. With Z = L_B^-T Q and
// any vector c, one pass over blocks of rows, each against all of B, computes
//
//   u_i = w_i (k(x_i, B) - (L_B c)^T) Z,   s = sum u_i,   Y = L_B^-1 sum k(x_i, B)^T u_i - mu s^T
//
// which equals sum w (l - mu)(l - mu)^T Q, because u_i = w_i (l_i - c)^T Q and sum w (l - mu) = 0.
// With c = 0 the mean mu need not be known before the pass, which computes it as one more column:
// L_B^-1 sum w_i k(x_i, B) / W, W = sum w. The entries of Z may be large, and Z is rounded to the
// tile's type, so a large mean would cause an error; a c near mu avoids it.
//
// The cost is n m kernel values and 4 n m p flops. Blocks of rows are gathered in groups, whose
// number depends on the shape alone and whose sums are added in order, so any number of threads
// gives the same bits. As in a pass over K, products with a tile are computed in its type, and sums
// across tiles in f64. The memory is that of a block's values per thread, m p per group, and m^2.
#include "nystrom_operator.h"

#include "../core/threads.h"

#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// Returns the number of groups: as many as keep their sums, m x columns numbers each, within about
// 64 MiB, but at least 8 and at most 32, and no more than there are blocks.
int64_t group_count(int64_t blocks, int64_t m, int64_t columns) {
    constexpr int64_t most_bytes = int64_t{64} << 20;
    return std::min(blocks, std::clamp<int64_t>(most_bytes / (8 * m * columns), 8, 32));
}

} // namespace

template <class T>
struct SpanOperator<T>::Work {
    // values: one tile for each panel of B, which holds the kernel values between this panel and
    // the rows of a block, transposed: one row for each point of B. turned: a copy of a tile while
    // it is transposed. product: a product with one panel of B. u: the u_i of the block.
    std::vector<std::unique_ptr<TileScratch<T>>> values;
    Buffer<T> turned, product, u;
    // (k(x, B) Z)^T of the block: p rows of tile_rows numbers.
    Buffer<double> sums;
};

template <class T>
struct SpanOperator<T>::Pass {
    // p: the number of columns of Q; columns: p, plus one if the pass also computes the mean;
    // stride: columns after padding.
    int64_t p, columns, stride;
    // Z: a row of p numbers for each point of B; 0 for points that are not pivots.
    const T *z;
    const double *shift; // (L_B c)^T Z
};

template <class T>
SpanOperator<T>::SpanOperator(Run &run, const SpanRows<T> &span, const Points<T> &rows, const double *weights,
                              bool centred, std::vector<double> about)
    : Operator(span.rank(), sizeof(T) == 4), span_(span), rows_(rows),
      tiles_(*span.kernel_, rows_, *span.basis_points_), weights_(weights), centred_(centred),
      total_(weights ? std::accumulate(weights, weights + rows.rows(), 0.0) : static_cast<double>(rows.rows())),
      triangle_(span.triangle(run)), mean_(std::move(about)), known_(!centred) {
    rows_.lean();
    mean_.resize(static_cast<size_t>(n()));
}

template <class T>
Bytes SpanOperator<T>::bytes(const Run &run, int64_t rows, int64_t m, int64_t p, const TileBytes &tiles) {
    const int64_t stride = padded_columns<T>(p + 1), blocks = blocks_of(rows), groups = group_count(blocks, m, stride),
                  size = sizeof(T), stored = 8 * m * (m + 2 * (p + 1)) + m * p * size + 8 * groups * (m + 1) * stride;
    const int64_t each = (blocks_of(m) + 1) * tiles.scratch + tile_rows * (size * (tile_rows + 2 * stride) + 8 * p) +
                         tiles.stored(1, tile_rows);
    const Bytes working = held_by(run.threads(), groups, each);
    return stored + Bytes(working.likely, working.most + run.threads() * tiles.loading(tile_rows));
}

// Computes k(B, x), one panel of B after the other.
template <class T>
void SpanOperator<T>::values(const Panel<T> &x, Work &work) const {
    for (size_t b = 0; b < span_.basis_panels_.size(); ++b) {
        const Panel<T> &y = span_.basis_panels_[b];
        TileScratch<T> &scratch = *work.values[b];
        scratch.by_differences = false;
        if (tiles_.turns(x, y)) {
            tiles_.compute(y, x, scratch);
            continue;
        }
        tiles_.compute(x, y, scratch);
        std::copy(scratch.tile.begin(), scratch.tile.end(), work.turned.begin());
        for (int64_t j = 0; j < y.rows; ++j)
            for (int64_t i = 0; i < x.rows; ++i) scratch.tile[j * tile_rows + i] = work.turned[i * tile_rows + j];
    }
}

// Processes the blocks first ... end - 1 of rows. sums: m rows of pass.stride numbers, one for each
// point of B, then one row for s.
template <class T>
void SpanOperator<T>::group(Run &run, const Pass &pass, int64_t first, int64_t end, Work &work, double *sums) const {
    const ThinTable<T> &thin = thin_table<T>();
    const int64_t p = pass.p, stride = pass.stride, m = span_.basis_points_->rows();
    for (int64_t block = first; block < end; ++block) {
        if (run.stopped(0)) return;
        const Panel<T> x = rows_.load(run, block);
        values(x, work);
        const int64_t lanes = padded_columns<T>(x.rows);
        for (size_t b = 0; b < work.values.size(); ++b) {
            const Panel<T> &y = span_.basis_panels_[b];
            thin.product(p, lanes, y.rows, pass.z + y.row0 * p, 1, p, work.values[b]->tile.data(), tile_rows,
                         work.product.data(), tile_rows, false);
            for (int64_t k = 0; k < p * tile_rows; ++k)
                work.sums[k] = (b > 0 ? work.sums[k] : 0) + static_cast<double>(work.product[k]);
        }
        double *s = sums + m * stride;
        for (int64_t i = 0; i < x.rows; ++i) {
            const double w = weights_ ? weights_[x.row0 + i] : 1;
            for (int64_t j = 0; j < p; ++j) {
                const double u = w * (work.sums[j * tile_rows + i] - pass.shift[j]);
                work.u[i * stride + j] = static_cast<T>(u);
                s[j] += u;
            }
            if (pass.columns > p) work.u[i * stride + p] = static_cast<T>(w);
        }
        for (size_t b = 0; b < work.values.size(); ++b) {
            const Panel<T> &y = span_.basis_panels_[b];
            thin.product(y.rows, stride, x.rows, work.values[b]->tile.data(), tile_rows, 1, work.u.data(), stride,
                         work.product.data(), stride, false);
            for (int64_t k = 0; k < y.rows * stride; ++k)
                sums[y.row0 * stride + k] += static_cast<double>(work.product[k]);
        }
        evaluations_.fetch_add(x.rows * m, std::memory_order_relaxed);
    }
}

template <class T>
void SpanOperator<T>::product(Run &run, bool, int64_t p, const Fill &q, const Take &y) const {
    const int64_t rank = n(), m = span_.basis_points_->rows(), blocks = blocks_of(rows_.rows());
    const int64_t *places = span_.index();
    Pass pass{p, p + !known_, padded_columns<T>(p + !known_), nullptr, nullptr};
    Buffer<double> x = run.buffer<double>(rank, pass.columns);
    q(0, rank, x.data(), p);
    trsm('N', p, rank, triangle_.data(), rank, x.data(), p);
    Buffer<T> z = std::move(run.buffer<T>(m, p).zero());
    std::vector<double> shift(static_cast<size_t>(p));
    for (int64_t k = 0; k < rank; ++k) {
        double near = 0; // entry k of L_B c, where c is mean_
        for (int64_t l = 0; l <= k; ++l) near += triangle_[k + l * rank] * mean_[static_cast<size_t>(l)];
        for (int64_t j = 0; j < p; ++j) {
            const T entry = z[places[k] * p + j] = static_cast<T>(x[k * p + j]);
            shift[static_cast<size_t>(j)] += near * static_cast<double>(entry);
        }
    }
    pass.z = z.data(), pass.shift = shift.data();

    const int64_t groups = group_count(blocks, m, pass.stride), part = (m + 1) * pass.stride;
    Buffer<double> parts = std::move(run.buffer<double>(groups, part).zero());
    Pool<Work> pool([&] {
        std::unique_ptr<Work> work(new Work{{},
                                            run.buffer<T>(tile_rows, tile_rows),
                                            std::move(run.buffer<T>(tile_rows, pass.stride).zero()),
                                            std::move(run.buffer<T>(tile_rows, pass.stride).zero()),
                                            std::move(run.buffer<double>(tile_rows, p).zero())});
        for (size_t b = 0; b < span_.basis_panels_.size(); ++b)
            work->values.emplace_back(new TileScratch<T>(tiles_.scratch(run)));
        return work;
    });
    std::atomic<int64_t> done{0};
    auto one = [&](int64_t g) {
        auto work = pool.take();
        group(run, pass, g * blocks / groups, (g + 1) * blocks / groups, *work, parts.data() + g * part);
        if (run.stopped(static_cast<double>(++done) / static_cast<double>(groups))) return;
    };
    parallel_for(run, groups, one, tiles_.serial());
    run.progress(1);
    for (int64_t g = 1; g < groups; ++g)
        for (int64_t k = 0; k < part; ++k) parts[k] += parts[g * part + k];

    for (int64_t k = 0; k < rank; ++k)
        std::copy_n(parts.data() + places[k] * pass.stride, pass.columns, x.data() + k * pass.columns);
    trsm('T', pass.columns, rank, triangle_.data(), rank, x.data(), pass.columns);
    for (int64_t k = 0; !known_ && k < rank; ++k) mean_[static_cast<size_t>(k)] = x[k * (p + 1) + p] / total_;
    known_ = true;
    const double *s = parts.data() + m * pass.stride;
    for (int64_t k = 0; centred_ && k < rank; ++k)
        for (int64_t j = 0; j < p; ++j) x[k * pass.columns + j] -= mean_[static_cast<size_t>(k)] * s[j];
    y(x.data(), pass.columns);
}

template <class T>
void SpanOperator<T>::dense(Run &run, double *a, int64_t lda) const {
    const int64_t m = n();
    const Fill unit = [](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < stride; ++j) to[i * stride + j] = j == row0 + i;
    };
    product(run, false, m, unit, [&](double *y, int64_t stride) {
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j <= i; ++j)
                a[i + j * lda] = a[j + i * lda] = (y[i * stride + j] + y[j * stride + i]) / 2;
    });
}

template <class T>
void SpanOperator<T>::diagonal(Run &run, double *d) const {
    Buffer<double> a = run.buffer<double>(n(), n());
    dense(run, a.data(), n());
    for (int64_t i = 0; i < n(); ++i) d[i] = a[i + i * n()];
}

template class SpanOperator<float>;
template class SpanOperator<double>;

} // namespace mercer
