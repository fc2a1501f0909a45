// What pivoted partial Cholesky does to blocks: the residual between candidates, and the sweep that appends the columns of
// accepted pivots P to L (n x s, row-major):
//   X = (K_P - L L_P^T) L_PP^-T,   d -= |X_i|^2,   L <- [L, X].
// In slabs of 1024 rows that stay in the second-level cache between the three steps (256 cost 25 %, FACTS B3.12): kernel
// tiles, one GEMM, a triangular solve in blocks of 32 columns whose diagonal blocks are inverted (OpenBLAS' TRSM is half as
// fast). Cost of p columns: n p kernel values, 2 n p s + n p^2 flops, L read once.
// Error: products are backward stable; an inverted block magnifies by its condition, at most sqrt(max d / floor), what is
// in its residual already: d is right to a few u_tile max k(x, x), as from substitution. d and its sums are f64.
// Slabs are fixed and their sums added in order: the same bits for any number of threads.
#include "../core/threads.h"
#include "pivots.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// In eight interleaved sums, which compilers vectorise.
template <class T>
double squares(const T *x, int64_t count) {
    double lane[8] = {};
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int64_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[k + l]) * static_cast<double>(x[k + l]);
    for (int64_t l = 0; k < count; ++k, ++l) lane[l] += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

} // namespace

// L_PP in the tile's type, its diagonal blocks inverted in f64.
template <class T>
struct PartialCholesky<T>::Lower {
    Lower(Run &run, const Round &round)
        : width(round.count()), below(run.buffer<T>(width, width)),
          inverse(run.buffer<T>((width + solve_width - 1) / solve_width, solve_width * solve_width)) {
        for (int64_t i = 0; i < width; ++i)
            for (int64_t k = 0; k < width; ++k) below[i * width + k] = k > i ? T(0) : static_cast<T>(round.row(i)[k]);
        for (int64_t j0 = 0; j0 < width; j0 += solve_width) {
            double inv[solve_width][solve_width] = {};
            const int64_t w = std::min(solve_width, width - j0);
            auto l = [&](int64_t i, int64_t k) { return round.row(j0 + i)[j0 + k]; };
            for (int64_t k = 0; k < w; ++k) {
                inv[k][k] = 1 / l(k, k);
                for (int64_t i = k + 1; i < w; ++i) {
                    double sum = 0;
                    for (int64_t q = k; q < i; ++q) sum += l(i, q) * inv[q][k];
                    inv[i][k] = -sum / l(i, i);
                }
            }
            for (int64_t i = 0; i < solve_width; ++i)
                for (int64_t k = 0; k < solve_width; ++k)
                    inverse[(j0 + i) * solve_width + k] = static_cast<T>(inv[i][k]);
        }
    }

    // X <- X L_PP^-T; row-major X is X^T to BLAS.
    void solve(int64_t rows, T *x, int64_t stride, T *block) const {
        for (int64_t j0 = 0; j0 < width; j0 += solve_width) {
            const int64_t w = std::min(solve_width, width - j0);
            if (j0 > 0)
                gemm('T', 'N', w, rows, j0, T(-1), below.data() + j0 * width, width, x, stride, T(1), x + j0, stride);
            for (int64_t i = 0; i < rows; ++i) std::copy_n(x + i * stride + j0, w, block + i * w);
            gemm('T', 'N', w, rows, w, T(1), inverse.data() + j0 * solve_width, solve_width, block, w, T(0), x + j0,
                 stride);
        }
    }

    int64_t width;
    Buffer<T> below, inverse;
};

template <class T>
void PartialCholesky<T>::for_each(int64_t count, const std::function<void(int64_t)> &body) {
    parallel_for(run_, count, body, Tiles<T>(rows_.kernel, points_, points_).serial());
    run_.progress(1); // a body that was asked to stop has returned early
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

template <class T>
void PartialCholesky<T>::reserve(int64_t capacity) {
    capacity = std::min(capacity, n());
    if (capacity <= capacity_) return;
    constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T));
    int64_t stride = (capacity + line - 1) / line * line;
    if (stride % (16 * line) == 0) stride += line; // rows 1 KiB apart share few sets of a cache
    Buffer<T> larger = run_.buffer<T>(n(), stride);
    if (count() > 0)
        parallel_for(run_, slabs_of(n()), [&](int64_t s) {
            for (int64_t i = s * slab_rows; i < std::min(n(), (s + 1) * slab_rows); ++i)
                std::copy_n(factor_.data() + i * stride_, count(), larger.data() + i * stride);
        });
    factor_ = std::move(larger);
    capacity_ = capacity;
    stride_ = stride;
}

template <class T>
std::vector<int64_t> PartialCholesky<T>::numbers_of(const std::vector<int64_t> &rows) const {
    std::vector<int64_t> numbers = rows;
    if (rows_.numbers)
        for (int64_t &number : numbers) number = rows_.numbers[number];
    return numbers;
}

