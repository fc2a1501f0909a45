// A kernel under test: finished for some parameters and number of columns, with rows of its domain, as the tile engine
// sees it (form, then map; or whole tiles of a block kernel).
//
// Tolerance. With unit roundoff u of the tile's type, a value k = f(v) of the form's value v carries
//   the error e of v:      dot          (d + 2) u |x| |y|
//                          cosine       (d + 8) u
//                          sqdist       min(2 (d + 8) u (|x|^2 + |y|^2), v sqrt((d + 8) u) / 16): see gram/tile.cpp
//                          l1 chi2 min  (d + 8) u sum |x_k| + |y_k|; hamming counts exactly
//                          and 8 u |v| for what map does to its argument (a rate rounded to f32, a product),
//   hence max |f(v +- e) - f(v)|, taken twice for the curvature of f, with f the plugin's own map in f64;
//   the rounding of map:   32 u s, s = max(|k|, |kappa|, sqrt|k(x, x) k(y, y)|): a handful of operations of 1 ulp each
//   on
//                          numbers of the size of s; and the smallest normal number, below which exp gives 0.
// Block kernels: (8 d + 64) u s, a handful of operations a column. A broken contract misses these by orders of
// magnitude.
#pragma once
#include "../gram/tile.h"
#include "check.h"

namespace mercer {

using Values = std::vector<double>;

// n points of d columns; entries are multiples of 1/64, exact in f32 and f64 alike.
struct Rows {
    int64_t n = 0, d = 0;
    Values x;
    double *row(int64_t i) { return x.data() + i * d; }
    const double *row(int64_t i) const { return x.data() + i * d; }
};

enum class Map { plain, log, derivative };
inline const char *map_name(Map which) {
    return which == Map::plain ? "map" : which == Map::log ? "log_map" : "derivative";
}

struct Subject {
    Expression kernel;
    Setting setting; // as it was given: kernel holds it finished
    Rows rows;       // 40: clumps of three widths, equal rows, nearly equal ones, a row of zeros
    const Leaf &leaf() const { return kernel.leaves[0]; }
    const mercer_kernel_ops &ops() const { return leaf().plugin->kernel; }
    const mercer_kernel_facts &facts() const { return leaf().facts; }
    bool nonnegative() const { return facts().flags & MERCER_NONNEGATIVE; }
    bool block() const { return leaf().form == MERCER_BLOCK; }
    // The plugin has this operation on form values, and they are not those of a block.
    bool has(Map which) const {
        return !block() && (which == Map::plain ? ops().map : which == Map::log ? ops().log_map : ops().derivative);
    }
};
// d = 0: for objects, no rows. bandwidth: what a rule "bandwidth" gives.
Subject make_subject(Suite &suite, const Setting &setting, int64_t d, double bandwidth);
inline double usual_bandwidth(int64_t d) { return 0.7 * __builtin_sqrt(static_cast<double>(d)); }

template <class T>
constexpr double roundoff = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
template <class T>
constexpr double smallest = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;
template <class T>
constexpr int32_t dtype_of = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;

// k(x, y), or the form alone, for all of at most 256 rows: row-major.
enum class What { kernel, form };
template <class T>
std::vector<T> values_of(Suite &suite, const Subject &subject, const Rows &x, const Rows &y, What what = What::kernel);
// k(x, x).
template <class T>
std::vector<T> self_of(Suite &suite, const Subject &subject, const Rows &x);
// The plugin's map, log_map or derivative; values as they are where it has none.
template <class T>
std::vector<T> mapped(const Subject &subject, std::vector<T> values, Map which = Map::plain);
// Calls the operations of form values, or block, on several threads at once (check_threads.cpp).
template <class T>
void at_once(Suite &suite, const Subject &subject);
// For each pair the tolerance above.
template <class T>
Values tolerances(Suite &suite, const Subject &subject, const Rows &x, const Rows &y);

} // namespace mercer
