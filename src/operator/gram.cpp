#include "gram.h"

#include "../core/threads.h"

#include <cinttypes>
#include <cmath>
#include <thread>

namespace mercer {

template <class T>
GramOperator<T>::GramOperator(Run &run, const Expression &kernel, const Points<T> &points, Store store)
    : Operator(points.rows(), sizeof(T) == 4), kernel_(kernel), points_(points), tiles_(kernel, points_, points_) {
    points_.lean();
    const int64_t blocks = blocks_of(n());
    if (store != Store::nothing) {
        panels_.resize(static_cast<size_t>(blocks));
        auto load = [&](int64_t b) { panels_[static_cast<size_t>(b)] = points_.load(run, b); };
        parallel_for(run, blocks, load, tiles_.serial());
    }
    if (store != Store::matrix) return;
    Buffer<T> values = run.buffer<T>(tile_offset(blocks, blocks));
    meet_all(run, 0, [&](const Block &tile) {
        for (int64_t i = 0; i < tile.rows; ++i)
            std::copy_n(tile.values + i * tile.stride, tile.cols,
                        values.data() + tile_offset(tile.bi, tile.bj) + (tile.row0 + i) * tile.cols);
    });
    store_ = std::move(values);
    panels_.clear();
}

// Returns the position of tile (bi, bj) among the stored values, or their number if bi and bj are
// the number of blocks. Stored blocks of rows follow one another. Block bi holds its tiles
// bj >= bi, which are rows(bi) x (n - bi * tile_rows) values.
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

// Returns the order of a pass over S super-panels: first each meets itself, and then in S - 1
// rounds each meets one other (the circle method: all but the last one rotate). A pair starts when
// both its super-panels have finished the rounds before.
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

// Passes the tiles of one meeting to body, strip by strip.
template <class T>
void GramOperator<T>::meet(Run &run, const Meeting &pair, int64_t supers, Work &work, const Body &body) const {
    auto first = [&](int64_t s) { return s * blocks_of(n()) / supers; };
    std::vector<Panel<T>> loaded; // the panels of super-panel a, then those of b
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
            // Stored values are processed in the strips in which they would be computed, so that
            // sums have the same bits.
            const int64_t step = tiles_.whole() ? tile_rows : strip_rows;
            for (int64_t i = 0; i < rows; i += step) {
                const int64_t count = std::min(step, rows - i);
                body({work, bi, bj, i, count, cols, cols, i + count == rows, tile + i * cols});
            }
        }
}

// Makes a pass: hands all tiles to body, strip by strip and on all threads. pp: the row length of
// the products in Work; 0: body needs none.
template <class T>
void GramOperator<T>::meet_all(Run &run, int64_t pp, const Body &body) const {
    const int64_t supers = super_panels(blocks_of(n()));
    const CountedVector<Meeting> pairs = tournament(supers);
    const bool compute = store_.empty();
    // The number of rounds that each super-panel has finished.
    std::vector<std::atomic<int64_t>> through(static_cast<size_t>(supers));
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
            // No deadlock: threads take pairs in their order, and the earliest unfinished pair
            // never waits, because all pairs before it are finished.
            if (broken || run.stopped(0)) return;
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
        // The output serves as workspace, because no sums are in it yet.
        double *place = out.data() + row0 * pp;
        std::fill_n(place, rows * pp, 0.0);
        q(row0, rows, place, pp);
        std::transform(place, place + rows * pp, in.data() + row0 * pp, [](double v) { return static_cast<T>(v); });
        std::fill_n(place, rows * pp, 0.0);
    });
    const ThinTable<T> &thin = thin_table<T>();
    // Each strip adds K q_J to y_I, and the strips of a tile together add K^T q_I to y_J. In f32,
    // products are computed in f32, and sums across tiles in f64.
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
        // Only one triangle is read, so that the result is exactly symmetric.
        for (int64_t i = 0; i < k.rows; ++i)
            for (int64_t j = k.bi == k.bj ? k.row0 + i : 0; j < k.cols; ++j) {
                const double value = static_cast<double>(k.values[i * k.stride + j]);
                // The value is refused here, because an error of the solver would not name the
                // kernel as the cause.
                if (!std::isfinite(value))
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

template <class T>
void GramOperator<T>::columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const {
    CountedVector<int64_t> numbers;
    for (int64_t k = 0; k < count; ++k) numbers.push_back(points_.number(index[k]));
    Points<T> x = points_, y = points_.only(numbers.data(), count);
    const Tiles<T> tiles(kernel_, x, y);
    sweep<T>(run, tiles, 0, n(), [&](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            for (int64_t j = 0; j < tile.y.rows; ++j)
                out[tile.x.row0 + i + (tile.y.row0 + j) * ldo] = static_cast<double>(tile.values[i * tile_rows + j]);
        return true;
    });
    evaluations_.fetch_add(n() * count, std::memory_order_relaxed);
}

namespace {

// Returns sum_j w_j (v_j - own - shift_j)^2 over one row of a strip, and adds the same squares,
// times `weight`, to the sums of the columns. Eight independent sums allow compilers to vectorise.
template <class T>
double add_squares(int64_t count, const T *v, double own, const double *shift, const double *w, double weight,
                   double *columns) {
    double sums[8] = {};
    int64_t j = 0;
    auto square = [&](int64_t at) {
        const double value = static_cast<double>(v[at]) - own - shift[at];
        return value * value;
    };
    for (; j + 8 <= count; j += 8)
        for (int64_t k = 0; k < 8; ++k) {
            const double found = square(j + k);
            sums[k] += w[j + k] * found;
            columns[j + k] += weight * found;
        }
    for (int64_t k = 0; j < count; ++j, ++k) {
        const double found = square(j);
        sums[k] += w[j] * found;
        columns[j] += weight * found;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

} // namespace

template <class T>
void GramOperator<T>::row_squares(Run &run, const Squares &of, double *out) const {
    Buffer<double> weights, shift;
    auto given_or = [&](const double *given, double value, Buffer<double> &other) {
        if (given) return given;
        other = run.buffer<double>(n());
        std::fill(other.begin(), other.end(), value);
        return static_cast<const double *>(other.data());
    };
    const double *w = given_or(of.weights, 1, weights), *a = given_or(of.shift, 0, shift);
    std::fill_n(out, n(), 0.0);
    meet_all(run, 0, [&](const Block &k) {
        const int64_t i0 = k.bi * tile_rows + k.row0, j0 = k.bj * tile_rows;
        // A tile on the diagonal holds both triangles, so the sums over its rows are complete, and
        // those over its columns, which would count its entries twice, are thrown away.
        double nowhere[tile_rows] = {};
        for (int64_t i = 0; i < k.rows; ++i)
            out[i0 + i] += add_squares(k.cols, k.values + i * k.stride, a[i0 + i], a + j0, w + j0, w[i0 + i],
                                       k.bi == k.bj ? nowhere : out + j0);
    });
    for (int64_t i = 0; i < n(); ++i)
        if (!std::isfinite(out[i]))
            fail(MERCER_E_NUMERICAL, "the squares of the kernel values in row %" PRId64 " sum to %g, must be finite", i,
                 std::isnan(out[i]) ? NAN : out[i]);
}

template class GramOperator<float>;
template class GramOperator<double>;

} // namespace mercer
