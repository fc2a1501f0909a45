// How rows expand in the pivots of a selection: K_II a_j = k_I(x_j). Rules that need
// MERCER_PIVOT_EXPANSION score rows by the length of a_j.
#pragma once
#include "../core/run.h"

#include <vector>

namespace mercer {

class Expansions {
  public:
    Expansions(Run &run, int64_t n, int64_t capacity);
    void reserve(int64_t capacity); // makes room for this number of pivots
    // Appends a pivot. row: its row of L, one number for each pivot before it; root: its own entry
    // of L; column: its column of L, n numbers.
    void append(const double *row, double root, const double *column);
    const double *lengths() const { return lengths_.data(); } // 1 + |a_j|_1, n numbers

  private:
    Run &run_;
    int64_t n_, count_ = 0, capacity_ = 0;
    Buffer<double> lengths_;
    Buffer<double> coefficients_; // the rows a_j, n x capacity_
    Buffer<double> inverse_;      // C = L_I^-T, capacity_ x capacity_, row-major, upper triangle
};

} // namespace mercer
