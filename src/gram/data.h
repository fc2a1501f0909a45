// The rows of a fit: as the caller's data handle holds them, and as prepared for the kernel.
#pragma once
#include "points.h"

#include <algorithm>
#include <cmath>

namespace mercer {

struct Data {
    std::shared_ptr<const Source> source;
    mercer_view weights{}, landmarks{}, labels{}; // data is NULL if not given
    std::vector<std::string> columns;             // names; empty if unknown
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
};

// The rows of a fit together with the input map that is applied to them and the kernel with all its
// parameters.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read any number of times
    InputMap map;
    Expression kernel; // finish() has been called
    bool f32 = false;  // tiles are computed in f32
    // Rough products and start vectors may be computed in f32 (value_range.h).
    bool f32_serves = true;
    bool squares_hold = true;      // f64 holds squares of kernel values
    CountedVector<double> weights; // of the rows; their sum is n
    // What the user may not have intended. Who prepares the rows of a call tells it; who prepares a
    // sample of them, for a forecast, does not.
    std::vector<std::string> warnings;
    bool weighted() const {
        return std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
    }
};

// Writes all rows of source to out, which is f32, f64 or i64; E_SHAPE if out has another shape. No
// value is checked, except that those written as i64 must be whole (E_DATA).
void read_rows(Run &run, std::shared_ptr<const Source> source, const mercer_view &out);

// Scales the weights to sum n. E_DATA if their sum is not positive and finite.
void scale_weights(CountedVector<double> &weights, int64_t n);

// The rows of a kernel matrix: all n rows of source after the input map, or those listed in
// numbers. The reference and the pointers are borrowed.
struct KernelRows {
    std::shared_ptr<const Source> source;
    InputMap map;
    const Expression &kernel;
    const int64_t *numbers = nullptr;
    int64_t n = 0;
    // How often each row counts in means and random draws; nullptr: once. Rows of weight 0 cannot
    // become pivots.
    const double *weights = nullptr;
};
template <class T>
Points<T> points_of(const KernelRows &rows) {
    const std::vector<LeafSpec> specs = leaf_specs(rows.kernel);
    return rows.numbers ? Points<T>(rows.source, rows.map, specs, rows.numbers, rows.n)
                        : Points<T>(rows.source, rows.map, specs);
}

} // namespace mercer
