// The forms that the core computes between rows, compiled once per instruction set (forms.cpp).
#pragma once
#include "../core/vmath.h"

namespace mercer {

// Pairs whose distance by products is in doubt: of squared distance v and norms s = |x|^2 + |y|^2, those that have not both
// v > near s and either v > (far s)^2 or v > beyond.
template <class T>
struct Close {
    T near, far, beyond = T(__builtin_inf());
};

template <class T>
struct FormTable {
    // A tile of dot products becomes squared distances, in place: values[i * stride + j] = |x_i|^2 + |y_j|^2 - 2 values,
    // clamped at 0. Says whether a pair is close.
    bool (*sqdist)(int64_t m, int64_t n, const T *x_norms, const T *y_norms, Close<T> close, T *values, int64_t stride);
    // Marks the close pairs of one row by 1, others by 0; returns whether there is one.
    bool (*find)(int64_t n, T x_norm, const T *y_norms, Close<T> close, const T *values, unsigned char *found);
    // values[j] = |x - y_j|^2 by differences where found[j], y row-major (n x d): the same bits whatever else was found, and
    // exactly 0 for equal rows.
    void (*differences)(int64_t n, int64_t d, const T *x, const T *y, const unsigned char *found, T *values);
    // Pairwise forms; y is transposed (d x n) so that the inner loop runs along a row of the tile.
    void (*l1)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*chi2)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*min)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*hamming)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
};
template <class T>
const FormTable<T> &form_table();

} // namespace mercer
