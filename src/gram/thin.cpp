// Computes out = A q or out += A q with 2 m p k flops. A block of out (rows x vectors of columns)
// stays in registers, and each step reads one row of q and one entry from each row of A. Each entry
// of A is read once per group of columns and broadcast from the cache; q stays in the first-level
// cache. The block is chosen so that its sums hide the latency of an fma (8 or more sums do) and
// fit in the registers. The error of an entry is k u sum |a q|, as for any product.
//
// This file is compiled into one object per instruction set, so it must not use the standard
// library (see vmath.cpp).
#include "thin.h"

#include "../core/lanes.h"

namespace mercer {
namespace {

#ifdef __AVX512F__
constexpr int sums = 16, most_vectors = 4;
#else
constexpr int sums = 8, most_vectors = 2;
#endif

template <class T>
struct Operands {
    const T *a, *q;
    T *out;
    int64_t k, row_step, step, ldq, ldo;
    bool add;
};

template <int rows, int vectors, class T>
inline __attribute__((always_inline)) void block(const Operands<T> &x, int64_t row, int64_t column) {
    typename Lanes<T>::V sum[rows][vectors];
    const T *a = x.a + row * x.row_step, *q = x.q + column;
    T *out = x.out + row * x.ldo + column;
    MERCER_UNROLL
    for (int i = 0; i < rows; ++i) {
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) sum[i][v] = x.add ? load(out + i * x.ldo + v * width<T>) : splat(T(0));
    }
    for (int64_t l = 0; l < x.k; ++l) {
        typename Lanes<T>::V b[vectors];
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) b[v] = load(q + l * x.ldq + v * width<T>);
        MERCER_UNROLL
        for (int i = 0; i < rows; ++i) {
            const typename Lanes<T>::V entry = splat(a[i * x.row_step + l * x.step]);
            MERCER_UNROLL
            for (int v = 0; v < vectors; ++v) sum[i][v] = fma(entry, b[v], sum[i][v]);
        }
    }
    MERCER_UNROLL
    for (int i = 0; i < rows; ++i) {
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) store(out + i * x.ldo + v * width<T>, sum[i][v]);
    }
}

template <int vectors, class T>
void columns(const Operands<T> &x, int64_t m, int64_t column) {
    constexpr int rows = sums / vectors;
    int64_t row = 0;
    for (; row + rows <= m; row += rows) block<rows, vectors>(x, row, column);
    for (; rows > 4 && row + 4 <= m; row += 4) block<4, vectors>(x, row, column);
    for (; row + 2 <= m; row += 2) block<2, vectors>(x, row, column);
    for (; row < m; ++row) block<1, vectors>(x, row, column);
}

template <class T>
void product(int64_t m, int64_t p, int64_t k, const T *a, int64_t row_step, int64_t step, const T *q, int64_t ldq,
             T *out, int64_t ldo, bool add) {
    const Operands<T> x{
        .a = a, .q = q, .out = out, .k = k, .row_step = row_step, .step = step, .ldq = ldq, .ldo = ldo, .add = add};
    int64_t column = 0;
    for (; column + most_vectors * width<T> <= p; column += most_vectors * width<T>)
        columns<most_vectors>(x, m, column);
    for (; most_vectors > 2 && column + 2 * width<T> <= p; column += 2 * width<T>) columns<2>(x, m, column);
    for (; column < p; column += width<T>) columns<1>(x, m, column);
}

template <class T>
constexpr ThinTable<T> table = {product<T>};

} // namespace

MERCER_ISA_TABLE(ThinTable<float>, thin_f32, table<float>);
MERCER_ISA_TABLE(ThinTable<double>, thin_f64, table<double>);

} // namespace mercer
