#include "limit.h"
#include "micro.h"

#include <algorithm>
#include <atomic>
#include <cblas.h>
#include <chrono>
#include <cmath>
#include <thread>

extern "C" {
void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
char *openblas_get_corename(void);
char *openblas_get_config(void);
}

namespace limit {
namespace {

// A tile is computed in strips. A strip is written once, and stays in the L2 cache while up to two
// products read it.
constexpr int64_t TILE = 256, STRIP = 64;

double seconds_of(const auto &work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Sets the number of threads of OpenBLAS for the lifetime of the object.
class BlasThreads {
  public:
    explicit BlasThreads(int count) : before_(openblas_get_num_threads()) { openblas_set_num_threads(count); }
    ~BlasThreads() { openblas_set_num_threads(before_); }

  private:
    int before_;
};

// Runs work(thread) on each of `threads` threads, one of which is the calling thread.
void in_parallel(int threads, const auto &work) {
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([&work, t] { work(t); });
    work(0);
    for (std::thread &other : others) other.join();
}

// Runs work(thread, item) for all items. A thread that is free takes the next item.
void share_out(int threads, int64_t items, const auto &work) {
    std::atomic<int64_t> next{0};
    in_parallel(threads, [&](int thread) {
        for (int64_t item; (item = next.fetch_add(1)) < items;) work(thread, item);
    });
}

enum class With { plain, transposed };

// Computes c += alpha a b, all row-major. c is m x n, a is m x k (k x m if transposed), b is k x n
// (n x k if transposed).
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, T alpha, With a_is, const T *a, int64_t lda, With b_is, const T *b,
                  int64_t ldb, T *c, int64_t ldc) {
    const auto kind = [](With with) { return with == With::plain ? CblasNoTrans : CblasTrans; };
    const auto i = [](int64_t size) { return static_cast<blasint>(size); };
    if constexpr (sizeof(T) == 4)
        cblas_sgemm(CblasRowMajor, kind(a_is), kind(b_is), i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), 1, c, i(ldc));
    else
        cblas_dgemm(CblasRowMajor, kind(a_is), kind(b_is), i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), 1, c, i(ldc));
}

// Computes the thin product c (m x n) += a b, or a^T b, by OpenBLAS if `blas` is set, and otherwise
// by a loop of vector types. OpenBLAS may be the slower one, because it may not know the widest
// registers of this processor.
template <class T>
void thin(int64_t m, int64_t n, int64_t k, With a_is, const T *a, int64_t lda, const T *b, T *c, int64_t ldb,
          int64_t ldc, bool blas) {
    if (blas || n % micro::LANES<T>)
        multiply_add<T>(m, n, k, 1, a_is, a, lda, With::plain, b, ldb, c, ldc);
    else
        micro::multiply_add(m, n, k, a, a_is == With::plain ? lda : 1, a_is == With::plain ? 1 : lda, b, ldb, c, ldc);
}

template <class T>
double thin_seconds(int threads, bool blas) {
    constexpr int64_t P = 32, TIMES = 200;
    Fresh<T> a(threads * STRIP * TILE), b(TILE * P), c(threads * STRIP * P);
    for (int64_t k = 0; k < TILE * P; ++k) b[k] = a[k] = T(1) / T(1 + k % 97);
    const BlasThreads one(1);
    return seconds_of([&] {
        in_parallel(threads, [&](int t) {
            for (int64_t k = 0; k < TIMES; ++k)
                thin<T>(STRIP, P, TILE, With::plain, &a[t * STRIP * TILE], TILE, b.data(), &c[t * STRIP * P], P, P,
                        blas);
        });
    });
}

// Returns whether OpenBLAS computes a thin product faster than the loop does. Only the first call
// measures this.
template <class T>
bool blas_is_faster() {
    static const bool faster = [] {
        double by[2] = {INFINITY, INFINITY};
        for (int k = 0; k < 6; ++k) by[k % 2] = std::min(by[k % 2], thin_seconds<T>(1, k % 2 == 1));
        return by[1] < by[0];
    }();
    return faster;
}

