#include "operator.h"

#include "../core/tall.h"
#include "../core/threads.h"

#include <cmath>
#include <thread>

namespace mercer {
namespace {

const Operator &self_of(const mercer_operator *op) { return *static_cast<const Operator *>(op->self); }

int32_t apply_c(const mercer_operator *op, mercer_task *task, const double *q, int64_t ldq, int64_t p, double *y,
                int64_t ldy) {
    return task->guard([&] { self_of(op).apply(task->run, q, ldq, p, y, ldy); });
}
int32_t apply_rough_c(const mercer_operator *op, mercer_task *task, const double *q, int64_t ldq, int64_t p, double *y,
                      int64_t ldy) {
    return task->guard([&] { self_of(op).apply_rough(task->run, q, ldq, p, y, ldy); });
}
int32_t dense_c(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    return task->guard([&] { self_of(op).dense(task->run, a, lda); });
}
int32_t diagonal_c(const mercer_operator *op, mercer_task *task, double *d) {
    return task->guard([&] { self_of(op).diagonal(task->run, d); });
}

// Super-panels: even, no more than there are blocks, and at most 512: the rows are then read 512 times a pass, 1 % of its time
// at n = 10^6, and a pair of panels is some 10 ms of work.
int64_t super_panels(int64_t blocks) { return std::min<int64_t>(512, (blocks + 1) / 2 * 2); }

// to (rows x pp, row-major) = the rows of q from row0 on, padded with zeros.
template <class T>
void to_rows(const double *q, int64_t ldq, int64_t p, int64_t row0, int64_t rows, T *to, int64_t pp) {
    std::fill_n(to, rows * pp, T(0));
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < rows; ++i) to[i * pp + j] = static_cast<T>(q[row0 + i + j * ldq]);
}

} // namespace

int64_t pass_evaluations(int64_t n) {
    const int64_t full = n / tile_rows, last = n % tile_rows;
    return tile_rows * tile_rows * (full * (full + 1) / 2) + last * (full * tile_rows + last);
}

mercer_operator Operator::c_operator() const {
    return {sizeof(mercer_operator), n_, this, apply_c, dense_c, diagonal_c, has_rough() ? apply_rough_c : nullptr};
}

template <class T>
Need GramOperator<T>::need(const Run &run, int64_t n, int64_t p, const Tiles<T> &tiles) {
    const int64_t size = sizeof(T), blocks = blocks_of(n), supers = super_panels(blocks), pp = padded_columns<T>(p);
    const int64_t threads = std::min(run.threads(), std::max<int64_t>(supers, 1)), part = 2 * tile_rows * pp * size,
                  loaded = std::min(2 * ((blocks + supers - 1) / supers), blocks);
    return {threads * part + n * pp * static_cast<int64_t>(sizeof(T) + sizeof(double)), threads * tiles.scratch_bytes(),
            threads * (loaded * tiles.x().held_bytes() + tiles.x().panel_bytes() - tiles.x().held_bytes()),
            blocks * tiles.x().held_bytes(),
            checked_bytes("a stored kernel matrix", n, n, size) / 2 + blocks * tile_rows * tile_rows / 2 * size};
}

