#include "operator.h"

#include "../core/threads.h"

#include <cinttypes>
#include <cmath>
#include <thread>

namespace mercer {
namespace {

const Operator &self_of(const mercer_operator *op) { return *static_cast<const Operator *>(op->self); }

void check(const Operator &op, Columns q, Columns y) {
    check_columns("apply: q", q, op.n());
    check_columns("apply: y", y, op.n());
    if (q.count < 1 || q.count != y.count || overlap(q, y))
        fail(MERCER_E_PLUGIN,
             "apply: %" PRId64 " columns to %" PRId64 ", must be equally many, at least 1, without overlap", q.count,
             y.count);
}

int32_t apply_c(const mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y) {
    return task->guard([&] {
        check(self_of(op), q, y);
        self_of(op).apply(task->run, false, q, y);
    });
}
int32_t apply_rough_c(const mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y) {
    return task->guard([&] {
        check(self_of(op), q, y);
        self_of(op).apply(task->run, true, q, y);
    });
}
int32_t dense_c(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    return task->guard([&] { self_of(op).dense(task->run, a, lda); });
}
int32_t diagonal_c(const mercer_operator *op, mercer_task *task, double *d) {
    return task->guard([&] { self_of(op).diagonal(task->run, d); });
}

// Super-panels: even, no more than there are blocks, and at most 512: the rows are then read 512 times a pass, 1 % of its time
// at n = 10^6, and a pair of panels is some 10 ms of work.
int64_t super_panels(int64_t blocks) { return blocks < 2 ? blocks : std::min<int64_t>(512, (blocks + 1) / 2 * 2); }

// S (k x p) = U^T Q, from slabs whose parts are added in order.
constexpr int64_t slab_rows = 2048;
Buffer<double> dots(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const Fill &q) {
    const int64_t slabs = (n + slab_rows - 1) / slab_rows;
    Buffer<double> out = std::move(run.buffer<double>(k, p).zero()), parts = run.buffer<double>(k * p, slabs);
    Pool<Buffer<double>> pool([&] {
        return std::unique_ptr<Buffer<double>>(new Buffer<double>(run.buffer<double>(std::min(n, slab_rows), k + p)));
    });
    parallel_for(run, slabs, [&](int64_t s) {
        auto rows = pool.take();
        const int64_t row0 = s * slab_rows, count = std::min(slab_rows, n - row0);
        u(row0, count, rows->data(), k);
        q(row0, count, rows->data() + count * k, p);
        gemm('N', 'T', k, p, count, 1.0, rows->data(), k, rows->data() + count * k, p, 0.0, parts.data() + s * k * p,
             k);
    });
    for (int64_t s = 0; s < slabs; ++s)
        for (int64_t i = 0; i < k * p; ++i) out[i] += parts[s * k * p + i];
    return out;
}

// Y += U S for row-major Y.
void add_product(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const double *s, double *y, int64_t stride) {
    parallel_for(run, (n + slab_rows - 1) / slab_rows, [&](int64_t slab) {
        const int64_t row0 = slab * slab_rows, count = std::min(slab_rows, n - row0);
        Buffer<double> rows = run.buffer<double>(k, count);
        u(row0, count, rows.data(), k);
        gemm('T', 'N', p, count, k, 1.0, s, k, rows.data(), k, 1.0, y + row0 * stride, stride);
    });
}

Fill rows_of(Columns x) {
    return [x](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t j = 0; j < x.count; ++j) x.block->read(x.first + j, row0, rows, to + j, stride);
    };
}

} // namespace

int64_t pass_evaluations(int64_t n) {
    const int64_t full = n / tile_rows, last = n % tile_rows;
    return tile_rows * tile_rows * (full * (full + 1) / 2) + last * (full * tile_rows + last);
}

void Operator::apply(Run &run, bool rough, Columns q, Columns y) const {
    q.block->use(q.first, q.count);
    product(run, rough, q.count, rows_of(q), [&](double *from, int64_t stride) {
        y.block->use(y.first, y.count);
        parallel_for(run, blocks_of(n_), [&](int64_t b) {
            const int64_t row0 = b * tile_rows, rows = std::min(tile_rows, n_ - row0);
            for (int64_t j = 0; j < y.count; ++j)
                y.block->write(y.first + j, row0, rows, from + row0 * stride + j, stride);
        });
    });
}