// Writes the kernel values (or, if Exp is false, their exponents) of the rows from i0 on and the
// columns from j0 on to out, whose rows are ld entries apart. It writes whole blocks, so the last
// ones may go beyond `rows` and `cols`.
template <bool Exp, class T>
void values(const Points<T> &x, int64_t i0, int64_t rows, const Points<T> &y, int64_t j0, int64_t cols, T *out,
            int64_t ld) {
    for (int64_t j = 0; j < cols; j += micro::COLS<T>)
        for (int64_t i = 0; i < rows; i += micro::ROWS)
            micro::block<Exp>(x.row(i0 + i), x.u() + i0 + i, y.panel(j0 + j), y.u() + j0 + j, x.d,
                              [to = out + i * ld + j, ld](int64_t row, int64_t col, micro::Vector<T> v) {
                                  micro::store(to + row * ld + col, v);
                              });
}

// Returns the places (i, j) of the tiles with i >= j of a symmetric matrix, row by row.
std::vector<std::pair<int64_t, int64_t>> half_of(int64_t n) {
    std::vector<std::pair<int64_t, int64_t>> tiles;
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t j = 0; j <= i; j += TILE) tiles.emplace_back(i, j);
    return tiles;
}

int64_t pad(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
double square(double x) { return x * x; }

} // namespace

// ---- points

template <class T>
Points<T>::Points(const T *data, int64_t rows, int64_t cols, double sigma)
    : n(rows), d(cols), padded(pad(rows, std::max(micro::ROWS, micro::COLS<T>))), scale_(std::sqrt(M_LOG2E) / sigma),
      shift_(static_cast<size_t>(cols)), rows_(padded * d), panels_(padded * d), u_(padded) {
    for (int64_t k = 0; k < n * d; ++k) shift_[static_cast<size_t>(k % d)] += static_cast<double>(data[k]);
    for (double &mean : shift_) mean /= static_cast<double>(n);
    fill(data);
}

template <class T>
Points<T>::Points(const T *data, int64_t rows, const Points &like)
    : n(rows), d(like.d), padded(pad(rows, std::max(micro::ROWS, micro::COLS<T>))), scale_(like.scale_),
      shift_(like.shift_), rows_(padded * d), panels_(padded * d), u_(padded) {
    fill(data);
}

template <class T>
void Points<T>::fill(const T *data) {
    constexpr int64_t W = micro::COLS<T>;
    for (int64_t i = 0; i < padded; ++i) {
        double norm = 0;
        for (int64_t k = 0; k < d && i < n; ++k) {
            const double value = (static_cast<double>(data[i * d + k]) - shift_[static_cast<size_t>(k)]) * scale_;
            rows_[i * d + k] = panels_[i / W * W * d + k * W + i % W] = static_cast<T>(value);
            norm += value * value;
        }
        u_[i] = static_cast<T>(i < n ? -norm / 2 : -1e4);
    }
}

// ---- the work of rows

template <class T>
double kernel_matrix(const Points<T> &x, int threads) {
    const int64_t n = x.padded;
    const auto tiles = half_of(n);
    const double seconds = seconds_of([&] {
        Fresh<T> k(n * n);
        share_out(threads, static_cast<int64_t>(tiles.size()), [&](int, int64_t tile) {
            const auto [i0, j0] = tiles[static_cast<size_t>(tile)];
            const int64_t i1 = std::min(i0 + TILE, n), j1 = std::min(j0 + TILE, n);
            for (int64_t i = i0; i < i1; i += micro::ROWS)
                for (int64_t j = j0; j < j1; j += micro::COLS<T>) {
                    // The mirror tile gets the same values, but not transposed: every
                    // implementation has to store them, but perhaps not to transpose them.
                    T *here = &k[i * n + j], *mirror = &k[(j0 + i - i0) * n + i0 + j - j0];
                    const bool both = i0 != j0;
                    micro::block<true>(x.row(i), x.u() + i, x.panel(j), x.u() + j, x.d,
                                       [=](int64_t row, int64_t col, micro::Vector<T> v) {
                                           micro::stream(here + row * n + col, v);
                                           if (both) micro::stream(mirror + row * n + col, v);
                                       });
                }
        });
    });
    return seconds * square(static_cast<double>(x.n) / static_cast<double>(n));
}

