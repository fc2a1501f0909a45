// The cost of arithmetic, for forecasts and progress bars. Work is counted in flops at the speed of
// a matrix product. A kernel value of d columns costs 2 d + 15 flops in f32, and twice that in f64.
// The 15 stands for the exponential. Measured: at d = 16 a value takes 0.45 ns where a matrix
// product runs at 100 Gflop/s. A factorisation or a sweep over tall blocks runs at a tenth of the
// speed of a matrix product, so its flops count tenfold.
#pragma once
#include "memory.h"

#include <algorithm>

namespace mercer {

// The flops of one kernel value of a given number of columns.
inline double value_cost(int64_t columns) { return 2 * static_cast<double>(std::max<int64_t>(columns, 1)) + 15; }
inline double value_cost(int64_t columns, bool f32) { return value_cost(columns) * (f32 ? 1 : 2); }

// The factor by which factorisations and sweeps over tall blocks are slower than a matrix product.
constexpr double slow_work = 10;
double factorisation_cost(double order); // in flops at the speed of a matrix product
// The time of a dense eigendecomposition. It is forecast because such a step cannot be cancelled.
double dense_seconds(double order);

// Returns the flops of a fit with m centres: 2 d for each of `evaluations` kernel values, where d
// is columns_of_rows, and 2 m^2 for each of the `columns` vectors that are multiplied by the kernel
// matrix.
double flops_of(int64_t columns_of_rows, double m, double evaluations, double columns);

// Flops per second of one thread's matrix products in f32, measured once per process. It serves
// forecasts only: no algorithm is chosen by it, because results must not depend on a measured
// speed.
double product_rate();
double now_seconds(); // reading of a monotonic clock

// A pass over an operator: its product with a block of vectors, or all its entries.
struct Pass {
    int64_t width; // number of vectors in the block; 0: all entries were computed instead
    bool f32;
};

// The forecast for one part of a fit.
struct Cost {
    int64_t bytes = 0, likely_bytes = 0;
    mercer_figure kernel_evaluations{}, passes{};
    // products is the number of products of the kernel matrix with blocks of vectors, columns the
    // number of vectors in all these blocks together.
    mercer_figure products{}, columns{};
    double dense_order = 0;  // order of the largest dense factorisation, which cannot be cancelled
    double certify_cost = 0; // flops of the certificates, for the progress bar only
    // Raises the memory, if necessary, to that of a further step. No two steps hold their memory at
    // the same time.
    void needs(Bytes at_least) {
        likely_bytes = std::max(likely_bytes, at_least.likely);
        bytes = std::max(bytes, at_least.most);
    }
    // Adds work that is always done, so that its likely amount equals its largest amount.
    void add(mercer_figure Cost::*figure, double amount) {
        (this->*figure).likely += amount, (this->*figure).most += amount;
    }
};

} // namespace mercer
