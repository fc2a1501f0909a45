// Mean, spread and range of each column, over the rows that are fitted on.
#pragma once
#include "../core/memory.h"
#include "../gram/data.h"

#include <cmath>

namespace mercer {

struct ColumnStats {
    double count = 0; // sum of the weights
    // Each array has one number for each column, and is empty for objects. square: the weighted sum
    // of squared deviations from the mean, divided by unit^2.
    CountedVector<double> mean, lo, hi;
    CountedVector<double> square, unit;
    // The standard deviation of column k.
    double deviation(size_t k) const { return std::sqrt(square[k] / count) * unit[k]; }
};

// weights: those of the rows, whose sum is n. Fails with E_DATA if an entry is NaN or Inf.
ColumnStats column_stats(Run &run, const Source &source, const RowWeights &weights);
Bytes column_stats_bytes(const Run &run, const Source &source);

// The unit in which f64 can hold the squares of numbers up to `value`, and sums of these squares.
// It is 1 in nearly all cases, otherwise a power of 2 near the value, so that division by it is
// exact.
inline double unit_for_squares(double value) {
    constexpr int most = 400; // exponents up to this size need no unit
    int exponent = 0;
    std::frexp(value, &exponent);
    return value == 0 || std::abs(exponent) <= most ? 1 : std::ldexp(1, exponent - 1);
}

} // namespace mercer
