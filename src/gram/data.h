// The rows of a fit: as the caller's handle holds them, and prepared for the kernel.
#pragma once
#include "points.h"

#include <algorithm>
#include <cmath>

namespace mercer {

// What the caller's data handle holds.
struct Data {
    std::shared_ptr<const Source> source;
    mercer_view weights{}, landmarks{}, labels{}; // data is NULL if there are none
    std::vector<std::string> columns;             // names; empty if unknown
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
};

// Rows, how they are mapped before the kernel sees them, and the kernel with all its parameters.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read any number of times
    InputMap map;
    Expression kernel;             // finished
    bool f32 = false;              // tile type
    bool f32_serves = true;        // rough products and start vectors may be computed in f32 (value_range.h)
    bool squares_hold = true;      // f64 holds squares of kernel values
    CountedVector<double> weights; // of the rows, sum n
    bool weighted() const {
        return std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
    }
};

// Scales the weights to sum n. E_DATA if their sum is not positive and finite.
void scale_weights(CountedVector<double> &weights, int64_t n);

// Rows whose kernel matrix is meant: all n rows of source after map, or those in numbers. What is no value here is borrowed.
struct KernelRows {
    std::shared_ptr<const Source> source;
    InputMap map;
    const Expression &kernel;
    const int64_t *numbers = nullptr;
    int64_t n = 0;
    // How often each row counts in means and draws; nullptr: once. Rows of weight 0 are no candidates for pivots.
    const double *weights = nullptr;
};
template <class T>
Points<T> points_of(const KernelRows &rows) {
    const std::vector<LeafSpec> specs = leaf_specs(rows.kernel);
    return rows.numbers ? Points<T>(rows.source, rows.map, specs, rows.numbers, rows.n)
                        : Points<T>(rows.source, rows.map, specs);
}

} // namespace mercer
