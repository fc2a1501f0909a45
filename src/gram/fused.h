// Tiles of kernels whose map is the exponential of an affine function of the squared distance. One
// loop computes the dot product, the exponent and the power of 2 without leaving the registers. It
// is compiled once per instruction set (fused.cpp).
//
//     exp(-g |x - y|^2) = 2^(x'.y' + a_x + a_y),   x' = x sqrt(2 g log2 e),   a_x = -|x'|^2 / 2
//
// The numbers a_x are called the halves. Points come in packed panels of at most 256 points, stored
// as d x 256: coordinate k of point i is at packed[k * 256 + i]. Both sides of a tile use this
// layout. Each side is given by a pointer into a panel (and one into its halves), at a point whose
// number is a multiple of 8 (x) or of 64 (y). The memory between the last point and the end of the
// panel is read and must be initialised, by convention with the half fused_padding and coordinates
// 0. No alignment is required, but memory aligned to 64 bytes is faster.
//
// A tile is row-major with the constant stride 256. m and n count the real entries; the rows up to
// the next multiple of 8 and the columns up to the next multiple of 64 are set to 0, whatever the
// padding of the panels contains.
//
// Values are in [0, 1]: an exponent above 0 can only arise from rounding and is treated as 0, a
// result below the smallest normal number becomes 0, and NaN stays NaN. The bits of an entry depend
// only on its two points, on T and on the instruction set: not on m, n, its place in the tile or
// its neighbours, nor on whether a function or its _checked twin computed it. Values are symmetric:
// k(x, y) == k(y, x).
#pragma once
#include "../core/vmath.h"

namespace mercer {

constexpr int64_t fused_stride = 256;
constexpr double fused_padding = -1e30; // a half for which 2^half is 0
constexpr int fused_parts = 16;         // FusedTable::row gives each sum as this many partial sums

template <class T>
struct FusedTable {
    using Tile = void(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half,
                      T *values);
    using CheckedTile = T(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half,
                          T *values);
    // Computes the halves -|x'|^2 / 2 of all 256 points of a panel. Each half is increased slightly
    // to make up for rounding, so that the computed exponent of a point with itself is >= 0 and
    // `product` gives exactly 1 for equal rows.
    void (*halves)(int64_t d, const T *x, T *half);
    // Exponents have an error of at most 2 (d + 2) u |a_x + a_y|. product_checked returns the
    // largest value * -(a_x + a_y) of the m x n entries (at least 0; NaN is ignored). The
    // absolute error of each value is at most 2 ln2 (d + 2) u times this number, plus 2.5 u of the
    // value.
    Tile *product;
    CheckedTile *product_checked;
    // Computes the same entries as 2^(-|x' - y'|^2 / 2). The squared distance has a relative error
    // of at most (d + 2) u, and equal rows give exactly 1; the cost is 1.2 to 1.4 times that of
    // `product`. The halves are not used.
    Tile *difference;
    // Let value_i be the kernel value between one point x, whose coordinates are contiguous, and
    // point i < n of a panel, bit-identical to that of `difference`. For each j < r, collects the
    // products value_i w[j * 256 + i] in 16 partial sums, and adds partial sum l to
    // sums[j * 16 + l]. Columns of w (r x 256) beyond n are read and must be 0. Each partial sum is
    // computed in T and has at most 16 terms.
    void (*row)(int64_t n, int64_t d, const T *x, const T *y, int64_t r, const T *w, double *sums);
    // On entry, values holds x'.y' (m x n entries; the memory around them may hold anything). Each
    // entry is replaced by 2^(x'.y' + a_x + a_y). finish_checked returns what product_checked
    // returns.
    void (*finish)(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values);
    T (*finish_checked)(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values);
    // store writes out[i * stride + j] = values[i * 256 + j], and store_transposed writes
    // out[j * stride + i] = values[i * 256 + j]. Whole lines of 64 bytes bypass the caches. A fence
    // follows, so that these writes are visible to any thread that is synchronised with this one
    // later. out is aligned to T.
    void (*store)(int64_t m, int64_t n, const T *values, T *out, int64_t stride);
    void (*store_transposed)(int64_t m, int64_t n, const T *values, T *out, int64_t stride);
};
template <class T>
const FusedTable<T> &fused_table();

} // namespace mercer
