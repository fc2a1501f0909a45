// What arithmetic takes, for forecasts and progress bars: work is counted in flops at the speed of a matrix product. A kernel
// value of d columns costs 2 d + 15 in f32 (15: the exponential, 0.45 ns against 100 Gflop/s, FACTS B3.12), and twice that in
// f64. A factorisation or a sweep over tall blocks runs at a tenth of the speed of a matrix product.
#pragma once
#include "memory.h"

#include <algorithm>

namespace mercer {

// The work of one kernel value.
inline double value_cost(int64_t columns) { return 2 * static_cast<double>(std::max<int64_t>(columns, 1)) + 15; }
inline double value_cost(int64_t columns, bool f32) { return value_cost(columns) * (f32 ? 1 : 2); }

constexpr double slow_work = 10; // how much slower than a matrix product other dense work runs
double factorisation_cost(double order);
double dense_seconds(double order); // of an eigendecomposition, which cannot be cancelled

// The flops of a fit with m centres: kernel values, and columns of products with the kernel matrix.
double flops_of(int64_t columns_of_rows, double m, double evaluations, double columns);

// Measured once in a process; no path is chosen by it.
double product_rate(); // flops a second of one thread's matrix products, in f32
double now_seconds();  // of a clock that only goes forwards

// What a part of a fit will need.
struct Cost {
    int64_t bytes = 0, likely_bytes = 0;
    mercer_figure kernel_evaluations{}, passes{};
    mercer_figure products{}, columns{}; // products with the kernel matrix; their columns in total
    double dense_order = 0;              // order of the largest factorisation, which cannot be cancelled
    double certify_cost = 0;             // used for progress only
    void needs(Bytes at_least) {         // needed at some time, not in addition to the rest
        likely_bytes = std::max(likely_bytes, at_least.likely);
        bytes = std::max(bytes, at_least.most);
    }
    // Work that is done whatever happens: its likely and its largest amount are equal.
    void add(mercer_figure Cost::*figure, double amount) {
        (this->*figure).likely += amount, (this->*figure).most += amount;
    }
};

} // namespace mercer
