// micro.h - the inner loop of every limit: ROWS x 2 vectors of dot products in registers, and 2^x
// of them.
//
// The code uses the vector types of the compiler, so the same source serves AVX-512, AVX2 and
// whatever -march=native finds elsewhere. 2^t = 2^k 2^f with a whole number k and |f| <= 1/2 (f64
// with AVX-512: k is a multiple of 1/16, its fraction is looked up in a table, and |f| <= 1/32).
// 2^f is a polynomial that interpolates at the Chebyshev nodes (relative error 1e-7 in f32, 1e-17
// in f64, below the rounding of the sum). The code shares nothing with src/, because a limit that
// used the library's own loops could not show that they are slow.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace micro {

#if defined(__AVX512F__)
constexpr int BYTES = 64, ROWS = 8;
#elif defined(__AVX2__)
constexpr int BYTES = 32, ROWS = 4;
#else
constexpr int BYTES = 16, ROWS = 4;
#endif

template <class T>
struct VectorOf {
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef T Type __attribute__((vector_size(BYTES)));
    typedef Integer Bits __attribute__((vector_size(BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
constexpr int LANES = BYTES / static_cast<int>(sizeof(T));
template <class T>
constexpr int COLS = 2 * LANES<T>;

template <class T>
inline Vector<T> load(const T *from) {
    Vector<T> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class T>
inline void store(T *to, Vector<T> v) {
    std::memcpy(to, &v, sizeof v);
}

// Stores v past the caches if the machine can; `to` is aligned to a vector.
template <class T>
inline void stream(T *to, Vector<T> v) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to), (__m512i)v);
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i *>(to), (__m256i)v);
#else
    store(to, v);
#endif
}

template <class T, size_t N>
inline Vector<T> horner(Vector<T> f, const T (&c)[N]) {
    Vector<T> p = f * c[N - 1] + c[N - 2];
#pragma GCC unroll 16
    for (int i = static_cast<int>(N) - 3; i >= 0; --i) p = p * f + c[i];
    return p;
}

constexpr float EXP2_F32[] = {1.0000000754548972f,  0.6931471880262288f,   0.2402210748530834f,
                              0.05550357114219078f, 0.009676031918322054f, 0.0013390863364671234f};
constexpr double EXP2_F64[] = {1.0,
                               0.6931471805599453,
                               0.24022650695910158,
                               0.055504108664821625,
                               0.009618129107587256,
                               0.001333355814640647,
                               0.00015403530463724353,
                               1.5252733841556773e-05,
                               1.3215432535912375e-06,
                               1.0178057087733941e-07,
                               7.074194297288521e-09,
                               4.4558179083360645e-10};
constexpr double EXP2_SIXTEENTH[] = {1.0,
                                     0.6931471805599468,
                                     0.24022650695910086,
                                     0.05550410865209357,
                                     0.009618129106525682,
                                     0.001333381881538924,
                                     0.0001540375624545771};
alignas(64) constexpr double SIXTEENTHS[] = {1.0,
                                             1.0442737824274138,
                                             1.0905077326652577,
                                             1.1387886347566916,
                                             1.189207115002721,
                                             1.241857812073484,
                                             1.2968395546510096,
                                             1.3542555469368927,
                                             1.4142135623730951,
                                             1.4768261459394993,
                                             1.5422108254079407,
                                             1.6104903319492543,
                                             1.681792830507429,
                                             1.7562521603732995,
                                             1.8340080864093424,
                                             1.9152065613971474};

// Adding 1.5 * 2^(digits of the mantissa) rounds a number to an integer, which is then in the low
// bits of the sum; subtracting the constant gives the rounded number.
template <class T>
constexpr T ROUND = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

template <class T>
inline Vector<T> exp2(Vector<T> t) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const Vector<T> k = (t + ROUND<T>)-ROUND<T>;
        return (Vector<T>)_mm512_maskz_scalef_ps(0xffff, (__m512)horner<T>(t - k, EXP2_F32), (__m512)k);
    } else {
        const Vector<T> shifted = t + 0x1.8p48, k = shifted - 0x1.8p48; // k is t rounded to sixteenths
        const __m512d table =
            _mm512_permutex2var_pd(_mm512_load_pd(SIXTEENTHS), (__m512i)shifted, _mm512_load_pd(SIXTEENTHS + 8));
        const Vector<T> p = horner<T>(t - k, EXP2_SIXTEENTH) * (Vector<T>)table;
        // scalef multiplies by 2^floor(k); the table has contributed the rest of 2^k.
        return (Vector<T>)_mm512_maskz_scalef_pd(0xff, (__m512d)p, (__m512d)k);
    }
