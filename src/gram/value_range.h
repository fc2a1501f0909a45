// Bounds the numbers from which kernel values are computed on given data, and so decides which type
// can represent them. Only the extent of each column is used: a sum of squares is bounded by the
// sum of the squares of each column's largest entry, which is at most d times the largest sum of a
// row.
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
    double entry = 0; // largest |x|
    // Largest term, and smallest term that is not 0, of the sums in the leaves' forms.
    double most = 0, least = INFINITY;
    // Smallest term on which kernel values depend: its underflow would change them.
    double least_felt = INFINITY;
    double value = 0; // largest |k|
    // All leaves are fused, so only `value` counts: rows are scaled before they are rounded.
    bool fused = true;

    // Fails with E_DATA if tiles of this type cannot represent the numbers.
    void check(const Expression &kernel, bool f32) const {
        check_large(kernel, f32, 8);
        check_small(kernel, f32);
    }
    // Checks for overflow only. room: the factor by which intermediate sums of tiles may exceed the
    // terms.
    void check_large(const Expression &kernel, bool f32, double room) const;
    // True if f32 represents the numbers and all intermediate sums, so that results are accurate to
    // rounding.
    bool serves_f32() const;
    // True if squares of kernel values do not overflow f64.
    bool squares_hold() const;

  private:
    void check_small(const Expression &kernel, bool f32) const;
};
Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32);

} // namespace mercer
