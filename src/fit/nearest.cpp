// Finds the nearest of some points for each row, exactly. A squared distance v from a tile has a
// relative error of at most e, but its error is unknown if v is below `tiny`. If a point may,
// within this error, be nearer than the nearest one so far, its squared distance is computed again
// as a sum of squares, and this sum decides.
//
// The value of e: with s = |x|^2 + |y|^2 and w = sqrt(d + 8) u, tiles recompute pairs with
// v < 16 sqrt(w) s by differences, which have a relative error of (d + 2) u. All other v err by at
// most 2 (d + 4) u s (gram/tile.cpp), which is at most (d + 4) u / (8 sqrt(w)) of v. e is more than
// twice the sum of both relative errors.
// Cost: all squared distances in tiles, and a sum of squares whenever a nearer point is found:
// about log m times per row if the m points are in random order.
#include "reducer_view.h"

#include <cinttypes>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

// Returns e, the bound of the relative error that is explained above.
template <class U>
double share_of_error(int64_t d) {
    const double u = static_cast<double>(std::numeric_limits<U>::epsilon()) / 2, terms = static_cast<double>(d + 8) * u;
    return 2 * terms * (1 + 1 / (8 * std::sqrt(std::sqrt(terms * u))));
}

template <class U>
double exact_square(int64_t d, const U *x, const U *y) {
    double sum = 0;
    for (int64_t k = 0; k < d; ++k) {
        const double difference = static_cast<double>(x[k]) - static_cast<double>(y[k]);
        sum += difference * difference;
    }
    return sum;
}

// Returns a bound: a point whose tile value is at least this bound cannot be nearer than `square`,
// the squared distance of the nearest point so far.
template <class U>
U out_of_reach(double square, double error) {
    constexpr double tiny = sizeof(U) == 4 ? 1e-30 : 1e-290;
    const double bound = std::max(square * (1 + error), tiny);
    return bound < static_cast<double>(std::numeric_limits<U>::max()) / 2 ? static_cast<U>(bound)
                                                                          : std::numeric_limits<U>::infinity();
}

} // namespace

template <class T>
template <class U>
void DataProblem<T>::nearest_as(const mercer_visit &to, double *square, int64_t *number) {
    std::vector<LeafSpec> specs = {{MERCER_SQDIST, false, {}, {}}};
    for (const Leaf &leaf : prepared_.kernel.leaves)
        if (leaf.columns.empty() && !leaf.shift.empty()) specs[0].shift = leaf.shift;
    Points<U> xs = visited<U>(to, specs), ys = others<U>(to, specs);
    xs.densify(), ys.densify();
    const int64_t d = points_.cols();
    const double error = share_of_error<U>(d);
    const auto [row0, rows] = range_of(to);
    sweep<U>(run_, Tiles<U>(MERCER_SQDIST, xs, ys), row0, rows, [&, error](const Tile<U> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i) {
            const U *values = tile.values + i * tile_rows;
            double &least = square[tile.x.row0 + i];
            U beyond = out_of_reach<U>(least, error);
            for (int64_t j = 0; j < tile.y.rows; ++j) {
                if (values[j] >= beyond) continue;
                const double exact = exact_square(d, tile.x.mapped.data() + i * d, tile.y.mapped.data() + j * d);
                if (!(exact < least)) continue;
                least = exact;
                number[tile.x.row0 + i] = tile.y.row0 + j;
                beyond = out_of_reach<U>(least, error);
            }
        }
        return true;
    });
}

// Computes in f32 only if the rows are f32 and the input map is the identity, because rounding
// other rows to f32 would move them. Fails if the squared distances of a row to all points
// overflow, because its entry of `number` would remain unset.
template <class T>
void DataProblem<T>::nearest(const mercer_visit &to, double *square, int64_t *number) {
    if (points_.objects()) fail(MERCER_E_UNSUPPORTED, "nearest: objects have no coordinates");
    const bool f32 = prepared_.source->dtype() == MERCER_F32 && prepared_.map.identity();
    f32 ? nearest_as<float>(to, square, number) : nearest_as<double>(to, square, number);
    const auto [row0, rows] = range_of(to);
    const int64_t m = to.points || to.index ? to.count : n();
    for (int64_t i = row0; m > 0 && i < row0 + rows; ++i)
        if (!(square[i] < INFINITY))
            fail(MERCER_E_DATA,
                 "row %" PRId64 ": its squared distances to all %" PRId64 " points overflow f64: rescale the data",
                 prepared_.source->number(to.list ? to.list[i] : i), m);
}

template void DataProblem<float>::nearest(const mercer_visit &, double *, int64_t *);
template void DataProblem<double>::nearest(const mercer_visit &, double *, int64_t *);

} // namespace mercer
