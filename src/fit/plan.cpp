// What a fit will need, from the shape and the budget alone: whether the kernel matrix is stored, who solves, how many bytes.
// A fit refuses by it before the work begins, and a forecast is it in figures.
#include "components.h"
#include "start.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Up to this order one dense factorisation is as good as iterating (about 0.1 s, FACTS A7), and it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;
constexpr double dense_flops_per_second = 10e9; // of dsyevr, whose half is memory-bound

// Up to so many columns a fused kernel's values are computed again as fast as they are read (at 16 columns 0.45 against 0.32
// ns a core in f32, FACTS B3.5, B3.12: computing them once costs more than all passes save).
constexpr int64_t stream_up_to = 64;

// Pivots behind the start: 512 cost five times as much at n = 10^4 and save no pass there (FACTS B3.12).
constexpr int64_t start_rank = 256;

bool may_be_psd(const Expression &kernel) {
    const bool finished = kernel.leaves.empty() || kernel.leaves[0].facts.struct_size > 0;
    return !finished || kernel.is_psd();
}

bool streams_well(const Expression &kernel, const Source &source) {
    if (source.kind() != Source::Kind::dense) return false;
    int64_t columns = 0;
    for (const LeafSpec &leaf : leaf_specs(kernel)) {
        if (!(leaf.rate > 0)) return false;
        columns += leaf.columns.empty() ? source.cols() : static_cast<int64_t>(leaf.columns.size());
    }
    return columns <= stream_up_to;
}

// measure(points, tiles) for all rows of source, as a fit will see them.
template <class T, class Measure>
auto measured(const Expression &kernel, const Source &source, Measure &&measure) {
    std::vector<LeafSpec> specs = leaf_specs(kernel);
    for (LeafSpec &leaf : specs) // as they will be shifted
        if (leaf.form == MERCER_SQDIST && source.kind() == Source::Kind::dense)
            leaf.shift.resize(leaf.columns.empty() ? static_cast<size_t>(source.cols()) : leaf.columns.size());
    Points<T> points(std::shared_ptr<const Source>(std::shared_ptr<const Source>(), &source), {}, specs);
    points.lean();
    Tiles<T> tiles(kernel, points, points);
    return measure(points, tiles);
}

template <class T>
int64_t tile_bytes(const Expression &kernel, const Source &source) {
    return measured<T>(kernel, source, [](const Points<T> &points, const Tiles<T> &tiles) {
        return tiles.scratch_bytes() + 2 * points.panel_bytes();
    });
}

} // namespace

