// Products of a strip or tile of kernel values with a block of vectors, and with its transpose's: thin, row-major, from the
// caches. Compiled once per instruction set (thin.cpp), because OpenBLAS knows only the processors of its day: on a newer one
// it falls back to 256-bit registers, and these products are half of a pass.
#pragma once
#include "../core/vmath.h"

namespace mercer {

// Blocks of vectors that meet strips are row-major (the columns of a row together) and padded to whole registers of 64 bytes.
template <class T>
constexpr int64_t padded_columns(int64_t p) {
    constexpr int64_t step = 64 / sizeof(T);
    return (p + step - 1) / step * step;
}

template <class T>
struct ThinTable {
    // out (m x p) = A q, or += where add; q is k x p, p as padded_columns gives it. Entry (i, l) of A is a[i * row_step + l *
    // step], of q and out ldq and ldo are the steps between rows. Sums run over l in ascending order, one fma each: the bits
    // of an entry depend on its row of A, its column of q and the instruction set alone.
    void (*product)(int64_t m, int64_t p, int64_t k, const T *a, int64_t row_step, int64_t step, const T *q,
                    int64_t ldq, T *out, int64_t ldo, bool add);
};
template <class T>
const ThinTable<T> &thin_table();

} // namespace mercer