template <class T>
Buffer<T> PartialCholesky<T>::rows_of_factor(const std::vector<int64_t> &rows, int64_t columns) {
    Buffer<T> out = run_.buffer<T>(static_cast<int64_t>(rows.size()), columns);
    T *to = out.data();
    for (int64_t row : rows) to = std::copy_n(factor_.data() + row * stride_, columns, to);
    return out;
}

// K - L L^T among rows, symmetric; its diagonal is d, which is what scores and draws have seen.
template <class T>
Buffer<double> PartialCholesky<T>::residual_block(const std::vector<int64_t> &rows) {
    const int64_t b = static_cast<int64_t>(rows.size()), s = count();
    Buffer<double> out = run_.buffer<double>(b, b);
    if (b > 1) {
        const std::vector<int64_t> numbers = numbers_of(rows);
        Points<T> points(rows_.source, rows_.map, points_.leaves(), numbers.data(), b);
        const Tiles<T> tiles(rows_.kernel, points, points);
        const Buffer<T> factor = rows_of_factor(rows, s);
        std::vector<std::pair<int64_t, int64_t>> pairs; // of panels, one triangle
        for (int64_t i = 0; i < blocks_of(b); ++i)
            for (int64_t j = 0; j <= i; ++j) pairs.emplace_back(i, j);
        Pool<TileScratch<T>> pool(
            [&] { return std::unique_ptr<TileScratch<T>>(new TileScratch<T>(tiles.scratch(run_))); });
        for_each(static_cast<int64_t>(pairs.size()), [&](int64_t p) {
            const auto [bi, bj] = pairs[static_cast<size_t>(p)];
            const Panel<T> x = points.load(run_, bi), y = points.load(run_, bj);
            auto scratch = pool.take();
            scratch->by_differences = false;
            T *tile = scratch->tile.data();
            tiles.compute(x, y, *scratch);
            if (s > 0)
                gemm('T', 'N', y.rows, x.rows, s, T(-1), factor.data() + y.row0 * s, s, factor.data() + x.row0 * s, s,
                     T(1), tile, tile_rows);
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < (bi == bj ? i : y.rows); ++j)
                    out[(x.row0 + i) * b + y.row0 + j] = out[(y.row0 + j) * b + x.row0 + i] =
                        static_cast<double>(tile[i * tile_rows + j]);
        });
        for (const auto &[bi, bj] : pairs)
            evaluations_ += std::min(tile_rows, b - bi * tile_rows) * std::min(tile_rows, b - bj * tile_rows);
    }
    for (int64_t i = 0; i < b; ++i) out[i * b + i] = residual_[rows[static_cast<size_t>(i)]];
    return out;
}

// What is known of rows of pivots is put in place of what was computed: earlier ones are 0, those of the round are its
// triangle; d of both becomes 0.
template <class T>
void PartialCholesky<T>::patch(int64_t row0, int64_t rows, int64_t from, const Round &round) {
    auto at = std::lower_bound(chosen_.begin(), chosen_.end(), std::pair<int64_t, int64_t>(row0, -1));
    for (; at != chosen_.end() && at->first < row0 + rows; ++at) {
        T *x = factor_.data() + at->first * stride_ + from;
        std::fill_n(x, round.count(), T(0));
        const int64_t k = at->second - from;
        for (int64_t q = 0; q <= k; ++q) x[q] = static_cast<T>(round.row(k)[q]);
        residual_[at->first] = squares(x, round.count());
    }
}

template <class T>
typename PartialCholesky<T>::Sums PartialCholesky<T>::subtract(int64_t row0, int64_t rows, int64_t from) {
    Sums sums{0, 0, 0, row0};
    for (int64_t i = row0; i < row0 + rows; ++i) {
        const double d = residual_[i] - squares(factor_.data() + i * stride_ + from, count() - from);
        if (!(d >= sums.lowest)) sums.lowest = d, sums.lowest_row = i; // NaN too
        residual_[i] = std::max(d, 0.0);
        sums.residual += weight(i) * residual_[i];
        if (weight(i) > 0) sums.largest = std::max(sums.largest, residual_[i]);
    }
    return sums;
}

