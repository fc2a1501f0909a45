#include "reduce.h"

#include "../lift/components.h"
#include "reducer_view.h"
#include "voronoi.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// The names under which reducers report an upper bound on the distance of a row from its landmark.
constexpr const char *radius_names[] = {"epsilon", "radius"};

void warn_of_landmarks(const Run &run, const Recipe &recipe, const Data &data, const Reduction &reduction) {
    if (data.has_landmarks() && !reduction.used_landmarks)
        run.log(2, format("landmarks are given, but reducer = %s does not use them", recipe.values().reducer).c_str());
}

bool represents_rows(const Reduction &reduction, const Prepared &prepared) {
    const CountedVector<double> sums = weights_of_rows(prepared, reduction);
    const int64_t n = reduction.assignment.size();
    for (size_t k = 0; k < sums.size(); ++k)
        if (!(std::fabs(sums[k] - reduction.weights[k]) <= 1e-9 * static_cast<double>(n))) return false;
    return n > 0;
}

// Fails if the reducer gave a row twice: its weight would count twice, and the kernel matrix of the
// centres would be singular.
void check_once(const Reduction &reduction, const Source &source, const Plugin &plugin) {
    std::vector<bool> given(reduction.index.empty() ? 0 : static_cast<size_t>(source.rows()));
    for (int64_t row : reduction.index) {
        if (given[static_cast<size_t>(row)])
            fail(MERCER_E_PLUGIN, "reducer %s gave row %" PRId64 " twice, must be once at most", plugin.name.c_str(),
                 source.number(row));
        given[static_cast<size_t>(row)] = true;
    }
}

void check_assignment(const Reduction &reduction, const Plugin &plugin) {
    for (int64_t i = 0; i < reduction.assignment.size(); ++i)
        if (reduction.assignment[i] < 0 || reduction.assignment[i] >= reduction.m)
            fail(MERCER_E_PLUGIN,
                 "reducer %s assigned row %" PRId64 " to centre %" PRId64 ", must be 0 to %" PRId64
                 " (for rows of weight 0 too)",
                 plugin.name.c_str(), i, reduction.assignment[i], reduction.m - 1);
}

// Keeps the first m centres. What refers to all of them is dropped: an assignment of rows, a
// factor, and bounds on the distance of a row from its centre.
void keep_first(int64_t m, Reduction &out) {
    if (m >= out.m) return;
    for (const char *name : radius_names) out.report.erase(name);
    const auto count = static_cast<size_t>(m);
    if (!out.index.empty()) out.index.resize(count);
    if (!out.weights.empty()) out.weights.resize(count);
    if (!out.points.empty()) {
        Buffer<unsigned char> first(out.points.size() / out.m * m);
        std::copy_n(out.points.data(), first.size(), first.data());
        out.points = std::move(first);
    }
    out.assignment = Buffer<int64_t>();
    out.factor = {};
    out.m = m;
    out.rank_reached = false;
}

} // namespace

int64_t most_centres(const Recipe &recipe, int64_t given) {
    const int64_t limit = recipe.values().components;
    return lift_of(recipe).nested && limit > 0 ? std::min(given, limit) : given;
}

int64_t Reduction::factor_bytes() const {
    return std::visit([](const auto &stored) { return stored ? stored->stored_bytes() : int64_t{0}; }, factor);
}

Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool stores_factor) {
    const int64_t n = prepared.source->rows();
    Reduction out;
    if (!recipe.reducer()) {
        warn_of_landmarks(run, recipe, data, out);
        static_cast<Landmarks &>(out) = all_rows(prepared);
        return out;
    }
    const Plugin &plugin = *recipe.reducer();
    const bool voronoi = static_cast<CentreWeights>(recipe.values().centre_weights) == CentreWeights::voronoi,
               kept = recipe.values().assignment != 0;
    if (plugin.reducer.flags & MERCER_NEEDS_VECTORS && prepared.source->kind() == Source::Kind::objects)
        fail(MERCER_E_UNSUPPORTED, "reducer %s needs vectors, but these data are objects", plugin.name.c_str());
    const ReducerSettings shown{likely_components(recipe.values(), n), stores_factor,
                                recipe.values().centred_gram != 0};
    auto run_reducer = [&](auto &&problem) {
        mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::reducer), &problem,
                         &out.report);
        PivotForecast pivots(problem.tiles(), stores_factor,
                             shown.centred); // for reducers that call pivot_cost while they run
        task.foreseen = &pivots;
        problem.serve(task);
        mercer_shape shape = problem.shape();
        if ((kept || lift_of(recipe).weighs) && plugin.reducer.flags & MERCER_GIVES_ASSIGNMENT)
            out.assignment = run.buffer<int64_t>(n);
        mercer_want want{sizeof want, out.assignment.empty() ? nullptr : out.assignment.data()};
        task.perform(plugin, "reduce", [&] {
            return plugin.reducer.reduce(&host_table(), &task, recipe.reducer_params().values(), &shape, &want);
        });
        out.kernel_evaluations += problem.kernel_evaluations();
        out.factor = problem.factor_of_given();
        const double order = static_cast<double>(out.m);
        if (out.has_factor()) out.flops = static_cast<double>(n) * order * order;
        if (out.m < 1) problem.give_first();
        keep_first(most_centres(recipe, out.m), out);
        if (out.m < 1) fail(MERCER_E_PLUGIN, "reducer %s returned no centre", plugin.name.c_str());
        check_once(out, *prepared.source, plugin);
        check_assignment(out, plugin);
        if (voronoi || (kept && out.assignment.empty())) assign_nearest(run, prepared, data, out);
        if (voronoi) out.weights = weights_of_rows(prepared, out);
    };
    if (prepared.f32)
        run_reducer(DataProblem<float>(run, prepared, data, shown, out));
    else
        run_reducer(DataProblem<double>(run, prepared, data, shown, out));
    warn_of_landmarks(run, recipe, data, out);
    for (const char *name : radius_names)
        if (const auto at = out.report.find(name); at != out.report.end()) out.radii.push_back(at->second);
    if (out.weights.empty()) // centres that are rows get the weights of these rows, and new points get 1
        for (int64_t k = 0; k < out.m; ++k)
            out.weights.push_back(
                out.index.empty() ? 1.0 : prepared.weights[static_cast<size_t>(out.index[static_cast<size_t>(k)])]);
    scale_weights(out.weights, n);
    // Centres represent the rows assigned to them if their weights are the sums of the weights of
    // these rows. This is tested only if the reducer made the assignment or the weights were
    // computed from it. If the user merely asked for an assignment, an agreement is accidental.
    const bool claimed = voronoi || plugin.reducer.flags & MERCER_GIVES_ASSIGNMENT;
    out.represents_rows = claimed && represents_rows(out, prepared);
    if (!out.represents_rows && !kept) out.assignment = Buffer<int64_t>();
    return out;
}

} // namespace mercer
