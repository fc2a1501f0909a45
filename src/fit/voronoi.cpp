// Voronoi cells of the centres, in feature space:
//
//   alpha(i) = argmin_j |phi(x_i) - phi(c_j)|^2 = argmax_j  k(x_i, c_j) - k(c_j, c_j) / 2
//   w_j = sum of s_i over the rows i with alpha(i) = j, where s_i is the weight of row i
//
// If the kernel falls with the distance, this is also the nearest centre in the space of the rows.
// It is then found from squared distances, because all kernel values of a row that is far away may
// underflow to 0. Cost: n m squared distances or kernel values. Memory: 8 (n + m) bytes and the
// tiles, in addition to the assignment. Error: none for rows that are compared by distances
// (nearest.cpp); otherwise, if two centres are equally near up to rounding, either may be chosen.
// The weights are those of the reduced-set density estimate of Kingravi, Vela and Gray (2013).
#include "voronoi.h"

#include "../gram/tile.h"
#include "reducer_view.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

bool is_objects(const Source &source) { return source.kind() == Source::Kind::objects; }

bool by_distance(const Expression &kernel, const Source &source) {
    return is_objects(source) ? dynamic_cast<const ObjectSource &>(source).is_distance() : kernel.falls();
}

mercer_visit centres_of(const Reduction &reduction) {
    mercer_visit out{};
    out.struct_size = sizeof out;
    out.count = reduction.m;
    out.index = reduction.index.empty() ? nullptr : reduction.index.data();
    out.points = reduction.index.empty() ? reduction.points.data() : nullptr;
    return out;
}

// Assigns rows by tiles of squared distances or of kernel values.
template <class T>
void assign_tiles(Run &run, const Prepared &prepared, const DataProblem<T> &problem, Reduction &reduction) {
    const bool distances = by_distance(prepared.kernel, *prepared.source);
    const std::vector<LeafSpec> specs =
        distances ? std::vector<LeafSpec>{{MERCER_SQDIST, false, {}, {}}} : leaf_specs(prepared.kernel);
    Points<T> xs(prepared.source, prepared.map, specs), ys = problem.template others<T>(centres_of(reduction), specs);
    const Tiles<T> tiles = distances ? Tiles<T>(MERCER_SQDIST, xs, ys) : Tiles<T>(prepared.kernel, xs, ys);
    const int64_t n = xs.rows();
    Buffer<double> own = std::move(run.buffer<double>(reduction.m).zero());
    if (!distances) {
        const Tiles<T> among(prepared.kernel, ys, ys);
        self_values(run, among, own.data());
        reduction.kernel_evaluations += n * reduction.m;
    }
    // Squared distances to the best centre so far. In feature space k(x, x) is left out, because it
    // is the same for all centres of a row.
    Buffer<double> gap = run.buffer<double>(n);
    std::fill(gap.begin(), gap.end(), INFINITY);
    std::fill(reduction.assignment.begin(), reduction.assignment.end(), -1);
    sweep<T>(run, tiles, 0, n, [&](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i) {
            const int64_t row = tile.x.row0 + i;
            const T *values = tile.values + i * tile_rows;
            for (int64_t j = 0; j < tile.y.rows; ++j) {
                const int64_t centre = tile.y.row0 + j;
                const double value = static_cast<double>(values[j]), here = distances ? value : own[centre] - 2 * value;
                if (here < gap[row]) gap[row] = here, reduction.assignment[row] = centre;
            }
        }
        return true;
    });
    for (int64_t i = 0; i < n; ++i)
        if (reduction.assignment[i] < 0)
            fail(MERCER_E_DATA,
                 "row %" PRId64 ": its distances to all %" PRId64 " centres overflow f64 or are undefined",
                 prepared.source->number(i), reduction.m);
}

template <class T>
void assign_as(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction) {
    DataProblem<T> problem(run, prepared, data, {1}, reduction);
    if (is_objects(*prepared.source) || !prepared.kernel.falls())
        return assign_tiles(run, prepared, problem, reduction);
    Buffer<double> square = run.buffer<double>(reduction.assignment.size());
    std::fill(square.begin(), square.end(), INFINITY);
    problem.nearest(centres_of(reduction), square.data(), reduction.assignment.data());
}

} // namespace

void assign_nearest(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction) {
    if (reduction.assignment.empty()) reduction.assignment = run.buffer<int64_t>(prepared.source->rows());
    prepared.f32 ? assign_as<float>(run, prepared, data, reduction) : assign_as<double>(run, prepared, data, reduction);
}

CountedVector<double> weights_of_rows(const Prepared &prepared, const Reduction &reduction) {
    CountedVector<double> out(static_cast<size_t>(reduction.m), 0.0);
    for (int64_t i = 0; i < reduction.assignment.size(); ++i)
        out[static_cast<size_t>(reduction.assignment[i])] += prepared.weights[static_cast<size_t>(i)];
    return out;
}

AssignCost assign_cost(const Run &run, const Expression &kernel, const Source &source, bool f32, int64_t m) {
    const int64_t n = source.rows();
    return {sweep_bytes(run, kernel, source, f32 && !kernel.falls()) + 8 * (n + m),
            by_distance(kernel, source) ? 0 : n * m};
}

} // namespace mercer
