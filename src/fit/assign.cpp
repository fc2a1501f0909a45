// Voronoi cells of the centres, in feature space:
//
//   alpha(i) = argmin_j |phi(x_i) - phi(c_j)|^2 = argmax_j  k(x_i, c_j) - k(c_j, c_j) / 2,   w_j = sum of s_i, alpha(i) = j
//
// For a positive definite radial kernel, which falls with the distance, that is the nearest centre, and is found from squared
// distances, as values far away are all 0. Cost: n m values of the form or the kernel; memory 8 n and one number a row. Error:
// none for points (problem.h: nearest); else of two centres that are equally near to rounding either may be taken. (The density estimates of paper 000, section 4.)
#include "assign.h"

#include "../gram/tile.h"
#include "problem.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

bool is_objects(const Source &source) { return source.kind() == Source::Kind::objects; }

// A kernel that falls with the distance over all columns.
bool falls(const Expression &kernel) { return kernel.is_radial() && kernel.leaves[0].slope_falls; }

bool by_distance(const Expression &kernel, const Source &source) {
    return is_objects(source) ? dynamic_cast<const ObjectSource &>(source).is_distance() : falls(kernel);
}

template <class T>
Points<T> centres_of(const Prepared &prepared, const Reduction &reduction, const std::vector<LeafSpec> &specs) {
    if (!reduction.index.empty())
        return Points<T>(prepared.source, prepared.map, specs, reduction.index.data(), reduction.m);
    const int64_t d = prepared.source->cols();
    const mercer_view view{sizeof view, sizeof(T) == 4 ? MERCER_F32 : MERCER_F64,
                           0,           reduction.m,
                           d,           d,
                           1,           const_cast<unsigned char *>(reduction.points.data())};
    return Points<T>(make_view_source(view), {}, specs);
}

template <class T>
void assign_as(Run &run, const Prepared &prepared, Reduction &reduction) {
    const bool distances = by_distance(prepared.kernel, *prepared.source);
    const std::vector<LeafSpec> specs =
        distances ? std::vector<LeafSpec>{{MERCER_SQDIST, false, {}, {}}} : leaf_specs(prepared.kernel);
    Points<T> xs(prepared.source, prepared.map, specs), ys = centres_of<T>(prepared, reduction, specs);
    const Tiles<T> tiles = distances ? Tiles<T>(MERCER_SQDIST, xs, ys) : Tiles<T>(prepared.kernel, xs, ys);
    const int64_t n = xs.rows();
    Buffer<double> own = std::move(run.buffer<double>(reduction.m).zero());
    if (!distances) {
        const Tiles<T> among(prepared.kernel, ys, ys);
        self_values(run, among, own.data());
        reduction.kernel_evaluations += n * reduction.m;
    }
    Buffer<double> gap = run.buffer<double>(n); // to the best so far, but for what is the row's own
    sweep<T>(run, tiles, 0, n, [&](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i) {
            const int64_t row = tile.x.row0 + i;
            const T *values = tile.values + i * tile_rows;
            for (int64_t j = 0; j < tile.y.rows; ++j) {
                const int64_t centre = tile.y.row0 + j;
                const double value = static_cast<double>(values[j]), here = distances ? value : own[centre] - 2 * value;
                if (centre == 0 || here < gap[row]) gap[row] = here, reduction.assignment[row] = centre;
            }
        }
        return true;
    });
}

// Exactly, in double.
template <class T>
void assign_points(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction) {
    Buffer<double> square = run.buffer<double>(reduction.assignment.size());
    std::fill(square.begin(), square.end(), INFINITY);
    mercer_visit to{};
    to.struct_size = sizeof to;
    to.count = reduction.m;
    to.index = reduction.index.empty() ? nullptr : reduction.index.data();
    to.points = reduction.index.empty() ? reduction.points.data() : nullptr;
    DataProblem<T>(run, prepared, data, 1, reduction).nearest(to, square.data(), reduction.assignment.data());
}

} // namespace

void assign_nearest(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction) {
    const int64_t n = prepared.source->rows();
    if (reduction.assignment.empty()) reduction.assignment = run.buffer<int64_t>(n);
    if (!is_objects(*prepared.source) && falls(prepared.kernel))
        prepared.f32 ? assign_points<float>(run, prepared, data, reduction)
                     : assign_points<double>(run, prepared, data, reduction);
    else
        prepared.f32 ? assign_as<float>(run, prepared, reduction) : assign_as<double>(run, prepared, reduction);
    reduction.weights.assign(static_cast<size_t>(reduction.m), 0.0);
    for (int64_t i = 0; i < n; ++i)
        reduction.weights[static_cast<size_t>(reduction.assignment[i])] += prepared.weights[static_cast<size_t>(i)];
}

AssignCost assign_cost(const Run &run, const Expression &kernel, const Source &source, bool f32, int64_t m) {
    const int64_t n = source.rows();
    return {sweep_bytes(run, kernel, source, f32 && !falls(kernel)) + 8 * (n + m),
            by_distance(kernel, source) ? 0 : n * m};
}

} // namespace mercer