template <class T>
double pass(const Points<T> &x, const T *q, T *y, int64_t p, int threads, int64_t stride) {
    const int64_t n = x.padded;
    const auto tiles = half_of(n);
    const auto count = (static_cast<int64_t>(tiles.size()) + stride - 1) / stride;
    Fresh<T> sums(threads * n * p), strips(threads * STRIP * TILE);
    const bool blas = blas_is_faster<T>();
    const BlasThreads one(1);
    const double seconds = seconds_of([&] {
        share_out(threads, count, [&](int thread, int64_t tile) {
            const auto [i0, j0] = tiles[static_cast<size_t>(tile * stride)];
            const int64_t i1 = std::min(i0 + TILE, n), cols = std::min(TILE, n - j0);
            T *sum = &sums[thread * n * p], *strip = &strips[thread * STRIP * TILE];
            for (int64_t i = i0; i < i1; i += STRIP) {
                const int64_t rows = std::min(STRIP, i1 - i);
                values<true>(x, i, rows, x, j0, cols, strip, TILE);
                thin<T>(rows, p, cols, With::plain, strip, TILE, q + j0 * p, sum + i * p, p, p, blas);
                if (i0 != j0)
                    thin<T>(cols, p, rows, With::transposed, strip, TILE, q + i * p, sum + j0 * p, p, p, blas);
            }
        });
        for (int64_t k = 0; k < n * p; ++k) {
            y[k] = 0;
            for (int thread = 0; thread < threads; ++thread) y[k] += sums[thread * n * p + k];
        }
    });
    return seconds * static_cast<double>(tiles.size()) / static_cast<double>(count) *
           square(static_cast<double>(x.n) / static_cast<double>(n));
}

template <class T>
double factor(const Points<T> &x, int64_t m, int threads) {
    constexpr int64_t ROUND = 128, ROWS = 1024, WIDE = micro::COLS<T>;
    const int64_t n = x.padded, padded = pad(m, micro::COLS<T>), tiles = (n + ROWS - 1) / ROWS;
    // With a power of two as the stride, the rows would compete for a few sets of the cache.
    const int64_t stride = padded + micro::COLS<T>;
    const bool blas = blas_is_faster<T>();
    const BlasThreads one(1);
    const double seconds = seconds_of([&] {
        Fresh<T> l(n * stride);
        for (int64_t s = 0; s < padded; s += ROUND) {
            const int64_t width = std::min(ROUND, padded - s);
            const std::vector<T> pivots(static_cast<size_t>(padded * WIDE),
                                        T(-1e-3)); // constants in place of the pivots' rows of L
            share_out(threads, tiles, [&](int, int64_t tile) {
                const int64_t i = tile * ROWS, rows = std::min(ROWS, n - i);
                T *here = &l[i * stride + s];
                values<true>(x, i, rows, x, s, width, here, stride);
                // A column is also updated by the columns before it in its own round: on average,
                // by half of them.
                for (int64_t j = 0; j < width; j += WIDE)
                    thin<T>(rows, WIDE, s + width / 2, With::plain, &l[i * stride], stride, pivots.data(), here + j,
                            WIDE, stride, blas);
            });
        }
    });
    return seconds * static_cast<double>(x.n) / static_cast<double>(n) *
           square(static_cast<double>(m) / static_cast<double>(padded));
}

template <class T>
double transform(const Points<T> &x, const Points<T> &centres, int64_t r, int threads) {
    const int64_t m = centres.padded, strips = (x.padded + STRIP - 1) / STRIP;
    const bool blas = blas_is_faster<T>();
    const int64_t p = blas ? r : pad(r, micro::LANES<T>);
    Fresh<T> a(m * p), f(x.padded * p), tiles(threads * STRIP * TILE);
    std::fill_n(f.data(), x.padded * p, T(1)); // maps the pages of f: those of a caller's array are mapped, too
    const BlasThreads one(1);
    const double seconds = seconds_of([&] {
        share_out(threads, strips, [&](int thread, int64_t strip) {
            const int64_t i = strip * STRIP, rows = std::min(STRIP, x.padded - i);
            T *tile = &tiles[thread * STRIP * TILE];
            for (int64_t j = 0; j < m; j += TILE) {
                const int64_t cols = std::min(TILE, m - j);
                values<true>(x, i, rows, centres, j, cols, tile, TILE);
                thin<T>(rows, p, cols, With::plain, tile, TILE, &a[j * p], &f[i * p], p, p, blas);
            }
        });
    });
    return seconds * static_cast<double>(x.n * centres.n) / static_cast<double>(x.padded * m);
}

