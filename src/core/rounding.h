// Bounds on what rounding in f32 and f64 does to the numbers of a symmetric problem.
#pragma once
#include <cstdint>

namespace mercer {

constexpr double unit_roundoff(bool f32) { return f32 ? 0x1p-24 : 0x1p-53; }

// The only threshold by which numerical rank is decided: a value of at most rounding_floor times a
// bound on the norm counts as rounding error. Each entry, stored in f32 or f64, errs by a few units
// of rounding; 16 covers kernel values, sums and stored columns together. Each of `order` further
// steps of computation in f64 adds one unit of rounding of f64.
constexpr double rounding_floor(bool f32, int64_t order) {
    return 16 * unit_roundoff(f32) + static_cast<double>(order) * unit_roundoff(false);
}

} // namespace mercer
