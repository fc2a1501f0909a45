// The forms that the core computes between rows, compiled once per instruction set (forms.cpp).
#pragma once
#include "../core/vmath.h"

namespace mercer {

template <class T>
struct FormTable {
    // A tile of dot products becomes squared distances, in place: values[i * stride + j] = |x_i|^2 + |y_j|^2 - 2 values.
    // Clamped at 0; where that is below `doubt` times the norms' sum, recomputed from the rows x and y (d columns,
    // row-major): exactly 0 for equal rows. x NULL: never recomputed.
    void (*sqdist)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, const T *x_norms, const T *y_norms, T doubt,
                   T *values, int64_t stride);
    // Pairwise forms; y is transposed (d x n) so that the inner loop runs along a row of the tile.
    void (*l1)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*chi2)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*min)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*hamming)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
};
template <class T>
const FormTable<T> &form_table();

} // namespace mercer