template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns) {
    return measured<T>(kernel, source, [&](const Points<T> &points, const Tiles<T> &tiles) -> Need {
        return {GramOperator<T>::pass_bytes(run, m, columns, tiles), blocks_of(m) * points.held_bytes(),
                GramOperator<T>::stored_bytes(m)};
    });
}
template Need need_of<float>(const Run &, const Expression &, const Source &, int64_t, int64_t);
template Need need_of<double>(const Run &, const Expression &, const Source &, int64_t, int64_t);

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
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    cost.m = n;
    if (!recipe.reducer()) return cost;
    mercer_task task(run, Random(0, Stage::reducer));
    mercer_shape shape{sizeof shape,
                       n,
                       source.cols(),
                       foreseen_components(recipe.values(), n),
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

Plan plan_weighted(const PlanTask &task) {
    const Recipe &recipe = task.recipe;
    const Expression &kernel = task.kernel;
    const Source &source = task.source;
    const int64_t m = task.m, budget_left = task.budget_left;
    Run &run = task.run;
    const CoreValues &values = recipe.values();
    const GramStorage storage = static_cast<GramStorage>(values.gram_storage);
    Plan plan;
    plan.f32 = storage == GramStorage::f32 || (task.f32 && storage != GramStorage::f64);
    plan.tol = std::isnan(values.tol) ? (plan.f32 ? 1e-5 : 1e-9) : values.tol;
    if (task.tol > 0) plan.tol = std::clamp(task.tol, plan.tol, 0.1);
    plan.solver = recipe.solver();
    plan.solver_params = recipe.solver_params();
    if (!plan.solver) {
        plan.solver = recipe.registry().find(Kind::solver, m <= dense_up_to ? "dense" : "block-krylov");
        plan.solver_params = Params(plan.solver->params);
    }
    const int64_t r = foreseen_components(values, m);
    mercer_task operation(run, Random(0, Stage::solver));
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    // Callbacks are what costs where there are any: one set of values, in the type of the result.
    const bool calls = kernel.has_user() || source.kind() == Source::Kind::objects;
    if (plan.solver->solver.flags & MERCER_USES_START && !calls && may_be_psd(kernel)) {
        plan.start_rank = std::min(start_rank, m / 8);
        plan.start_columns = std::min({plan.start_rank / 2, std::max<int64_t>(32, (r + 13) / 8 * 8), m});
        // A random column, and the mean, ride along.
        plan.start_columns = std::max<int64_t>(plan.start_columns - 1 - (values.lift_centred != 0), 0);
    }
    plan.rough = !plan.f32 && storage != GramStorage::f64 && !calls && plan.solver->solver.flags & MERCER_USES_ROUGH;
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = plan.tol;
    request.max_passes = values.max_passes;
    request.start_count = plan.start_columns;
    request.rough = plan.rough;
    operation.check(plan.solver->solver.forecast(&host_table(), &operation, plan.solver_params.values(), m, &request,
                                                 &plan.solver_cost),
                    *plan.solver);

    const int64_t size = plan.f32 ? 4 : 8, r_block = checked_bytes("vectors", m, r, size);
    const mercer_cost &solver = plan.solver_cost;
    auto need = [&](int64_t columns, bool f32) {
        return f32 ? need_of<float>(run, kernel, source, m, columns) : need_of<double>(run, kernel, source, m, columns);
    };
    // A pass of so many columns while so many of the solver's are in use.
    auto pass = [&](int64_t columns, int64_t blocks) {
        return std::max(need(columns, plan.f32).pass, need(columns, plan.f32 || plan.rough).pass) +
               checked_bytes("the solver's blocks", m, blocks, size);
    };
    // The mean rides along in the first product, and in the first exact one.
    const int64_t mean = values.lift_centred != 0, first = std::min(m, solver.first_columns),
                  columns = std::min(m, solver.columns) + (plan.rough || first == 0 ? mean : 0);
    const Need exact = need(columns, plan.f32), most = need(columns, plan.f32 || plan.rough);
    int64_t most_at_once = pass(columns, solver.blocks);
    if (first > 0) most_at_once = std::max(most_at_once, pass(first + mean, solver.first_blocks));
    if (plan.start_columns > 0)
        most_at_once = std::max(
            most_at_once, start_bytes(run, m, plan.start_rank, plan.start_columns, tile_bytes<float>(kernel, source)) +
                              plan.start_columns * m * size);
    // Roots of weights, the mean, k(c, c) and one column; vectors, and scores where the solver is done.
    plan.bytes = 8 * m * 4 + r_block + std::max(solver.bytes + most_at_once, 8 * m * r);
    auto take = [&](int64_t bytes) {
        if (plan.bytes + bytes > budget_left) return false;
        plan.bytes += bytes;
        return true;
    };
    const bool asked = storage == GramStorage::f64 || storage == GramStorage::f32;
    const bool wanted = asked || (storage == GramStorage::automatic && !streams_well(kernel, source));
    if (wanted && take(most.matrix + most.rows))
        plan.hold = Hold::matrix;
    else if (!asked && take(most.rows))
        plan.hold = Hold::rows;
    else if (asked)
        plan.bytes += most.matrix + most.rows;
    if (plan.rough && take(exact.rows)) plan.hold_exact = Hold::rows;
    refuse_over_budget(task, plan, asked ? "kernel matrix stored" : "kernel matrix streamed");
    return plan;
}

void refuse_over_budget(const PlanTask &task, const Plan &plan, const char *how) {
    if (plan.bytes <= task.budget_left) return;
    fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.1f MiB (%s), of the memory budget of %.1f MiB %.1f are left",
         task.m, static_cast<double>(plan.bytes) / 0x1p20, how,
         static_cast<double>(task.run.budget()->limit()) / 0x1p20,
         static_cast<double>(std::max<int64_t>(task.budget_left, 0)) / 0x1p20);
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
    const Plan plan = find_lift(recipe.values().lift)
                          .plan({run, recipe, kernel, source, f32, m, run.budget()->limit() - centres, false});

    const bool dense = plan.solver && plan.solver->name == "dense";
    const double pairs = static_cast<double>(pass_evaluations(m)), order = static_cast<double>(m);
    const bool stored = plan.hold == Hold::matrix;
    const int64_t applies = plan.solver_cost.passes + (dense && recipe.values().lift_centred ? 1 : 0);
    mercer_forecast out{};
    out.struct_size = sizeof out;
    out.bytes = std::max(reducer.bytes, plan.bytes) + centres;
    out.passes = stored ? 1 : applies;
    out.kernel_evaluations =
        static_cast<int64_t>(pairs) * (stored || dense ? out.passes : 1) + reducer.kernel_evaluations;
    out.flops = pairs * static_cast<double>(2 * std::max<int64_t>(source.cols(), 1) * out.passes) +
                2 * order * order * static_cast<double>((foreseen_components(recipe.values(), m) + 8) * applies) +
                plan.solver_cost.flops + reducer.flops;
    out.dense_seconds = dense ? 10.0 / 3 * order * order * order / dense_flops_per_second : 0;
    out.streams = !stored;
    out.exact = dense;
    return out;
}

} // namespace mercer
