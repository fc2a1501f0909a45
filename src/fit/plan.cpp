// What a fit will need, from the shape and the budget alone: whether the kernel matrix is stored, who solves, how many bytes.
// A fit refuses by it before the work begins, and a forecast is it in figures.
#include "fit.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Up to this order one dense factorisation is as good as iterating (about 0.1 s, FACTS A7), and it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;
constexpr double dense_flops_per_second = 10e9; // of dsyevr, whose half is memory-bound

// measure(points, tiles) for all rows of source, as a fit will see them.
template <class T, class Measure>
int64_t measured(const Expression &kernel, const Source &source, Measure &&measure) {
    std::vector<LeafSpec> specs = leaf_specs(kernel);
    for (LeafSpec &leaf : specs) // as they will be shifted
        if (leaf.form == MERCER_SQDIST && source.kind() == Source::Kind::dense)
            leaf.shift.resize(leaf.columns.empty() ? static_cast<size_t>(source.cols()) : leaf.columns.size());
    Points<T> points(std::shared_ptr<const Source>(std::shared_ptr<const Source>(), &source), {}, specs);
    Tiles<T> tiles(kernel, points, points);
    return measure(points, tiles);
}

template <class T>
int64_t pass_bytes(const Run &run, const Expression &kernel, const Source &source, int64_t m) {
    return measured<T>(kernel, source, [&](const Points<T> &, const Tiles<T> &tiles) {
        return GramOperator<T>::pass_bytes(run, m, tiles);
    });
}

template <class T>
int64_t tile_bytes(const Expression &kernel, const Source &source) {
    return measured<T>(kernel, source, [](const Points<T> &points, const Tiles<T> &tiles) {
        return tiles.scratch_bytes() + 2 * points.panel_bytes();
    });
}

} // namespace

int64_t centre_bytes(const Source &source, int64_t m, bool f32) {
    const int64_t size = f32 ? 4 : 8;
    if (source.kind() == Source::Kind::objects) return m * 8;
    if (const auto *sparse = dynamic_cast<const SparseSource *>(&source)) {
        double share = static_cast<double>(m) / static_cast<double>(std::max<int64_t>(sparse->rows(), 1));
        return static_cast<int64_t>(share * static_cast<double>(sparse->count())) * (size + 8) + 8 * (m + 1);
    }
    return checked_bytes("the centres", m, source.cols(), size);
}

mercer_cost forecast_centres(Run &run, const Recipe &recipe, const Data &data, const Source &source) {
    const int64_t n = source.rows();
    mercer_cost cost{sizeof cost, 0, 0, 0, n, 0};
    if (!recipe.reducer()) return cost;
    mercer_task task(run, Random(0, Stage::reducer));
    mercer_shape shape{sizeof shape,
                       n,
                       source.cols(),
                       recipe.values().components,
                       tile_is_f32(recipe, source) ? MERCER_F32 : MERCER_F64,
                       0,
                       0,
                       0,
                       data.landmarks.rows,
                       NAN,
                       NAN};
    Expression kernel = recipe.kernel();
    kernel.choose_forms();
    task.tile_bytes =
        shape.dtype == MERCER_F32 ? tile_bytes<float>(kernel, source) : tile_bytes<double>(kernel, source);
    cost.m = 0;
    task.check(
        recipe.reducer()->reducer.forecast(&host_table(), &task, recipe.reducer_params().values(), &shape, &cost),
        *recipe.reducer());
    cost.m = std::clamp<int64_t>(cost.m, 1, std::max(n, data.landmarks.rows));
    return cost;
}