#else
    using Bits = typename VectorOf<T>::Bits;
    constexpr T least = sizeof(T) == 4 ? T(-126) : T(-1022);
    const Vector<T> bound = Vector<T>{} + least, clamped = t < bound ? bound : t;
    const Vector<T> shifted = clamped + ROUND<T>, f = clamped - (shifted - ROUND<T>);
    Vector<T> p;
    if constexpr (sizeof(T) == 4)
        p = horner<T>(f, EXP2_F32);
    else
        p = horner<T>(f, EXP2_F64);
    return (Vector<T>)((Bits)p + ((Bits)shifted << (sizeof(T) == 4 ? 23 : 52)));
#endif
}

// Computes ROWS x COLS values t = u_i + v_j + x_i . y_j or, if Exp is set, 2^t, and passes them
// from the registers to keep(row, column, vector). x consists of rows of d entries, one after
// another, y of d rows of COLS entries (a panel).
template <bool Exp, class T, class Keep>
inline void block(const T *x, const T *u, const T *y, const T *v, int64_t d, Keep &&keep) {
    constexpr int W = LANES<T>;
    Vector<T> sum[ROWS][2];
    const Vector<T> left = load(v), right = load(v + W);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; ++i) sum[i][0] = left + u[i], sum[i][1] = right + u[i];
    for (int64_t k = 0; k < d; ++k) {
        const Vector<T> y0 = load(y + k * COLS<T>), y1 = load(y + k * COLS<T> + W);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; ++i) {
            sum[i][0] += y0 * x[i * d + k];
            sum[i][1] += y1 * x[i * d + k];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; ++i) {
        keep(i, 0, Exp ? exp2<T>(sum[i][0]) : sum[i][0]);
        keep(i, W, Exp ? exp2<T>(sum[i][1]) : sum[i][1]);
    }
}

// Computes c += a b. c has R rows of V vectors, ldc entries apart, and b has k rows, ldb entries
// apart; entry (i, l) of a is a[i * row_step + l * step].
template <int R, int V, class T>
inline void add_block(int64_t k, const T *a, int64_t row_step, int64_t step, const T *b, int64_t ldb, T *c,
                      int64_t ldc) {
    Vector<T> sum[R][V] = {};
    for (int64_t l = 0; l < k; ++l)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            const Vector<T> right = load(b + l * ldb + v * LANES<T>);
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) sum[i][v] += right * a[i * row_step + l * step];
        }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            T *to = c + i * ldc + v * LANES<T>;
            store(to, load(to) + sum[i][v]);
        }
}

template <int R, int V, class T>
inline void add_columns(int64_t m, int64_t k, const T *a, int64_t row_step, int64_t step, const T *b, int64_t ldb, T *c,
                        int64_t ldc) {
    const int64_t whole = m / R * R;
    for (int64_t i = 0; i < whole; i += R)
        add_block<R, V>(k, a + i * row_step, row_step, step, b, ldb, c + i * ldc, ldc);
    for (int64_t i = whole; i < m; ++i) add_block<1, V>(k, a + i * row_step, row_step, step, b, ldb, c + i * ldc, ldc);
}

// Computes c += a b in the same way for c of m x n, where n is a multiple of a vector's length. The
// registers hold at most 2 ROWS vectors of sums at a time.
template <class T>
inline void multiply_add(int64_t m, int64_t n, int64_t k, const T *a, int64_t row_step, int64_t step, const T *b,
                         int64_t ldb, T *c, int64_t ldc) {
    constexpr int64_t W = LANES<T>;
    int64_t j = 0;
    for (; n - j >= 2 * W; j += 2 * W) add_columns<ROWS, 2>(m, k, a, row_step, step, b + j, ldb, c + j, ldc);
    for (; n - j >= W; j += W) add_columns<2 * ROWS, 1>(m, k, a, row_step, step, b + j, ldb, c + j, ldc);
}

} // namespace micro
