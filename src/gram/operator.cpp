#include "operator.h"

#include "../core/tall.h"
#include "../core/threads.h"

#include <cmath>

namespace mercer {
namespace {

const Operator &self_of(const mercer_operator *op) { return *static_cast<const Operator *>(op->self); }

int32_t apply_c(const mercer_operator *op, mercer_task *task, const double *q, int64_t ldq, int64_t p, double *y,
                int64_t ldy) {
    return task->guard([&] { self_of(op).apply(task->run, q, ldq, p, y, ldy); });
}
int32_t dense_c(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    return task->guard([&] { self_of(op).dense(task->run, a, lda); });
}
int32_t diagonal_c(const mercer_operator *op, mercer_task *task, double *d) {
    return task->guard([&] { self_of(op).diagonal(task->run, d); });
}

// Super-panels: even, no more than there are blocks, and at most 512: a pair is then at n = 10^6 some 10 ms of work, which is
// how long a round may wait for its last pair, and the rows are read 512 times a pass, 1 % of its time.
int64_t super_panels(int64_t blocks) { return std::min<int64_t>(512, (blocks + 1) / 2 * 2); }

// y += op(tile) q for f64: in place.
void accumulate(char trans, int64_t rows, int64_t inner, int64_t p, const double *tile, int64_t ldt, const double *q,
                int64_t ldq, double *y, int64_t ldy, double *) {
    gemm(trans, 'N', rows, p, inner, 1.0, tile, ldt, q, ldq, 1.0, y, ldy);
}
// For f32: the tile's product in f32, its sum with the others in f64.
void accumulate(char trans, int64_t rows, int64_t inner, int64_t p, const float *tile, int64_t ldt, const float *q,
                int64_t ldq, double *y, int64_t ldy, float *product) {
    gemm(trans, 'N', rows, p, inner, 1.0f, tile, ldt, q, ldq, 0.0f, product, rows);
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < rows; ++i) y[i + j * ldy] += static_cast<double>(product[i + j * rows]);
}

} // namespace

int64_t pass_evaluations(int64_t n) {
    const int64_t full = n / tile_rows, last = n % tile_rows;
    return tile_rows * tile_rows * (full * (full + 1) / 2) + last * (full * tile_rows + last);
}

mercer_operator Operator::c_operator() const {
    return {sizeof(mercer_operator), n_, this, apply_c, dense_c, diagonal_c};
}

template <class T>
int64_t GramOperator<T>::stored_bytes(int64_t n) {
    int64_t blocks = blocks_of(n);
    return checked_bytes("a stored kernel matrix", n, n, sizeof(T)) / 2 +
           blocks * tile_rows * tile_rows / 2 * static_cast<int64_t>(sizeof(T));
}

template <class T>
int64_t GramOperator<T>::pass_bytes(const Run &run, int64_t n, const Tiles<T> &tiles) {
    const int64_t blocks = blocks_of(n), supers = super_panels(blocks);
    const int64_t held = 2 * ((blocks + supers - 1) / supers) * tiles.x().panel_bytes();
    return std::min({run.threads(), supers, std::max<int64_t>(blocks, 1)}) * (held + tiles.scratch_bytes());
}

template <class T>
GramOperator<T>::GramOperator(Run &run, const Expression &kernel, const Points<T> &points, bool stored)
    : Operator(points.rows()), points_(points), tiles_(kernel, points_, points_) {
    if (!stored) return;
    store_ = run.buffer<T>(tile_offset(blocks_of(n()), blocks_of(n())));
    tournament(run, true, [&](int64_t bi, int64_t bj, int64_t rows, int64_t cols, const T *tile) {
        std::copy_n(tile, rows * cols, store_.data() + tile_offset(bi, bj));
    });
}

// Row blocks one after the other, each with its tiles bj >= bi: rows(bi) x (n - bi * tile_rows) values.
template <class T>
int64_t GramOperator<T>::tile_offset(int64_t bi, int64_t bj) const {
    const int64_t blocks = blocks_of(n());
    int64_t before = 0;
    if (bi > 0) {
        int64_t full = std::min(bi, blocks - 1); // all but the last block have tile_rows rows
        before = tile_rows * (full * n() - tile_rows * (full * (full - 1) / 2));
        if (bi == blocks) before += block_rows(blocks - 1) * block_rows(blocks - 1);
    }
    return bi == blocks ? before : before + block_rows(bi) * (bj - bi) * tile_rows;
}