template <class T>
GramOperator<T>::GramOperator(Run &run, const Expression &kernel, const Points<T> &points, Hold hold)
    : Operator(points.rows()), points_(points), tiles_(kernel, points_, points_) {
    points_.lean();
    const int64_t blocks = blocks_of(n());
    if (hold != Hold::nothing) {
        panels_.resize(static_cast<size_t>(blocks));
        auto load = [&](int64_t b) { panels_[static_cast<size_t>(b)] = points_.load(run, b); };
        parallel_for(run, blocks, load, tiles_.serial());
    }
    if (hold != Hold::matrix) return;
    Buffer<T> values = run.buffer<T>(tile_offset(blocks, blocks));
    meet_all(run, 0, [&](const Block &tile) {
        for (int64_t i = 0; i < tile.rows; ++i)
            std::copy_n(tile.values + i * tile.stride, tile.cols,
                        values.data() + tile_offset(tile.bi, tile.bj) + (tile.row0 + i) * tile.cols);
    });
    store_ = std::move(values);
    panels_.clear();
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

namespace {

// The order of a pass: all panels with themselves, then S - 1 rounds in which each meets one other (the circle method: all but
// the last turn). A pair starts when both its panels are through with the rounds before.
CountedVector<Meeting> tournament(int64_t supers) {
    CountedVector<Meeting> out;
    for (int64_t s = 0; s < supers; ++s) out.push_back({s, s, 0});
    const int64_t others = supers - 1;
    for (int64_t r = 0; r < others; ++r)
        for (int64_t k = 0; k < supers / 2; ++k) {
            const int64_t a = k == 0 ? r : (r + k) % others, b = k == 0 ? others : (r + others - k) % others;
            out.push_back({std::min(a, b), std::max(a, b), r + 1});
        }
    return out;
}

} // namespace

template <class T>
void GramOperator<T>::meet(Run &run, const Meeting &pair, int64_t supers, Work &work, const Body &body) const {
    auto first = [&](int64_t s) { return s * blocks_of(n()) / supers; };
    std::vector<Panel<T>> loaded;
    if (work.tiles && panels_.empty())
        for (int64_t s = pair.a; s <= pair.b; s += std::max<int64_t>(pair.b - pair.a, 1))
            for (int64_t k = first(s); k < first(s + 1); ++k) loaded.push_back(points_.load(run, k));
    auto panel = [&](int64_t block) -> const Panel<T> & {
        if (!panels_.empty()) return panels_[static_cast<size_t>(block)];
        const int64_t before = block < first(pair.a + 1) ? block - first(pair.a)
                                                         : first(pair.a + 1) - first(pair.a) + block - first(pair.b);
        return loaded[static_cast<size_t>(before)];
    };
    for (int64_t bi = first(pair.a); bi < first(pair.a + 1); ++bi)
        for (int64_t bj = std::max(bi, first(pair.b)); bj < first(pair.b + 1); ++bj) {
            if (run.stopped(0)) return;
            const int64_t rows = block_rows(bi), cols = block_rows(bj);
            if (work.tiles) {
                tiles_.strips(panel(bi), panel(bj), *work.tiles, [&](const typename Tiles<T>::Strip &strip) {
                    body({work, bi, bj, strip.row0, strip.rows, cols, tile_rows, strip.row0 + strip.rows == rows,
                          work.tiles->tile.data()});
                });
                evaluations_.fetch_add(rows * cols, std::memory_order_relaxed);
                continue;
            }
            const T *tile = store_.data() + tile_offset(bi, bj);
            const int64_t step = tiles_.whole() ? tile_rows : strip_rows; // as they would be computed: the same sums
            for (int64_t i = 0; i < rows; i += step) {
                const int64_t count = std::min(step, rows - i);
                body({work, bi, bj, i, count, cols, cols, i + count == rows, tile + i * cols});
            }
        }
}

template <class T>
void GramOperator<T>::meet_all(Run &run, int64_t pp, const Body &body) const {
    const int64_t supers = super_panels(blocks_of(n()));
    const CountedVector<Meeting> pairs = tournament(supers);
    const bool compute = store_.empty();
    std::vector<std::atomic<int64_t>> through(static_cast<size_t>(supers)); // rounds that a panel is through with
    std::atomic<bool> broken{false};
    const int64_t strip = tiles_.whole() ? tile_rows : strip_rows;
    Pool<Work> pool([&] {
        std::unique_ptr<Work> work(new Work{nullptr, run.buffer<T>(strip, pp), run.buffer<T>(tile_rows, pp)});
        if (compute) work->tiles.reset(new TileScratch<T>(tiles_.scratch(run)));
        return work;
    });
    auto one = [&](int64_t k) {
        const Meeting &pair = pairs[static_cast<size_t>(k)];
        std::atomic<int64_t> &a = through[static_cast<size_t>(pair.a)], &b = through[static_cast<size_t>(pair.b)];
        while (a.load(std::memory_order_acquire) < pair.round || b.load(std::memory_order_acquire) < pair.round) {
            if (broken || run.stopped(0)) return; // the earliest unfinished pair never waits
            std::this_thread::yield();
        }
        try {
            auto work = pool.take();
            if (compute) work->tiles->by_differences = false;
            meet(run, pair, supers, *work, body);
        } catch (...) {
            broken = true;
            throw;
        }
        a.store(pair.round + 1, std::memory_order_release);
        b.store(pair.round + 1, std::memory_order_release);
    };
    parallel_for(run, static_cast<int64_t>(pairs.size()), one, compute && tiles_.serial());
    run.progress(1);
}

template <class T>
void GramOperator<T>::apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const {
    const int64_t pp = padded_columns<T>(p);
    Buffer<T> in = run.buffer<T>(n(), pp);
    Buffer<double> out = run.buffer<double>(n(), pp);
    auto each_block = [&](auto &&body) {
        parallel_for(run, blocks_of(n()), [&](int64_t b) { body(b * tile_rows, block_rows(b)); });
    };
    each_block([&](int64_t row0, int64_t rows) {
        to_rows(q, ldq, p, row0, rows, in.data() + row0 * pp, pp);
        std::fill_n(out.data() + row0 * pp, rows * pp, 0.0);
    });
    const ThinTable<T> &thin = thin_table<T>();
    // y_I += K q_J from each strip; y_J += K^T q_I from the strips of a tile together. f32: products in f32, sums across
    // tiles in f64.
    auto add = [&](const T *part, int64_t row0, int64_t rows) {
        double *to = out.data() + row0 * pp;
        for (int64_t k = 0; k < rows * pp; ++k) to[k] += static_cast<double>(part[k]);
    };
    meet_all(run, pp, [&](const Block &k) {
        const int64_t i0 = k.bi * tile_rows + k.row0, j0 = k.bj * tile_rows;
        const T *qi = in.data() + i0 * pp, *qj = in.data() + j0 * pp;
        const bool mirrored = k.bi != k.bj;
        if constexpr (sizeof(T) == 8) {
            thin.product(k.rows, pp, k.cols, k.values, k.stride, 1, qj, pp, out.data() + i0 * pp, pp, true);
            if (mirrored)
                thin.product(k.cols, pp, k.rows, k.values, 1, k.stride, qi, pp, out.data() + j0 * pp, pp, true);
        } else {
            T *own = k.work.own.data(), *other = k.work.other.data();
            thin.product(k.rows, pp, k.cols, k.values, k.stride, 1, qj, pp, own, pp, false);
            add(own, i0, k.rows);
            if (!mirrored) return;
            thin.product(k.cols, pp, k.rows, k.values, 1, k.stride, qi, pp, other, pp, k.row0 > 0);
            if (k.last) add(other, j0, k.cols);
        }
    });
    each_block([&](int64_t row0, int64_t rows) {
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = row0; i < row0 + rows; ++i) y[i + j * ldy] = out[i * pp + j];
    });
}

