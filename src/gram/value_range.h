// Bounds the numbers from which kernel values are computed on given data, and so decides which type
// can represent them. Only the range of each of the d columns is used: the sum of squares of a row
// is bounded by the sum of the largest squares of all columns. This bound is at most d times as
// large as the largest sum of a row.
#pragma once
#include "expression.h"
#include "source.h"

#include <cmath>

namespace mercer {

// Ranges of the columns of all rows after the input map; empty: there are no columns.
struct Extent {
    CountedVector<double> lo, hi;
};
Extent extent_of(const Source &rows); // the rows are dense and already mapped

struct Magnitude {
    double entry = 0; // largest magnitude of an entry of the rows
    // The size of a leaf is a bound on the terms from which its form is summed, such as |x|^2. most
    // and least: the largest size, and the smallest that is not 0, of all leaves that are not
    // fused.
    double most = 0, least = INFINITY;
    // The smallest of these sizes whose underflow would change kernel values.
    double least_felt = INFINITY;
    double value = 0; // largest |k|
    // True if all leaves of plugins are computed by the fused loop (fused.h). serves_f32() then
    // looks at `value` alone: for this loop, rows are scaled before they are rounded to f32.
    bool fused = true;

    // Fails with E_DATA if tiles of this type cannot represent the numbers.
    void check(const Expression &kernel, bool f32) const {
        check_large(kernel, f32, 8);
        check_small(kernel, f32);
    }
    // Checks for overflow only. room: the factor by which intermediate sums of tiles may exceed
    // `entry`, `most` and `value`.
    void check_large(const Expression &kernel, bool f32, double room) const;
    // True if neither overflow nor underflow makes results in f32 less accurate than rounding does.
    bool serves_f32() const;
    // True if squares of kernel values do not overflow f64.
    bool squares_hold() const;

  private:
    void check_small(const Expression &kernel, bool f32) const;
};
Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32);

} // namespace mercer
