// The cost of arithmetic, for forecasts and progress bars. Work is counted in flops at the speed of
// a matrix product. A kernel value of d columns costs 2 d + 15 in f32, and twice that in f64. The
// 15 stands for the exponential: at d = 16 a value takes 0.45 ns where a matrix product runs at 100
// Gflop/s. A factorisation or a sweep over tall blocks runs at a tenth of the speed
// of a matrix product.
#pragma once
#include "memory.h"

#include <algorithm>

namespace mercer {

// The flops of one kernel value of a given number of columns.
inline double value_cost(int64_t columns) { return 2 * static_cast<double>(std::max<int64_t>(columns, 1)) + 15; }
inline double value_cost(int64_t columns, bool f32) { return value_cost(columns) * (f32 ? 1 : 2); }

constexpr double slow_work = 10; // factor by which other dense work is slower than a matrix product
double factorisation_cost(double order);
double dense_seconds(double order); // time of a dense eigendecomposition, which cannot be cancelled

// The flops of a fit with m centres: those of its kernel values (evaluations) and those of products
// of the kernel matrix with vectors (columns).
double flops_of(int64_t columns_of_rows, double m, double evaluations, double columns);

// The rate is measured once per process. No algorithm is chosen by it.
double product_rate(); // flops per second of one thread's matrix products, in f32
double now_seconds();  // reading of a monotonic clock

// A pass over an operator.
struct Pass {
    int64_t width; // columns; 0: the whole matrix
    bool f32;
};

// The forecast needs of one part of a fit.
struct Cost {
    int64_t bytes = 0, likely_bytes = 0;
    mercer_figure kernel_evaluations{}, passes{};
    mercer_figure products{}, columns{}; // number of products with the kernel matrix, their columns
    double dense_order = 0;              // of the largest factorisation, which cannot be cancelled
    double certify_cost = 0;             // used for progress only
    // Memory that is needed at some time, but not in addition to that of other steps.
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
