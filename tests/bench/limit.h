// limit.h - what the machine can do with the work of a row, in seconds, by code that shares no line with src/.
//
// Each function does that work and nothing else, on memory of the row's shapes, with `threads` threads: kernel values
// by micro.h, products by OpenBLAS, one single-threaded call per thread at a time. Sizes are padded to whole vectors
// inside; the seconds are scaled back to the size that was asked for. See README.md for the formulas.
#pragma once

#include "fresh.h"

#include <string>
#include <vector>

namespace limit {

// n rows of d, shifted and scaled so that the Gaussian is k(x_i, y_j) = 2^(u_i + v_j + x_i . y_j), u = -|x|^2 / 2.
template <class T>
class Points {
  public:
    Points(const T *data, int64_t n, int64_t d, double sigma);
    Points(const T *data, int64_t n, const Points &like); // the shift and scale of like

    int64_t n, d, padded; // rows from n to padded are infinitely far away: k = 0
    const T *row(int64_t i) const { return rows_.data() + i * d; }
    const T *panel(int64_t j) const { return panels_.data() + j * d; } // j: a multiple of micro::COLS
    const T *u() const { return u_.data(); }

  private:
    void fill(const T *data);
    double scale_;
    std::vector<double> shift_;
    Fresh<T> rows_, panels_, u_;
};

// dot + exp of half of the n x n matrix, all of it stored into fresh memory.
template <class T>
double kernel_matrix(const Points<T> &x, int threads);

// y = K q, both x.padded x p by rows: dot + exp of half, two thin products with each tile. Only each stride-th tile is
// computed where stride > 1, the seconds are those of all. y is zeroed first.
template <class T>
double pass(const Points<T> &x, const T *q, T *y, int64_t p, int threads, int64_t stride = 1);

// n x m kernel values into a fresh factor, in rounds of 128 columns, each times all columns before it and half of its own:
// n m^2 flops.
template <class T>
double factor(const Points<T> &x, int64_t m, int threads);

// f = k(x, centres) A of m x r, tile by tile.
template <class T>
double transform(const Points<T> &x, const Points<T> &centres, int64_t r, int threads);

// One row: a product with m x d, exp of m values and, if r > 0, a product with r x m; one thread, a call.
template <class T>
double one_row(int64_t m, int64_t d, int64_t r);

// C = A B of n x n: by single-threaded calls on tiles of rows, or by one call with that many threads.
template <class T>
double gemm(int64_t n, int threads, bool tiled);

// Products of x and y, so many pairs of rows of d, in f32: SGEMM of 128 x 128 x d, one thread.
double pairs(double count, int64_t d);

// What the machine does, for the head of the output.
struct Rate {
    std::string name, unit;
    double one, all; // on one core, on all
};
std::vector<Rate> machine(int threads);
std::string blas_name();
std::string vector_name();

} // namespace limit