template <class T>
void GramOperator<T>::tournament(Run &run, bool compute, const Body &body) const {
    const int64_t blocks = blocks_of(n()), supers = super_panels(blocks);
    auto first = [&](int64_t s) { return s * blocks / supers; };

    // All tiles between the blocks of super-panels a and b (a == b: those with bi <= bj).
    auto meet = [&](int64_t a, int64_t b) {
        if (a > b) std::swap(a, b);
        if (first(a) == first(a + 1) || first(b) == first(b + 1)) return; // fewer blocks than panels
        std::vector<Panel<T>> xs, ys;
        std::unique_ptr<TileScratch<T>> scratch(compute ? new TileScratch<T>(tiles_.scratch(run)) : nullptr);
        if (compute) {
            for (int64_t k = first(a); k < first(a + 1); ++k) xs.push_back(points_.load(run, k));
            if (a != b)
                for (int64_t k = first(b); k < first(b + 1); ++k) ys.push_back(points_.load(run, k));
        }
        const std::vector<Panel<T>> &right = a == b ? xs : ys;
        for (int64_t bi = first(a); bi < first(a + 1); ++bi)
            for (int64_t bj = std::max(bi, first(b)); bj < first(b + 1); ++bj) {
                if (run.stopped(0)) return;
                const T *tile = store_.data();
                if (compute) {
                    tiles_.compute(xs[static_cast<size_t>(bi - first(a))], right[static_cast<size_t>(bj - first(b))],
                                   *scratch);
                    tile = scratch->tile.data();
                    evaluations_.fetch_add(block_rows(bi) * block_rows(bj), std::memory_order_relaxed);
                } else {
                    tile += tile_offset(bi, bj);
                }
                body(bi, bj, block_rows(bi), block_rows(bj), tile);
            }
    };
    auto round = [&](int64_t count, const std::function<void(int64_t)> &pair) {
        if (compute && tiles_.serial())
            for (int64_t k = 0; k < count; ++k) {
                pair(k);
                run.progress(static_cast<double>(k + 1) / static_cast<double>(count));
            }
        else
            parallel_for(run, count, pair);
    };
    const double share = 1.0 / static_cast<double>(supers);
    {
        Run::Span span(run, 0, share);
        round(supers, [&](int64_t s) { meet(s, s); });
    }
    const int64_t others = supers - 1; // the circle method: all but the last turn
    for (int64_t r = 0; r < others; ++r) {
        Run::Span span(run, static_cast<double>(r + 1) * share, static_cast<double>(r + 2) * share);
        round(supers / 2,
              [&](int64_t k) { k == 0 ? meet(r, others) : meet((r + k) % others, (r + others - k) % others); });
    }
    run.progress(1);
}

template <class T>
void GramOperator<T>::apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const {
    for (int64_t j = 0; j < p; ++j) std::fill_n(y + j * ldy, n(), 0.0);
    const T *in = nullptr;
    int64_t ldi = n();
    Buffer<T> rounded;
    if constexpr (sizeof(T) == 8) {
        in = q;
        ldi = ldq;
    } else {
        rounded = run.buffer<T>(n(), p);
        for (int64_t j = 0; j < p; ++j) std::copy_n(q + j * ldq, n(), rounded.data() + j * n());
        in = rounded.data();
    }
    tournament(run, store_.empty(), [&](int64_t bi, int64_t bj, int64_t rows, int64_t cols, const T *tile) {
        const int64_t i0 = bi * tile_rows, j0 = bj * tile_rows;
        Buffer<T> product;
        if (sizeof(T) == 4) product = run.buffer<T>(tile_rows, p);
        accumulate('T', rows, cols, p, tile, cols, in + j0, ldi, y + i0, ldy,
                   product.data()); // row-major tile = its transpose
        if (bi != bj) accumulate('N', cols, rows, p, tile, cols, in + i0, ldi, y + j0, ldy, product.data());
    });
}

