// Tiles of kernels whose map is the exponential of an affine function of the squared distance, in one piece: dot
// product, exponent and 2^ of it without leaving the registers. Compiled once per instruction set (fused.cpp).
//
//     exp(-g |x - y|^2) = 2^(x'.y' + a_x + a_y),   x' = x sqrt(2 g log2 e),   a_x = -|x'|^2 / 2
//
// Points come in packed panels of at most 256, d x 256: coordinate k of point i at packed[k * 256 + i]. One layout
// serves both sides. A side of a tile is a pointer into a panel, at a point whose number is a multiple of 8 (x) or of
// 64 (y); of the halves a_i likewise. What lies between the last point and the end of the panel is read and must be
// initialised; its half is fused_padding by convention, its coordinates 0. Memory aligned to 64 bytes is faster, none
// is required.
//
// A tile is row-major with the constant stride 256. m and n are the real entries; the rows up to the next multiple of 8
// and the columns up to the next multiple of 64 are written too: with 0, whatever the padding of the panels is.
//
// Values are in [0, 1]: exponents above 0 are rounding and count as 0, results below the smallest normal number are 0;
// NaN stays NaN. The bits of an entry depend on its two points, T and the instruction set alone: not on m, n, its place
// or its neighbours, nor on which of a function and its _checked twin computed it; and k(x, y) == k(y, x).
#pragma once
#include "../core/vmath.h"

namespace mercer {

constexpr int64_t fused_stride = 256;
constexpr double fused_padding = -1e30; // a half whose 2^ is 0
constexpr int fused_parts = 16;         // of each sum of `row`

template <class T>
struct FusedTable {
    using Tile = void(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half,
                      T *values);
    using CheckedTile = T(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half,
                          T *values);
    // The halves of all 256 points of a panel: -|x'|^2 / 2, up by the rounding of a point's product with itself, whose
    // exponent is then >= 0: product gives exactly 1 for equal rows.
    void (*halves)(int64_t d, const T *x, T *half);
    // Exponents are right to 2 (d + 2) u |a_x + a_y|. _checked returns the largest value * -(a_x + a_y) of the m x n
    // entries (at least 0; NaN does not count): 2 ln2 (d + 2) u times that bounds the absolute errors, but for 2.5 u of
    // the value.
    Tile *product;
    CheckedTile *product_checked;
    // The same entries as 2^(-|x' - y'|^2 / 2): the distance right to (d + 2) u of itself, exactly 1 for equal rows; at
    // 1.2 to 1.4 times the price. The halves are not used.
    Tile *difference;
    // One point, its coordinates together, against the first n of a panel: sums[j * 16 + l] += the l-th part of the sum of
    // value_i w[j * 256 + i], j < r, the values being those of `difference`, to the bit. Columns of w (r x 256) beyond n are
    // read and must be 0. Partial sums are in T, of at most 16 values a part.
    void (*row)(int64_t n, int64_t d, const T *x, const T *y, int64_t r, const T *w, double *sums);
    // values holds x'.y' (m x n, anything around it) and becomes 2^(values + a_x + a_y).
    void (*finish)(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values);
    T (*finish_checked)(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values);
    // out[i * stride + j] = values[i * 256 + j], or out[j * stride + i], past the caches where whole 64-byte lines are
    // written, which a fence ends: visible to whoever is released later. out is aligned to T.
    void (*store)(int64_t m, int64_t n, const T *values, T *out, int64_t stride);
    void (*store_transposed)(int64_t m, int64_t n, const T *values, T *out, int64_t stride);
};
template <class T>
const FusedTable<T> &fused_table();

} // namespace mercer
