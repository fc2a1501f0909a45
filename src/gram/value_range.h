// Bounds the numbers from which kernel values are computed on given data, and so decides which type can represent them, from the
// extent of each column alone. Sums of squares are bounded by those of the columns' largest entries, at most d times what a row has.
#pragma once
#include "expression.h"
#include "source.h"

#include <cmath>

namespace mercer {

// Of all rows after the input map; empty: there are no columns.
struct Extent {
    CountedVector<double> lo, hi;
};
Extent extent_of(const Source &rows); // of dense rows that are mapped already

struct Magnitude {
    double entry = 0;                  // largest |x|
    double most = 0, least = INFINITY; // terms of the sums in the leaves' forms: largest, and smallest that is not 0
    double least_felt = INFINITY;      // smallest term that kernel values depend on; its underflow changes them
    double value = 0;                  // largest |k|
    bool fused = true; // all leaves are fused and count in `value` only: rows are scaled before they are rounded

    // E_DATA if tiles of this type cannot represent the numbers.
    void check(const Expression &kernel, bool f32) const {
        check_large(kernel, f32, 8);
        check_small(kernel, f32);
    }
    // Checks for overflow only; room: the factor by which intermediate sums of tiles may exceed the terms.
    void check_large(const Expression &kernel, bool f32, double room) const;
    // True if f32 represents them with all intermediate sums, so that results are accurate to rounding.
    bool serves_f32() const;
    // True if squares of kernel values do not overflow f64.
    bool squares_hold() const;

  private:
    void check_small(const Expression &kernel, bool f32) const;
};
Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32);

} // namespace mercer