template <class T>
void GramOperator<T>::dense(Run &run, double *a, int64_t lda) const {
    tournament(run, store_.empty(), [&](int64_t bi, int64_t bj, int64_t rows, int64_t cols, const T *tile) {
        const int64_t i0 = bi * tile_rows, j0 = bj * tile_rows;
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j) {
                if (bi == bj && j < i) continue; // one triangle decides both: exactly symmetric
                double value = static_cast<double>(tile[i * cols + j]);
                a[i0 + i + (j0 + j) * lda] = value;
                a[j0 + j + (i0 + i) * lda] = value;
            }
    });
}

template <class T>
void GramOperator<T>::diagonal(Run &run, double *d) const {
    auto block = [&](int64_t b) {
        Panel<T> panel = points_.load(run, b);
        std::vector<T> values(static_cast<size_t>(panel.rows));
        tiles_.self(run, panel, false, values.data());
        std::copy(values.begin(), values.end(), d + b * tile_rows);
    };
    if (tiles_.serial())
        for (int64_t b = 0; b < blocks_of(n()); ++b) block(b);
    else
        parallel_for(run, blocks_of(n()), block);
}

template class GramOperator<float>;
template class GramOperator<double>;

WeightedOperator::WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred)
    : Operator(base.n()), base_(base), scale_(sqrt_weights), centred_(centred), unit_(run.buffer<double>(base.n())) {
    double square = 0;
    for (int64_t i = 0; i < n(); ++i) {
        unit_[i] = scale_ ? scale_[i] : 1.0;
        square += unit_[i] * unit_[i];
    }
    for (double &value : unit_) value /= std::sqrt(square);
}

void WeightedOperator::project(Run &run, int64_t p, double *y, int64_t ldy) const {
    if (!centred_) return;
    std::vector<double> c(static_cast<size_t>(p));
    tall_dot(run, n(), 1, unit_.data(), n(), p, y, ldy, c.data(), 1);
    for (double &value : c) value = -value;
    tall_times(run, n(), 1, unit_.data(), n(), p, c.data(), 1, 1.0, y, ldy);
}

void WeightedOperator::apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const {
    Buffer<double> in = run.buffer<double>(n(), p);
    for (int64_t j = 0; j < p; ++j) std::copy_n(q + j * ldq, n(), in.data() + j * n());
    project(run, p, in.data(), n());
    auto scale = [&](double *block, int64_t ld) {
        for (int64_t j = 0; scale_ && j < p; ++j)
            for (int64_t i = 0; i < n(); ++i) block[i + j * ld] *= scale_[i];
    };
    scale(in.data(), n());
    base_.apply(run, in.data(), n(), p, y, ldy);
    scale(y, ldy);
    project(run, p, y, ldy);
}

void WeightedOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    for (int64_t j = 0; scale_ && j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] *= scale_[i] * scale_[j];
    if (!centred_) return;
    // P A P = A - u v^T - v u^T + c u u^T with v = A u, c = u^T v: one formula for both triangles.
    Buffer<double> v = run.buffer<double>(n());
    tall_times(run, n(), n(), a, lda, 1, unit_.data(), n(), 0.0, v.data(), n());
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += unit_[i] * v[i];
    for (int64_t j = 0; j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i)
            a[i + j * lda] += c * (unit_[i] * unit_[j]) - (unit_[i] * v[j] + v[i] * unit_[j]);
}

void WeightedOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    for (int64_t i = 0; scale_ && i < n(); ++i) d[i] *= scale_[i] * scale_[i];
    if (!centred_) return;
    Buffer<double> v = run.buffer<double>(n()), su = run.buffer<double>(n());
    for (int64_t i = 0; i < n(); ++i) su[i] = (scale_ ? scale_[i] : 1.0) * unit_[i];
    base_.apply(run, su.data(), n(), 1, v.data(), n());
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) {
        v[i] *= scale_ ? scale_[i] : 1.0;
        c += unit_[i] * v[i];
    }
    for (int64_t i = 0; i < n(); ++i) d[i] += unit_[i] * (c * unit_[i] - 2 * v[i]);
}

} // namespace mercer