template <class T>
double one_row(int64_t m, int64_t d, int64_t r) {
    constexpr int CALLS = 2000;
    const int64_t padded = pad(m, micro::LANES<T>);
    Fresh<T> c(padded * d), x(d), k(padded), a(padded * r + 1), f(r + 1);
    // Computes out = matrix in, or matrix^T in, for a column-major matrix of rows x cols.
    const auto times = [](CBLAS_TRANSPOSE kind, int64_t cols, int64_t rows, const T *matrix, const T *in, T *out) {
        const auto i = [](int64_t size) { return static_cast<blasint>(size); };
        if constexpr (sizeof(T) == 4)
            cblas_sgemv(CblasColMajor, kind, i(rows), i(cols), 1, matrix, i(rows), in, 1, 0, out, 1);
        else
            cblas_dgemv(CblasColMajor, kind, i(rows), i(cols), 1, matrix, i(rows), in, 1, 0, out, 1);
    };
    const BlasThreads one(1);
    return seconds_of([&] {
               for (int call = 0; call < CALLS; ++call) {
                   times(CblasNoTrans, d, padded, c.data(), x.data(), k.data());
                   for (int64_t j = 0; j < padded; j += micro::LANES<T>)
                       micro::store(&k[j], micro::exp2<T>(micro::load(&k[j])));
                   if (r > 0) times(CblasTrans, r, padded, a.data(), k.data(), f.data());
               }
           }) /
           CALLS;
}

template <class T>
double gemm(int64_t n, int threads, bool tiled) {
    Fresh<T> a(n * n), b(n * n), c(n * n);
    for (int64_t k = 0; k < n * n; ++k) a[k] = b[k] = T(1) / T(1 + k % 97), c[k] = 0;
    const auto rows = [&](int64_t i, int64_t count) {
        multiply_add<T>(count, n, n, 1, With::plain, &a[i * n], n, With::plain, b.data(), n, &c[i * n], n);
    };
    const BlasThreads blas(tiled ? 1 : threads);
    if (!tiled) return seconds_of([&] { rows(0, n); });
    const int64_t tiles = (n + TILE - 1) / TILE;
    return seconds_of([&] {
        share_out(threads, tiles, [&](int, int64_t tile) { rows(tile * TILE, std::min(TILE, n - tile * TILE)); });
    });
}

double pairs(double count, int64_t d) {
    constexpr int64_t SIDE = 128, BLOCKS = 32; // too many rows for the L1 cache
    Fresh<float> x(BLOCKS * SIDE * d), c(SIDE * SIDE);
    for (int64_t k = 0; k < BLOCKS * SIDE * d; ++k) x[k] = 1.F / static_cast<float>(1 + k % 97);
    for (int64_t k = 0; k < SIDE * SIDE; ++k) c[k] = 0;
    const BlasThreads blas(1);
    const int64_t tiles = static_cast<int64_t>(std::ceil(count / (SIDE * SIDE)));
    const double seconds = seconds_of([&] {
        for (int64_t tile = 0; tile < tiles; ++tile)
            multiply_add<float>(SIDE, SIDE, d, 1, With::plain, &x[tile % BLOCKS * SIDE * d], d, With::transposed,
                                &x[tile / BLOCKS % BLOCKS * SIDE * d], d, c.data(), SIDE);
    });
    return seconds * count / static_cast<double>(tiles * SIDE * SIDE);
}

#define INSTANTIATE(T)                                                                                                 \
    template class Points<T>;                                                                                          \
    template double kernel_matrix(const Points<T> &, int);                                                             \
    template double pass(const Points<T> &, const T *, T *, int64_t, int, int64_t);                                    \
    template double factor(const Points<T> &, int64_t, int);                                                           \
    template double transform(const Points<T> &, const Points<T> &, int64_t, int);                                     \
    template double one_row<T>(int64_t, int64_t, int64_t);                                                             \
    template double gemm<T>(int64_t, int, bool)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

// ---- the machine

