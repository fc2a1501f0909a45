// A Subject is a kernel under test, with parameters that its operation finish has completed for a
// number of columns, and with rows of its domain. Its values come from the tile engine, as in a
// fit: the engine computes the values of the kernel's form, to which the kernel applies its map, or
// a block kernel computes whole tiles.
//
// Tolerance. Let u be the unit roundoff of the tile's type. A kernel value k = f(v), where v is the
// value of the form, has two errors.
//
// 1. The error e of v:
//     dot           (d + 8) u |x| |y|
//     cosine        (d + 8) u
//     sqdist        min(2 (d + 8) u (|x|^2 + |y|^2), v sqrt((d + 8) u) / 16): see gram/tile.cpp
//     l1 chi2 min   (d + 8) u sum |x_k| + |y_k|
//     hamming       0: it counts exactly
//   and, except for cosine, 8 u |v| for what map does to its argument (a rate rounded to f32, a
//   product). The error e changes k by at most max |f(v +- e) - f(v)|, where f is the plugin's own
//   map in f64. This bound is doubled to allow for the curvature of f.
// 2. The rounding of map: 32 u s, s = max(|k|, |kappa|, sqrt|k(x, x) k(y, y)|). It covers a handful
// of operations of 1 ulp each on numbers of size s. The smallest normal number is added, because
// exp gives 0 below it.
//
// The tolerance of block kernels is (8 d + 64) u s, for a handful of operations per column. A
// broken contract exceeds these tolerances by orders of magnitude.
#pragma once
#include "../core/structs.h"
#include "../gram/tile.h"
#include "check.h"

namespace mercer {

using Values = std::vector<double>;

// n points of d columns. Entries are multiples of 1/64, which are exact in f32 and f64 alike.
struct SubjectRows {
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
    Setting setting;  // parameters as given; `kernel` has them as Expression::finish completed them
    SubjectRows rows; // 40 rows: clumps of three widths, equal and nearly equal rows, and a row of zeros
    const Leaf &leaf() const { return kernel.leaves[0]; }
    const mercer_kernel_ops &ops() const { return leaf().plugin->kernel; }
    const mercer_kernel_facts &facts() const { return leaf().facts; }
    bool nonnegative() const { return facts().flags & MERCER_NONNEGATIVE; }
    bool block() const { return leaf().form == MERCER_BLOCK; }
    // Returns true if the plugin has this operation on form values; block kernels have none.
    bool has(Map which) const {
        return !block() && (which == Map::plain ? ops().map : which == Map::log ? ops().log_map : ops().derivative);
    }
};
// Makes a subject for rows of d columns or, if d = 0, for objects, which have no rows. Every
// bandwidth rule gives the value `bandwidth`.
Subject make_subject(Suite &suite, const Setting &setting, int64_t d, double bandwidth);
inline double usual_bandwidth(int64_t d) { return 0.7 * __builtin_sqrt(static_cast<double>(d)); }

template <class T>
constexpr double roundoff = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
template <class T>
constexpr double smallest = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;
template <class T>
constexpr int32_t dtype_of = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;

// Returns k(x, y), or the value of the form alone, for all pairs of rows, row-major. x and y have
// at most 256 rows each, which is one tile.
enum class What { kernel, form };
template <class T>
std::vector<T> values_of(Suite &suite, const Subject &subject, const SubjectRows &x, const SubjectRows &y,
                         What what = What::kernel);
// Returns k(x, x) for each row.
template <class T>
std::vector<T> self_of(Suite &suite, const Subject &subject, const SubjectRows &x);
// Applies the plugin's map, log_map or derivative to the values, which stay unchanged if the plugin
// does not have this operation.
template <class T>
std::vector<T> mapped(const Subject &subject, std::vector<T> values, Map which = Map::plain);
// Checks that the operations on form values, or block, give the same bits on several threads at
// once (check_threads.cpp).
template <class T>
void at_once(Suite &suite, const Subject &subject);
// Returns the tolerance that is derived at the head of this file, for each pair.
template <class T>
Values tolerances(Suite &suite, const Subject &subject, const SubjectRows &x, const SubjectRows &y);

} // namespace mercer
