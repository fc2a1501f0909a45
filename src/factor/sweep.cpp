// The sweep of pivoted partial Cholesky, which appends the columns X of the accepted pivots to L:
//   d -= |X_i|^2,   L <- [L, X].
// It processes slabs of 1024 rows, whose columns are computed (columns.cpp) and used while they are
// in the second-level cache (measured: slabs of 256 rows take 25 % more time). L is read once. d
// and its sums are in f64. The slabs do not depend on the number of threads, and their sums are
// added in order, so any number of threads gives the same bits.
#include "partial_cholesky.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>

namespace mercer {
template <class T>
void PartialCholesky<T>::for_each(int64_t count, const std::function<void(int64_t)> &body) {
    parallel_for(run_, count, body, Tiles<T>(rows_.kernel, points_, points_).serial());
    // A body that sees a request to stop returns early. This call then throws, so that nothing uses
    // the incomplete results.
    run_.progress(1);
}

template <class T>
void PartialCholesky<T>::start() {
    const Tiles<T> tiles(rows_.kernel, points_, points_);
    self_values(run_, tiles, residual_.data());
    evaluations_ += n();
    for (int64_t i = 0; i < n(); ++i) {
        const double d = residual_[i];
        if (!std::isfinite(d)) fail(MERCER_E_NUMERICAL, "k(x, x) of row %" PRId64 " is %g", i, d);
        scale_ = std::max(scale_, std::fabs(d));
        if (weight(i) == 0) continue;
        weight_sum_ += weight(i);
        trace_ += weight(i) * d;
        largest_diagonal_ = std::max(largest_diagonal_, d);
    }
    residual_sum_ = trace_;
    largest_ = largest_diagonal_;
}

// Hashes the values of each row by FNV-1a over their bits, eight bytes at a time and with one more
// mixing step. Adding 0.0 turns -0 into 0, so that equal rows have equal hashes.
Buffer<uint64_t> hash_rows(Run &run, const KernelRows &rows) {
    const Source &source = *rows.source;
    if (source.kind() == Source::Kind::objects) return {};
    Buffer<uint64_t> out = run.buffer<uint64_t>(rows.n);
    constexpr int64_t most = 1024;
    const int64_t d = source.cols(), step = std::clamp<int64_t>(most * 16 / d, 1, most);
    parallel_for(
        run, (rows.n + step - 1) / step,
        [&](int64_t s) {
            Buffer<double> values = run.buffer<double>(step, d);
            const int64_t row0 = s * step, count = std::min(step, rows.n - row0);
            if (rows.numbers)
                source.gather(rows.numbers + row0, count, values.data());
            else
                source.read(row0, count, values.data());
            for (int64_t i = 0; i < count; ++i) {
                uint64_t hash = 0xcbf29ce484222325;
                for (int64_t k = 0; k < d; ++k) {
                    hash = (hash ^ std::bit_cast<uint64_t>(values[i * d + k] + 0.0)) * 0x100000001b3;
                    hash ^= hash >> 32;
                }
                out[row0 + i] = hash;
            }
        },
        source.in_passes());
    run.progress(1);
    return out;
}

template <class T>
void PartialCholesky<T>::read_contents() {
    if (contents_.empty()) contents_ = hash_rows(run_, rows_);
}

// Returns a stride of whole cache lines with room for the columns that pad a product. One more line
// is added to a multiple of 1 KiB, because rows at such distances share few sets of a cache.
template <class T>
int64_t PartialCholesky<T>::stride_of(int64_t capacity) {
    constexpr int64_t line = padded_columns<T>(1);
    const int64_t lines = padded_columns<T>(capacity + line - 1) / line;
    return (lines + (lines % 16 == 0)) * line;
}

template <class T>
void PartialCholesky<T>::reserve(int64_t capacity) {
    capacity = std::min(capacity, n());
    if (capacity <= capacity_) return;
    const int64_t stride = stride_of(capacity);
    capacity_ = capacity;
    if (stores_triangle()) reserve_triangle();
    if (!stored()) {
        stride_ = stride;
        return;
    }
    Buffer<T> larger = run_.buffer<T>(n(), stride);
    if (count() > 0)
        parallel_for(run_, slabs_of(n()), [&](int64_t s) {
            for (int64_t i = s * slab_rows; i < std::min(n(), (s + 1) * slab_rows); ++i)
                std::copy_n(factor_.data() + i * stride_, count(), larger.data() + i * stride);
        });
    factor_ = std::move(larger);
    stride_ = stride;
}

// Subtracts from d of each row in the block the squares of its columns from `from` on. d of each
// pivot is first set to the number that is subtracted, so that it becomes exactly 0.
template <class T>
typename PartialCholesky<T>::Sums PartialCholesky<T>::subtract(const Block &block, int64_t from) {
    const int64_t end = block.row0 + block.rows;
    auto square = [&](int64_t i) {
        const T *x = block.l + (i - block.row0) * block.stride + from;
        return dot(x, x, count() - from);
    };
    auto at = std::lower_bound(chosen_.begin(), chosen_.end(), std::pair<int64_t, int64_t>(block.row0, -1));
    for (; at != chosen_.end() && at->first < end; ++at) residual_[at->first] = square(at->first);
    Sums sums{0, 0, 0, block.row0};
    for (int64_t i = block.row0; i < end; ++i) {
        const double d = residual_[i] - square(i);
        // A NaN satisfies this condition, too, and the first one is kept.
        if (!(d >= sums.lowest || std::isnan(sums.lowest))) sums.lowest = d, sums.lowest_row = i;
        residual_[i] = std::max(d, 0.0);
        sums.residual += weight(i) * residual_[i];
        if (weight(i) > 0) sums.largest = std::max(sums.largest, residual_[i]);
    }
    return sums;
}

template <class T>
void PartialCholesky<T>::add(const Round &round, const PivotStop &stop) {
    const int64_t from = count(), slabs = slabs_of(n());
    auto step = std::make_unique<Step>(*this, round, from);
    if (stores_triangle()) append_triangle(round);
    for (int64_t k = 0; k < round.count(); ++k) {
        index_.push_back(round.rows[static_cast<size_t>(k)]);
        chosen_.emplace_back(index_.back(), from + k);
    }
    std::sort(chosen_.begin(), chosen_.end());
    Buffer<Sums> sums = run_.buffer<Sums>(slabs);
    {
        Pool<Scratch> pool = scratch();
        for_each(slabs, [&](int64_t s) {
            auto scratch = pool.take();
            const Block block = slab(s, *scratch);
            columns(*step, block, *scratch);
            patch(*step, block, nullptr);
            sums[s] = subtract(block, from);
        });
    }
    ++sweeps_;
    evaluations_ += n() * round.count();
    if (!stored()) steps_.push_back(std::move(step)), merge_steps();
    Sums all{0, 0, 0, 0};
    for (const Sums &slab : sums) {
        all.residual += slab.residual;
        all.largest = std::max(all.largest, slab.largest);
        if (!(slab.lowest >= all.lowest || std::isnan(all.lowest)))
            all.lowest = slab.lowest, all.lowest_row = slab.lowest_row;
    }
    if (std::isnan(all.lowest)) refuse_values(all.lowest_row);
    if (all.lowest < -suspicious()) check_definite(all.lowest_row);
    residual_sum_ = all.residual;
    largest_ = all.largest;
    if (stop.early() && reached(stop)) drop_surplus(from, stop);
}

// Merges small adjacent steps if there are more than the forecast of the memory allows for, because
// rounds accepted few pivots. Of two adjacent steps that cannot be merged, one has more than
// most_accepted / 2 pivots, so that rounds(m) is never exceeded.
template <class T>
void PartialCholesky<T>::merge_steps() {
    const auto most = static_cast<size_t>(rounds(capacity_));
    for (size_t k = 1; steps_.size() > most && k < steps_.size();) {
        const int64_t from = steps_[k - 1]->from, made = steps_[k - 1]->width + steps_[k]->width;
        if (made > most_accepted) {
            ++k;
            continue;
        }
        Round both(run_, made);
        both.earlier = run_.buffer<double>(made, from);
        for (int64_t i = 0; i < made; ++i) {
            both.rows.push_back(index_[static_cast<size_t>(from + i)]);
            const double *row = triangle_.data() + from + i;
            for (int64_t c = 0; c < from; ++c) both.earlier[i * from + c] = row[c * triangle_rows_];
            for (int64_t c = 0; c <= i; ++c) both.row(i)[c] = row[(from + c) * triangle_rows_];
        }
        steps_[k - 1] = std::make_unique<Step>(*this, both, from);
        steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

// Keeps the columns up to the first one with which the stop holds, and drops the others. After k
// columns, the residual of row i is d_i plus the squares of the later columns: a sum of positive
// terms, so going back loses no accuracy.
template <class T>
void PartialCholesky<T>::drop_surplus(int64_t from, const PivotStop &stop) {
    const int64_t width = count() - from, slabs = slabs_of(n());
    Buffer<double> parts = run_.buffer<double>(slabs, 2 * width);
    Pool<Scratch> pool = scratch();
    auto each_slab = [&](auto &&body) {
        Run::Span span(run_, 1, 1);
        for_each(slabs, [&](int64_t s) {
            auto scratch = pool.take();
            body(slab(s, *scratch), parts.data() + s * 2 * width);
        });
    };
    each_slab([&](const Block &block, double *sum) {
        double *largest = sum + width;
        std::fill_n(sum, 2 * width, 0.0);
        for (int64_t i = 0; i < block.rows; ++i) {
            const T *x = block.l + i * block.stride + from;
            const double w = weight(block.row0 + i);
            if (w == 0) continue;
            double left = residual_[block.row0 + i];
            for (int64_t k = width - 1; k >= 0; --k) {
                sum[k] += w * left;
                largest[k] = std::max(largest[k], left);
                left += static_cast<double>(x[k]) * static_cast<double>(x[k]);
            }
        }
    });
    for (int64_t k = 0; k < width - 1; ++k) {
        double sum = 0, largest = 0;
        for (int64_t s = 0; s < slabs; ++s) {
            sum += parts[s * 2 * width + k];
            largest = std::max(largest, parts[s * 2 * width + width + k]);
        }
        if (!reached(stop, sum, largest)) continue;
        const int64_t kept = from + k + 1;
        each_slab([&](const Block &block, double *) {
            for (int64_t i = 0; i < block.rows; ++i) {
                const T *x = block.l + i * block.stride + kept;
                residual_[block.row0 + i] += dot(x, x, count() - kept);
            }
        });
        index_.resize(static_cast<size_t>(kept));
        std::erase_if(chosen_, [&](const auto &pivot) { return pivot.second >= kept; });
        if (!stored()) steps_.back()->width = kept - steps_.back()->from;
        residual_sum_ = sum;
        largest_ = largest;
        return;
    }
}

template <class T>
int64_t PartialCholesky<T>::stored_bytes() const {
    TileBytes tiles;
    points_.measure(tiles);
    return factor_.bytes() + triangle_.bytes() + residual_.bytes() + contents_.bytes() +
           (panels_.empty() ? 0 : tiles.stored(blocks_of(n()), n()));
}

template <class T>
int64_t PartialCholesky<T>::ready_bytes(int64_t n, int64_t m, bool early, const TileBytes &tiles) {
    const int64_t first = n * stride_of(first_capacity(m, early)) * static_cast<int64_t>(sizeof(T)),
                  ready = tiles.stored(blocks_of(n), n);
    return ready <= first / panels_share ? ready : 0;
}

template <class T>
int64_t PartialCholesky<T>::stored_bytes_of(int64_t n, int64_t m, bool early, const TileBytes &tiles) {
    int64_t columns = stride_of(m), triangle = triangle_bytes(m);
    // While a factor is enlarged, the old and the new one exist at the same time.
    for (int64_t room = first_capacity(m, early); room < m; room *= 2) {
        columns = std::max(columns, stride_of(room) + stride_of(std::min(2 * room, m)));
        triangle = std::max(triangle, triangle_bytes(room) + triangle_bytes(std::min(2 * room, m)));
    }
    return 16 * n + checked_bytes("the partial Cholesky factor", n, columns, sizeof(T)) +
           (sizeof(T) == 4 ? triangle : 0) + ready_bytes(n, m, early, tiles);
}

// A round first chooses pivots and then computes their columns. The memory of the two steps is not
// needed at the same time, so the larger of them counts. The sizes of the blocks depend on the
// data: the likely figure assumes up to 128 candidates and 32 pivots, and the upper limit
// most_candidates(m) and most_accepted.
template <class T>
Bytes PartialCholesky<T>::growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles) {
    const int64_t size = sizeof(T), slabs = slabs_of(n), active = std::min(threads, slabs),
                  rows = std::min(n, tile_rows), panels = std::min(active * slab_panels, blocks_of(n)),
                  loaded = tiles.stored(panels, std::min(active * slab_rows, n)),
                  ready = ready_bytes(n, m, early, tiles);
    // The panels of all rows, if kept, are counted in stored_bytes_of. If they are not kept, or if
    // the budget is too small to keep them, each sweep prepares the panels of its slabs.
    const Bytes sweep =
        held_by(threads, slabs, tiles.scratch) +
        Bytes(ready > 0 ? 0 : loaded / active, active * tiles.loading(rows) + std::max<int64_t>(loaded - ready, 0));
    const int64_t affordable = static_cast<int64_t>(std::sqrt(static_cast<double>(allowance(n, m)))) + 1;
    const int64_t wider = 8 / size; // candidates are in f64, whereas `tiles` counts numbers of type T
    // Bytes that choosing `a` pivots among `b` candidates takes on `working` threads.
    auto choosing = [&](int64_t b, int64_t a, int64_t working) {
        const int64_t few = (b + few_rows - 1) / few_rows,
                      work = wider * working * std::max(tiles.scratch, tiles.loading(std::min(b, few_rows))),
                      looked_up = wider * (tiles.stored(blocks_of(m), m) + tiles.stored(working, b)),
                      multiplied = 8 * b * b + 8 * m * few * few_rows + wider * tiles.stored(few, b);
        return 8 * m * b +
               std::max({looked_up + work, b > 1 ? multiplied + work : 0, 8 * b * (b + a + 1), 8 * (b * b + a * m)});
    };
    // Bytes that adding the columns of `a` pivots takes, including those of the sweep itself
    // (swept).
    auto adding = [&](int64_t a, int64_t swept) {
        return tiles.stored(1, a) + tiles.loading(a) + size * a * (a + stride_of(m)) + 8 * a * m + swept;
    };
    const int64_t candidates = most_candidates(m), most = std::min(most_accepted, m), few = std::min<int64_t>(32, m),
                  most_tried = std::max(most, std::min({candidates, affordable, n})),
                  few_tried = std::min({few_rows, affordable, n});
    const int64_t lists = slabs * static_cast<int64_t>(sizeof(Sums)), dropped = early ? slabs * 16 * most_accepted : 0;
    return Bytes(lists, lists + 8 * n + dropped + tiles.loading(rows)) +
           Bytes(8 * few * few + std::max(choosing(few_tried, few, 1), adding(few, sweep.likely)),
                 8 * most * most + std::max(choosing(most_tried, most, threads), adding(most, sweep.most)));
}

template <class T>
Bytes PartialCholesky<T>::bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles,
                                Factor kind) {
    const int64_t size = sizeof(T), active = std::min(threads, slabs_of(n));
    const Bytes growing = growing_bytes(n, m, early, threads, tiles);
    if (kind == Factor::stored) return stored_bytes_of(n, m, early, tiles) + growing;
    const int64_t steps = size * m * m / 2 + tiles.stored(rounds(m), m), padding = rounds(m) * 64 * m,
                  slabs = active * size * slab_rows * stride_of(m),
                  rows =
                      tiles.stored(blocks_of(n), n) + threads * (tiles.stored(1, few_rows) + tiles.loading(few_rows));
    return 16 * n + slabs + triangle_bytes(m) + growing +
           Bytes(steps, steps + 2 * size * m * std::min(most_accepted, m) + padding +
                            std::min(rows, active * tiles.stored(slab_panels, slab_rows)));
}

template class PartialCholesky<float>;
template class PartialCholesky<double>;

} // namespace mercer