mercer_operator Operator::c_operator() const {
    return {sizeof(mercer_operator),
            n_,
            f32_ ? MERCER_F32 : MERCER_F64,
            0,
            this,
            apply_c,
            has_rough() ? apply_rough_c : nullptr,
            dense_c,
            diagonal_c};
}

template <class T>
Need GramOperator<T>::need(const Run &run, int64_t n, int64_t p, const Tiles<T> &tiles) {
    const int64_t size = sizeof(T), blocks = blocks_of(n), supers = super_panels(blocks), pp = padded_columns<T>(p);
    const int64_t threads = run.threads(), rows = std::min(tile_rows, n),
                  part = ((tiles.whole() ? tile_rows : strip_rows) + tile_rows) * pp * size,
                  each = std::min(2 * ((blocks + supers - 1) / supers), blocks); // a super-panel is in one meeting
    const TileBytes of = tiles.bytes();
    const Bytes loading = held_by(threads, supers, of.loading(rows)), panels = held_by(threads, supers, each);
    auto loaded = [&](int64_t count) { return of.held(count, std::min(count * tile_rows, n)); };
    return {held_by(threads, supers, part) + n * pp * static_cast<int64_t>(sizeof(T) + sizeof(double)),
            held_by(threads, supers, of.scratch),
            Bytes(loaded(panels.likely), loaded(std::min(panels.most, blocks))) + Bytes(0, loading.most),
            held_by(threads, blocks, of.held(1, rows)) + Bytes(0, loading.most),
            Bytes(0, loading.most),
            of.held(blocks, n),
            checked_bytes("a stored kernel matrix", pass_evaluations(n), 1, size)};
}