template <class T>
void PartialCholesky<T>::add(const Round &round, const PivotStop &stop) {
    const int64_t from = count(), width = round.count(), slabs = slabs_of(n());
    const std::vector<int64_t> numbers = numbers_of(round.rows);
    Points<T> points(rows_.source, rows_.map, points_.leaves(), numbers.data(), width);
    const Tiles<T> tiles(rows_.kernel, points_, points);
    const Panel<T> y = points.load(run_, 0);
    const Buffer<T> pivots = rows_of_factor(round.rows, from);
    const Lower lower(run_, round);
    for (int64_t k = 0; k < width; ++k) {
        index_.push_back(round.rows[static_cast<size_t>(k)]);
        chosen_.emplace_back(index_.back(), from + k);
    }
    std::sort(chosen_.begin(), chosen_.end());
    Buffer<Sums> sums = run_.buffer<Sums>(slabs);
    Pool<Scratch> pool([&] { return std::make_unique<Scratch>(run_, tiles); });
    for_each(slabs, [&](int64_t s) {
        auto scratch = pool.take();
        scratch->tile.by_differences = false;
        const int64_t row0 = s * slab_rows, rows = std::min(slab_rows, n() - row0);
        T *l = factor_.data() + row0 * stride_, *x = l + from;
        for (int64_t at = 0; at < rows; at += tile_rows) {
            if (run_.stopped(static_cast<double>(s) / static_cast<double>(slabs))) return;
            const Panel<T> panel = points_.load(run_, row0 + at, std::min(tile_rows, rows - at));
            tiles.compute(panel, y, scratch->tile);
            for (int64_t i = 0; i < panel.rows; ++i)
                std::copy_n(scratch->tile.tile.data() + i * tile_rows, width, x + (at + i) * stride_);
        }
        if (from > 0) gemm('T', 'N', width, rows, from, T(-1), pivots.data(), from, l, stride_, T(1), x, stride_);
        lower.solve(rows, x, stride_, scratch->block.data());
        patch(row0, rows, from, round);
        sums[s] = subtract(row0, rows, from);
    });
    ++sweeps_;
    evaluations_ += n() * width;
    Sums all{0, 0, 0, 0};
    for (const Sums &slab : sums) {
        all.residual += slab.residual;
        all.largest = std::max(all.largest, slab.largest);
        if (!(slab.lowest >= all.lowest)) all.lowest = slab.lowest, all.lowest_row = slab.lowest_row;
    }
    if (!(all.lowest >= -indefinite()))
        fail(MERCER_E_NUMERICAL,
             "kernel = %s is not positive semi-definite: %" PRId64 " pivots leave %g of k(x, x) of row %" PRId64,
             rows_.kernel.text().c_str(), count(), all.lowest, all.lowest_row);
    residual_sum_ = all.residual;
    largest_ = all.largest;
    if (stop.early() && reached(stop)) drop_surplus(from, stop);
}

// The first column after which stop holds is the last. What k columns leave of row i is d_i + the squares of those behind
// the k-th: sums of positive terms, so nothing is lost in going back.
template <class T>
void PartialCholesky<T>::drop_surplus(int64_t from, const PivotStop &stop) {
    const int64_t width = count() - from, slabs = slabs_of(n());
    Buffer<double> parts = run_.buffer<double>(slabs, 2 * width);
    parallel_for(run_, slabs, [&](int64_t s) {
        double *sum = parts.data() + s * 2 * width, *largest = sum + width;
        std::fill_n(sum, 2 * width, 0.0);
        for (int64_t i = s * slab_rows; i < std::min(n(), (s + 1) * slab_rows); ++i) {
            const T *x = factor_.data() + i * stride_ + from;
            if (weight(i) == 0) continue;
            double left = residual_[i];
            for (int64_t k = width - 1; k >= 0; --k) {
                sum[k] += weight(i) * left;
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
        for (int64_t i = 0; i < n(); ++i) residual_[i] += squares(factor_.data() + i * stride_ + kept, count() - kept);
        index_.resize(static_cast<size_t>(kept));
        std::erase_if(chosen_, [&](const auto &pivot) { return pivot.second >= kept; });
        residual_sum_ = sum;
        largest_ = largest;
        return;
    }
}

template <class T>
int64_t PartialCholesky<T>::kept_bytes(int64_t n, int64_t m, bool early) {
    const int64_t size = sizeof(T), pad = 2 * 64 / size;
    int64_t columns = m + pad;
    for (int64_t room = first_capacity(m, early); room < m; room *= 2) // the old and the new while one is copied
        columns = std::max(columns, room + std::min(2 * room, m) + 2 * pad);
    return checked_bytes("the partial Cholesky factor", n, columns, size) + 8 * n;
}

template <class T>
int64_t PartialCholesky<T>::growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, int64_t tile_bytes) {
    const int64_t size = sizeof(T), a = std::min(most_accepted, m);
    const int64_t lists = 8 * n + slabs_of(n) * (static_cast<int64_t>(sizeof(Sums)) + (early ? 16 * most_accepted : 0));
    const int64_t affordable = static_cast<int64_t>(std::sqrt(static_cast<double>(allowance(n, m)))) + 1;
    const int64_t candidates = std::max(greedy_candidates(m), first_draws * enough_accepted(m));
    const int64_t b = std::max(a, std::min({candidates, affordable, std::max<int64_t>(n, 1)}));
    const int64_t choice = 8 * b * (b + a) + size * b * m, sweep = size * a * (m + a + 2 * solve_width);
    return lists + 8 * a * a + std::max(choice, sweep) + threads * (tile_bytes + size * slab_rows * solve_width) +
           tile_bytes;
}

template class PartialCholesky<float>;
template class PartialCholesky<double>;

} // namespace mercer
