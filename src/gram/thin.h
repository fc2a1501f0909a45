// Products of a strip or tile of kernel values, or of its transpose, with a block of vectors: thin,
// row-major matrices that are read from the caches. They are compiled once per instruction set
// (thin.cpp), because OpenBLAS supports only the processors known at its release: on newer ones it
// falls back to 256-bit registers, and these products take half of the time of a pass.
#pragma once
#include "../core/vmath.h"

namespace mercer {

// Blocks of vectors that are multiplied with strips are row-major, and their rows are padded to
// whole registers of 64 bytes.
template <class T>
constexpr int64_t padded_columns(int64_t p) {
    constexpr int64_t step = 64 / sizeof(T);
    return (p + step - 1) / step * step;
}

template <class T>
struct ThinTable {
    // Computes out (m x p) = A q, or out += A q if `add`. q is k x p, and p is a result of
    // padded_columns. Entry (i, l) of A is a[i * row_step + l * step]; ldq and ldo are the steps
    // between rows of q and out. Sums run over l in ascending order with one fma per term, so the
    // bits of an entry depend only on its row of A, its column of q and the instruction set.
    void (*product)(int64_t m, int64_t p, int64_t k, const T *a, int64_t row_step, int64_t step, const T *q,
                    int64_t ldq, T *out, int64_t ldo, bool add);
};
template <class T>
const ThinTable<T> &thin_table();

} // namespace mercer