template <class T>
void GramOperator<T>::dense(Run &run, double *a, int64_t lda) const {
    meet_all(run, 0, [&](const Block &k) {
        const int64_t i0 = k.bi * tile_rows + k.row0, j0 = k.bj * tile_rows;
        for (int64_t i = 0; i < k.rows; ++i)
            for (int64_t j = k.bi == k.bj ? k.row0 + i : 0; j < k.cols;
                 ++j) { // one triangle decides both: exactly symmetric
                const double value = static_cast<double>(k.values[i * k.stride + j]);
                a[i0 + i + (j0 + j) * lda] = value;
                a[j0 + j + (i0 + i) * lda] = value;
            }
    });
}

template <class T>
void GramOperator<T>::diagonal(Run &run, double *d) const {
    self_values(run, tiles_, d);
}

template class GramOperator<float>;
template class GramOperator<double>;

WeightedOperator::WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred)
    : Operator(base.n()), base_(base), scale_(sqrt_weights), centred_(centred), unit_(run.buffer<double>(base.n())),
      mean_(run.buffer<double>(centred ? base.n() : 0)) {
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

void WeightedOperator::apply_as(Run &run, bool rough, const double *q, int64_t ldq, int64_t p, double *y,
                                int64_t ldy) const {
    const bool rides = centred_ && (known_ == Mean::unknown || (!rough && known_ == Mean::rough));
    const int64_t width = p + rides;
    Buffer<double> in = run.buffer<double>(n(), width), out = run.buffer<double>(rides ? n() : 0, width);
    for (int64_t j = 0; j < p; ++j) std::copy_n(q + j * ldq, n(), in.data() + j * n());
    project(run, p, in.data(), n());
    if (rides) std::copy_n(unit_.data(), n(), in.data() + p * n());
    auto scale = [&](double *block, int64_t ld) {
        for (int64_t j = 0; scale_ && j < width; ++j)
            for (int64_t i = 0; i < n(); ++i) block[i + j * ld] *= scale_[i];
    };
    scale(in.data(), n());
    double *to = rides ? out.data() : y;
    const int64_t ld = rides ? n() : ldy;
    rough ? base_.apply_rough(run, in.data(), n(), width, to, ld) : base_.apply(run, in.data(), n(), width, to, ld);
    if (rides) {
        std::copy_n(out.data() + p * n(), n(), mean_.data());
        known_ = rough ? Mean::rough : Mean::exact;
        for (int64_t j = 0; j < p; ++j) std::copy_n(out.data() + j * n(), n(), y + j * ldy);
    }
    for (int64_t j = 0; scale_ && j < p; ++j)
        for (int64_t i = 0; i < n(); ++i) y[i + j * ldy] *= scale_[i];
    project(run, p, y, ldy);
}

void WeightedOperator::apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const {
    apply_as(run, false, q, ldq, p, y, ldy);
}
void WeightedOperator::apply_rough(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const {
    apply_as(run, true, q, ldq, p, y, ldy);
}

const double *WeightedOperator::mean(Run &run) const {
    if (known_ != Mean::exact) {
        Buffer<double> su = run.buffer<double>(n());
        for (int64_t i = 0; i < n(); ++i) su[i] = (scale_ ? scale_[i] : 1.0) * unit_[i];
        base_.apply(run, su.data(), n(), 1, mean_.data(), n());
        known_ = Mean::exact;
    }
    return mean_.data();
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
    const double *ksu = mean(run);
    auto v = [&](int64_t i) { return ksu[i] * (scale_ ? scale_[i] : 1.0); }; // A u
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += unit_[i] * v(i);
    for (int64_t i = 0; i < n(); ++i) d[i] += unit_[i] * (c * unit_[i] - 2 * v(i));
}

} // namespace mercer
