// Mean, spread and ends of each column of the rows that are fitted on.
#pragma once
#include "../core/memory.h"
#include "../gram/source.h"

#include <cmath>

namespace mercer {

struct ColumnStats {
    double count = 0;                   // sum of the weights
    CountedVector<double> mean, lo, hi; // of objects: empty
    CountedVector<double> square, unit; // sum of squares about the mean, counted in unit^2
    double deviation(size_t k) const { return std::sqrt(square[k] / count) * unit[k]; } // of column k
};

// weights: of the rows, sum n. NaN and Inf are E_DATA.
ColumnStats column_stats(Run &run, const Source &source, const CountedVector<double> &weights);
Bytes column_stats_bytes(const Run &run, const Source &source);

// Numbers up to `value`, divided by this, have squares that f64 holds, and sums of them: 1 in nearly all cases, else a power of 2
// near the value, which changes no bit.
inline double unit_for_squares(double value) {
    constexpr int most = 400; // exponents
    int exponent = 0;
    std::frexp(value, &exponent);
    return value == 0 || std::abs(exponent) <= most ? 1 : std::ldexp(1, exponent - 1);
}

} // namespace mercer
