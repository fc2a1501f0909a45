// Forms: functions of two rows that the core computes itself. They are compiled once per
// instruction set (forms.cpp).
#pragma once
#include "../core/vmath.h"

namespace mercer {

// Decides which squared distances, computed from dot products, are too inaccurate. With the squared
// distance v and the norms s = |x|^2 + |y|^2, a pair is close unless v > near s and at least one of
// v > (far s)^2 and v > beyond holds.
template <class T>
struct Close {
    T near, far, beyond = T(__builtin_inf());
};

template <class T>
struct FormTable {
    // Turns a tile of dot products into squared distances, in place: values[i * stride + j] =
    // |x_i|^2 + |y_j|^2 - 2 values, clamped at 0. Returns whether any pair is close.
    bool (*sqdist)(int64_t m, int64_t n, const T *x_norms, const T *y_norms, Close<T> close, T *values, int64_t stride);
    // Sets found[j] to 1 for the close pairs of one row and to 0 for the others; returns whether
    // there is any.
    bool (*find)(int64_t n, T x_norm, const T *y_norms, Close<T> close, const T *values, unsigned char *found);
    // Sets values[j] = |x - y_j|^2, computed by differences, where found[j] is set; y is row-major
    // (n x d). The bits of a value do not depend on which other pairs are found, and equal rows
    // give exactly 0.
    void (*differences)(int64_t n, int64_t d, const T *x, const T *y, const unsigned char *found, T *values);
    // Pairwise forms. y is transposed (d x n), so that the inner loop runs along a row of the tile.
    void (*l1)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*chi2)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*min)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
    void (*hamming)(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride);
};
template <class T>
const FormTable<T> &form_table();

} // namespace mercer