Plan plan_lift(Run &run, const Recipe &recipe, const Expression &kernel, const Source &source, bool f32, int64_t m,
               int64_t budget_left) {
    const CoreValues &values = recipe.values();
    const GramStorage storage = static_cast<GramStorage>(values.gram_storage);
    Plan plan;
    plan.f32 = storage == GramStorage::f32 || (f32 && storage != GramStorage::f64);
    plan.tol = std::isnan(values.tol) ? (plan.f32 ? 1e-5 : 1e-9) : values.tol;
    plan.solver = recipe.solver();
    plan.solver_params = recipe.solver_params();
    if (!plan.solver) {
        plan.solver = recipe.registry().find(Kind::solver, m <= dense_up_to ? "dense" : "block-krylov");
        plan.solver_params = Params(plan.solver->params);
    }
    const int64_t r = std::min(values.components, m);
    mercer_task task(run, Random(0, Stage::solver));
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    const mercer_eigen_request request{sizeof request, r,      plan.tol, values.max_passes, nullptr, 0, nullptr, 0,
                                       nullptr,        nullptr};
    task.check(
        plan.solver->solver.forecast(&host_table(), &task, plan.solver_params.values(), m, &request, &plan.solver_cost),
        *plan.solver);

    const int64_t matrix = plan.f32 ? GramOperator<float>::stored_bytes(m) : GramOperator<double>::stored_bytes(m);
    const int64_t block =
        std::min<int64_t>(m, std::max<int64_t>(2 * r, 64)); // columns of an operator's blocks, at most
    const int64_t pass =
        plan.f32 ? pass_bytes<float>(run, kernel, source, m) : pass_bytes<double>(run, kernel, source, m);
    const int64_t fixed = plan.solver_cost.bytes + pass + 8 * m * (r + 3 * block);
    plan.stored =
        storage != GramStorage::stream && (storage != GramStorage::automatic || fixed + matrix <= budget_left);
    plan.bytes = fixed + (plan.stored ? matrix : 0);
    if (plan.bytes > budget_left)
        fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.1f MiB (%s), of the memory budget of %.1f MiB %.1f are left",
             m, static_cast<double>(plan.bytes) / 0x1p20,
             plan.stored ? "kernel matrix stored" : "kernel matrix streamed",
             static_cast<double>(run.budget()->limit()) / 0x1p20,
             static_cast<double>(std::max<int64_t>(budget_left, 0)) / 0x1p20);
    return plan;
}

mercer_forecast forecast(Run &run, const Recipe &recipe, const Data &data) {
    const Source &source = *data.source;
    if (source.rows() < 0) fail(MERCER_E_UNSUPPORTED, "the number of rows is not known before they are read");
    if (source.rows() < 1) fail(MERCER_E_DATA, "the data have no rows");
    const bool f32 = tile_is_f32(recipe, source);
    Expression kernel = recipe.kernel();
    kernel.choose_forms();
    const mercer_cost reducer = forecast_centres(run, recipe, data, source);
    const int64_t m = reducer.m, centres = centre_bytes(source, m, f32) + source.loaded_bytes();
    Plan plan = plan_lift(run, recipe, kernel, source, f32, m, run.budget()->limit() - centres);

    const bool dense = plan.solver->name == "dense";
    const double pairs = static_cast<double>(pass_evaluations(m)), order = static_cast<double>(m);
    const int64_t mean = recipe.values().lift_centred ? 1 : 0, applies = plan.solver_cost.passes + mean;
    mercer_forecast out{};
    out.struct_size = sizeof out;
    out.bytes = std::max(reducer.bytes, plan.bytes) + centres;
    out.passes = plan.stored ? 1 : applies;
    out.kernel_evaluations =
        static_cast<int64_t>(pairs) * (plan.stored || dense ? out.passes : 1) + reducer.kernel_evaluations;
    out.flops = pairs * static_cast<double>(2 * std::max<int64_t>(source.cols(), 1) * out.passes) +
                2 * order * order * static_cast<double>((recipe.values().components + 8) * applies) +
                plan.solver_cost.flops + reducer.flops;
    out.dense_seconds = dense ? 10.0 / 3 * order * order * order / dense_flops_per_second : 0;
    out.streams = !plan.stored;
    out.exact = dense;
    return out;
}

} // namespace mercer
