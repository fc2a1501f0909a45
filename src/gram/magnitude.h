// How large the numbers behind a kernel's values are on given data, and so which type holds them: from the extent of each
// column alone. Sums of squares are bounded by those of the columns' largest entries, at most d times what a row has.
#pragma once
#include "expression.h"

#include <cmath>

namespace mercer {

// Of all rows after the input map; empty: there are no columns.
struct Extent {
    CountedVector<double> lo, hi;
};

struct Magnitude {
    double entry = 0;                  // largest |x|
    double most = 0, least = INFINITY; // of what the forms of leaves are summed from: largest, and smallest but 0
    double least_bare = INFINITY;      // the smallest of leaves that grow with their form: what it loses, k loses
    double value = 0;                  // largest |k|
    bool fused = true; // all leaves are, and count in `value` alone: rows are scaled before they are rounded

    // E_DATA where tiles of the type do not hold the numbers.
    void check(const Expression &kernel, bool f32) const;
    // f32 holds them with all that is summed and lost on the way, so that what it makes is right to rounding.
    bool serves_f32() const;
    // f64 holds the squares of kernel values.
    bool squares_hold() const;
};
Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32);

} // namespace mercer
