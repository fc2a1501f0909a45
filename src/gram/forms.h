// Forms: functions of two rows that the core computes itself. They are compiled once per
// instruction set (forms.cpp).
#pragma once
#include "../core/vmath.h"

namespace mercer {

// The thresholds that decide which squared distances, computed from dot products, may be too
// inaccurate; such pairs are called close. With the squared distance v and s = |x|^2 + |y|^2, a
// pair is close unless v > near s and at least one of v > (far s)^2 and v > beyond holds.
template <class T>
struct Close {
    T near, far, beyond = T(__builtin_inf());
};

template <class T>
struct FormTable {
    // Replaces a tile of dot products p_ij = values[i * stride + j] by the squared distances
    // |x_i|^2 + |y_j|^2 - 2 p_ij, or by 0 where these are negative. Returns whether any pair is
    // close.
    bool (*sqdist)(int64_t m, int64_t n, const T *x_norms, const T *y_norms, Close<T> close, T *values, int64_t stride);
    // For one row of squared distances, sets found[j] to 1 for the close pairs and to 0 for the
    // others; returns whether there is a close pair.
    bool (*find)(int64_t n, T x_norm, const T *y_norms, Close<T> close, const T *values, unsigned char *found);
    // Sets values[j] = |x - y_j|^2, summed from squared differences, for each j whose found[j] is
    // set; y is row-major (n x d). The bits of a value do not depend on the other entries of found,
    // and equal rows give exactly 0.
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
