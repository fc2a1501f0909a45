// limit.h - the seconds that this machine needs for the work that no implementation of a row can
// avoid, measured with code that shares no line with src/.
//
// Each function does this work and nothing else, on memory of the row's shapes, with `threads`
// threads, and returns the seconds. Kernel values are computed by micro.h, products by
// single-threaded calls of OpenBLAS on each thread, or by micro.h where that is faster. Sizes are
// padded to whole vectors inside, and the seconds are scaled back to the requested size. README.md
// has the formulas.
#pragma once

#include "fresh.h"

#include <string>
#include <vector>

namespace limit {

// n rows of d columns, shifted and scaled so that the Gaussian kernel is
//     k(x_i, y_j) = 2^(u_i + v_j + x_i . y_j),   u_i = -|x_i|^2 / 2,   v_j = -|y_j|^2 / 2.
template <class T>
class Points {
  public:
    Points(const T *data, int64_t n, int64_t d, double sigma);
    Points(const T *data, int64_t n, const Points &like); // with the shift and scale of `like`

    // padded is n rounded up to whole vectors. The rows from n on are so far away that k = 0.
    int64_t n, d, padded;
    const T *row(int64_t i) const { return rows_.data() + i * d; }
    // The panel of the micro::COLS rows from j on, transposed; j is a multiple of micro::COLS.
    const T *panel(int64_t j) const { return panels_.data() + j * d; }
    const T *u() const { return u_.data(); }

  private:
    void fill(const T *data);
    double scale_;
    std::vector<double> shift_;
    Fresh<T> rows_, panels_, u_;
};

// A kernel matrix: dot product and exp of half of the n x n values, and all n x n values stored
// into fresh memory.
template <class T>
double kernel_matrix(const Points<T> &x, int threads);

// A pass y = K q. q and y are x.padded x p, row-major, and y is overwritten. The work is the dot
// product and exp of half of the values, and two thin products with each tile. If stride > 1, only
// every stride-th tile is computed, and the seconds are scaled to all tiles.
template <class T>
double pass(const Points<T> &x, const T *q, T *y, int64_t p, int threads, int64_t stride = 1);

// A factor by pivoted Cholesky: n x m kernel values are written to fresh memory in rounds of 128
// columns. The columns of a round are updated by a product with all columns before the round and
// half of its own, which is n m^2 flops in total.
template <class T>
double factor(const Points<T> &x, int64_t m, int threads);

// f = k(x, centres) A, where A is m x r, tile by tile.
template <class T>
double transform(const Points<T> &x, const Points<T> &centres, int64_t r, int threads);

// The transform of one row: a product with an m x d matrix, exp of m values and, if r > 0, a
// product with an r x m matrix. Returns the seconds of one call on one thread.
template <class T>
double one_row(int64_t m, int64_t d, int64_t r);

// C = A B of order n: by single-threaded calls of OpenBLAS on tiles of rows (tiled), or else by one
// call with `threads` threads.
template <class T>
double gemm(int64_t n, int threads, bool tiled);

// The dot products of `count` pairs of rows of d columns in f32, by SGEMM of 128 x 128 x d on one
// thread.
double pairs(double count, int64_t d);

// A speed of this machine, which the head of the output shows.
struct Rate {
    std::string name, unit;
    double one, all; // on one thread, and on all threads of the bench
};
std::vector<Rate> machine(int threads);
std::string blas_name();
std::string vector_name();

} // namespace limit