template <class T>
GramOperator<T>::GramOperator(Run &run, const Expression &kernel, const Points<T> &points, Hold hold)
    : Operator(points.rows(), sizeof(T) == 4), points_(points), tiles_(kernel, points_, points_) {
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
void GramOperator<T>::product(Run &run, bool, int64_t p, const Fill &q, const Take &y) const {
    const int64_t pp = padded_columns<T>(p);
    Buffer<T> in = run.buffer<T>(n(), pp);
    Buffer<double> out = run.buffer<double>(n(), pp);
    parallel_for(run, blocks_of(n()), [&](int64_t b) {
        const int64_t row0 = b * tile_rows, rows = block_rows(b);
        double *place = out.data() + row0 * pp; // no value has been added yet
        std::fill_n(place, rows * pp, 0.0);
        q(row0, rows, place, pp);
        std::transform(place, place + rows * pp, in.data() + row0 * pp, [](double v) { return static_cast<T>(v); });
        std::fill_n(place, rows * pp, 0.0);
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
    in = Buffer<T>();
    y(out.data(), pp);
}

template <class T>
void GramOperator<T>::dense(Run &run, double *a, int64_t lda) const {
    meet_all(run, 0, [&](const Block &k) {
        const int64_t i0 = k.bi * tile_rows + k.row0, j0 = k.bj * tile_rows;
        for (int64_t i = 0; i < k.rows; ++i)
            for (int64_t j = k.bi == k.bj ? k.row0 + i : 0; j < k.cols;
                 ++j) { // one triangle decides both: exactly symmetric
                const double value = static_cast<double>(k.values[i * k.stride + j]);
                if (!std::isfinite(value)) // else the solver would be blamed
                    fail(MERCER_E_NUMERICAL,
                         "the kernel gave %g for centres %" PRId64 " and %" PRId64 ", must be finite%s",
                         std::isnan(value) ? NAN : value, i0 + i, j0 + j,
                         sizeof(T) == 4 ? "; if the value is beyond float32, use data.dtype = f64" : "");
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
    : Operator(base.n(), base.f32()), base_(base), scale_(sqrt_weights), centred_(centred),
      mean_(run.buffer<double>(centred ? base.n() : 0)) {
    double square = 0;
    for (int64_t i = 0; i < n(); ++i) square += scale(i) * scale(i);
    inverse_length_ = 1 / std::sqrt(square);
}

void WeightedOperator::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    const bool rides = centred_ && (known_ == Mean::unknown || (!rough && known_ == Mean::rough));
    const Fill u = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = unit(row0 + i);
    };
    Buffer<double> c; // u^T Q
    if (centred_) c = dots(run, n(), 1, u, p, q);
    const Fill in = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        q(row0, rows, to, stride);
        for (int64_t i = 0; i < rows; ++i) {
            double *row = to + i * stride;
            const double si = scale(row0 + i), ui = unit(row0 + i);
            for (int64_t j = 0; j < p; ++j) row[j] = si * (centred_ ? row[j] - ui * c[j] : row[j]);
            if (rides) row[p] = si * ui;
        }
    };
    base_.product(run, rough, p + rides, in, [&](double *out, int64_t stride) {
        for (int64_t i = 0; rides && i < n(); ++i) mean_[i] = out[i * stride + p];
        if (rides) known_ = rough ? Mean::rough : Mean::exact;
        for (int64_t i = 0; scale_ && i < n(); ++i)
            for (int64_t j = 0; j < p; ++j) out[i * stride + j] *= scale_[i];
        if (centred_) {
            const Fill made = [&](int64_t row0, int64_t rows, double *to, int64_t step) {
                for (int64_t i = 0; i < rows; ++i) std::copy_n(out + (row0 + i) * stride, p, to + i * step);
            };
            c = dots(run, n(), 1, u, p, made);
            for (double &value : c) value = -value;
            add_product(run, n(), 1, u, p, c.data(), out, stride);
        }
        y(out, stride);
    });
}

const double *WeightedOperator::mean(Run &run) const {
    if (known_ == Mean::exact) return mean_.data();
    const Fill su = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = scale(row0 + i) * unit(row0 + i);
    };
    base_.product(run, false, 1, su, [&](double *out, int64_t stride) {
        for (int64_t i = 0; i < n(); ++i) mean_[i] = out[i * stride];
    });
    known_ = Mean::exact;
    return mean_.data();
}

void WeightedOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    for (int64_t j = 0; scale_ && j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] *= scale_[i] * scale_[j];
    if (!centred_) return;
    // P A P = A - u v^T - v u^T + c u u^T with v = A u, c = u^T v: one formula for both triangles.
    Buffer<double> u = run.buffer<double>(n()), v = run.buffer<double>(n());
    for (int64_t i = 0; i < n(); ++i) u[i] = unit(i);
    gemm('N', 'N', n(), 1, n(), 1.0, a, lda, u.data(), n(), 0.0, v.data(), n());
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += u[i] * v[i];
    for (int64_t j = 0; j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] += c * (u[i] * u[j]) - (u[i] * v[j] + v[i] * u[j]);
}

void WeightedOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    for (int64_t i = 0; scale_ && i < n(); ++i) d[i] *= scale_[i] * scale_[i];
    if (!centred_) return;
    const double *ksu = mean(run);
    auto v = [&](int64_t i) { return ksu[i] * scale(i); }; // A u
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += unit(i) * v(i);
    for (int64_t i = 0; i < n(); ++i) d[i] += unit(i) * (c * unit(i) - 2 * v(i));
}

void RankOperator::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    const int64_t k = u_.count;
    const Fill u = rows_of(u_);
    Buffer<double> s = dots(run, n(), k, u, p, q);
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < k; ++i) s[i + j * k] *= c_[static_cast<size_t>(i)];
    base_.product(run, rough, p, q, [&](double *out, int64_t stride) {
        add_product(run, n(), k, u, p, s.data(), out, stride);
        y(out, stride);
    });
}

void RankOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    Buffer<double> u = run.buffer<double>(n());
    for (int64_t k = 0; k < u_.count; ++k) {
        u_.block->read(u_.first + k, 0, n(), u.data());
        for (int64_t j = 0; j < n(); ++j)
            for (int64_t i = 0; i < n(); ++i) a[i + j * lda] += c_[static_cast<size_t>(k)] * (u[i] * u[j]);
    }
}

void RankOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    Buffer<double> u = run.buffer<double>(n());
    for (int64_t k = 0; k < u_.count; ++k) {
        u_.block->read(u_.first + k, 0, n(), u.data());
        for (int64_t i = 0; i < n(); ++i) d[i] += c_[static_cast<size_t>(k)] * (u[i] * u[i]);
    }
}

} // namespace mercer
