// How large the numbers behind a kernel's values are on given data, and so which type holds them: from the extent of each
// column alone. Sums of squares are bounded by those of the columns' largest entries, at most d times what a row has.
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
    double most = 0, least = INFINITY; // of what the forms of leaves are summed from: largest, and smallest but 0
    double least_felt = INFINITY;      // the smallest that kernel values depend on: what is lost of it, they lose
    double value = 0;                  // largest |k|
    bool fused = true; // all leaves are, and count in `value` alone: rows are scaled before they are rounded

    // E_DATA where tiles of the type do not hold the numbers.
    void check(const Expression &kernel, bool f32) const {
        check_large(kernel, f32, 8);
        check_small(kernel, f32);
    }
    // Of numbers that are too large alone; room: how many times as large what tiles sum may become on the way.
    void check_large(const Expression &kernel, bool f32, double room) const;
    // f32 holds them with all that is summed and lost on the way, so that what it makes is right to rounding.
    bool serves_f32() const;
    // f64 holds the squares of kernel values.
    bool squares_hold() const;

  private:
    void check_small(const Expression &kernel, bool f32) const;
};
Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32);

} // namespace mercer