namespace {

double best_of_three(const auto &work) {
    double best = work();
    for (int k = 0; k < 2; ++k) best = std::min(best, work());
    return best;
}

// Returns the kernel values (or, if Exp is false, exponents) per second. Each thread computes one
// tile of 256 x 256 repeatedly.
template <bool Exp, class T>
double values_per_second(int threads) {
    constexpr int64_t D = 16, TIMES = 200;
    const std::vector<T> data(TILE * D, T(0.1));
    const Points<T> x(data.data(), TILE, D, 5);
    Fresh<T> out(threads * TILE * TILE);
    return static_cast<double>(threads * TIMES * TILE * TILE) / best_of_three([&] {
               return seconds_of([&] {
                   in_parallel(threads, [&](int thread) {
                       for (int64_t k = 0; k < TIMES; ++k)
                           values<Exp>(x, 0, TILE, x, 0, TILE, &out[thread * TILE * TILE], TILE);
                   });
               });
           });
}

// Returns the bytes per second of a[i] = b[i] + s c[i] over arrays larger than the caches; the
// three arrays are counted.
double triad(int threads) {
    constexpr int64_t COUNT = int64_t{1} << 24, W = micro::LANES<double>;
    Fresh<double> a(COUNT), b(COUNT), c(COUNT);
    for (int64_t k = 0; k < COUNT; ++k) a[k] = b[k] = c[k] = 1;
    return 3 * sizeof(double) * COUNT / best_of_three([&] {
               return seconds_of([&] {
                   in_parallel(threads, [&](int thread) {
                       for (int64_t k = COUNT / W * thread / threads * W; k < COUNT / W * (thread + 1) / threads * W;
                            k += W)
                           micro::stream<double>(&a[k], micro::load(&b[k]) + 3.0 * micro::load(&c[k]));
                   });
               });
           });
}

// Returns the bytes per second of storing ones into fresh memory.
double first_touch(int threads) {
    constexpr int64_t COUNT = int64_t{1} << 25, W = micro::LANES<double>;
    return sizeof(double) * COUNT / best_of_three([&] {
               return seconds_of([&] {
                   Fresh<double> a(COUNT);
                   in_parallel(threads, [&](int thread) {
                       for (int64_t k = COUNT / W * thread / threads * W; k < COUNT / W * (thread + 1) / threads * W;
                            k += W)
                           micro::stream<double>(&a[k], micro::Vector<double>{} + 1.0);
                   });
               });
           });
}

template <class T>
double thin_flops(int threads) {
    return 2.0 * STRIP * TILE * 32 * 200 * threads /
           best_of_three([&] { return thin_seconds<T>(threads, blas_is_faster<T>()); });
}

template <class T>
double flops(int threads) {
    constexpr int64_t N = 1024;
    return 2.0 * N * N * N / best_of_three([&] { return gemm<T>(N, threads, true); });
}

} // namespace

std::vector<Rate> machine(int threads) {
    const auto both = [&](const char *name, const char *unit, double scale, const auto &rate) {
        return Rate{name, unit, rate(1) * scale, rate(threads) * scale};
    };
    return {both("dot, d = 16, f32", "G values/s", 1e-9, values_per_second<false, float>),
            both("dot, d = 16, f64", "G values/s", 1e-9, values_per_second<false, double>),
            both("dot + exp, d = 16, f32", "G values/s", 1e-9, values_per_second<true, float>),
            both("dot + exp, d = 16, f64", "G values/s", 1e-9, values_per_second<true, double>),
            both("GEMM n = 1024, f32", "GFLOP/s", 1e-9, flops<float>),
            both("GEMM n = 1024, f64", "GFLOP/s", 1e-9, flops<double>),
            both("64 x 256 x 32, f32", "GFLOP/s", 1e-9, thin_flops<float>),
            both("64 x 256 x 32, f64", "GFLOP/s", 1e-9, thin_flops<double>),
            both("triad a = b + s c", "GB/s", 1e-9, triad),
            both("first touch with stores", "GB/s", 1e-9, first_touch)};
}

std::string blas_name() { return std::string(openblas_get_config()) + ", core " + openblas_get_corename(); }

std::string vector_name() { return micro::BYTES == 64 ? "AVX-512" : micro::BYTES == 32 ? "AVX2" : "128-bit vectors"; }

} // namespace limit
