// What rounding in f32 and f64 may do to the numbers of a symmetric problem.
#pragma once
#include <cstdint>

namespace mercer {

constexpr double unit_roundoff(bool f32) { return f32 ? 0x1p-24 : 0x1p-53; }

// The one floor of ranks: what is at most this, in units of a bound of the norm, is rounding. Entries of the tile's type err by
// some units of rounding each (16 covers what kernel values, sums and stored columns do together), and `order` further steps
// in f64 add theirs.
constexpr double rounding_floor(bool f32, int64_t order) {
    return 16 * unit_roundoff(f32) + static_cast<double>(order) * unit_roundoff(false);
}

} // namespace mercer
