// How the lift `weighted` will be done, from the shape and the budget alone: whether the kernel matrix is stored, who solves,
// and what that needs. A fit refuses by it before the work begins, and a forecast is it in figures.
#include "bootstrap.h"
#include "components.h"
#include "pivots.h"
#include "start.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Up to this order one dense factorisation is as good as iterating (about 0.1 s, FACTS A7), and it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;

// Up to so many columns a fused kernel's values are computed again as fast as they are read (at 16 columns 0.45 against 0.32
// ns a core in f32, FACTS B3.5, B3.12: computing them once costs more than all passes save).
constexpr int64_t stream_up_to = 64;

// Pivots behind the start: 512 cost five times as much at n = 10^4 and save no pass there (FACTS B3.12).
constexpr int64_t start_rank = 256;

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

} // namespace

template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns) {
    return measured<T>(kernel, source, [&](const Points<T> &, const Tiles<T> &tiles) {
        return GramOperator<T>::need(run, m, columns, tiles);
    });
}
template <class T>
int64_t tile_bytes(const Expression &kernel, const Source &source) {
    return measured<T>(kernel, source, [](const Points<T> &points, const Tiles<T> &tiles) {
        return tiles.scratch_bytes() + 2 * points.panel_bytes();
    });
}
template int64_t tile_bytes<float>(const Expression &, const Source &);
template int64_t tile_bytes<double>(const Expression &, const Source &);
template Need need_of<float>(const Run &, const Expression &, const Source &, int64_t, int64_t);
template Need need_of<double>(const Run &, const Expression &, const Source &, int64_t, int64_t);

namespace {

void ask_solver(const PlanTask &task, int64_t r, Plan &plan) {
    mercer_task operation(task.run, Random(0, Stage::solver));
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = plan.tol;
    request.max_passes = task.recipe.values().max_passes;
    request.start_count = plan.start_columns;
    request.rough = plan.rough;
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    operation.check(plan.solver->solver.forecast(&host_table(), &operation, plan.solver_params.values(), task.m,
                                                 &request, &plan.solver_cost),
                    *plan.solver);
    if (plan.solver_cost.likely_passes == 0) plan.solver_cost.likely_passes = plan.solver_cost.passes;
}

// Times that the kernel matrix is computed: once to be stored, else in each product; of a rough matrix beside an exact one
// one product in five is exact, as a rule. A mean that rode along with no exact product takes one of its own, and where the
// number of components is open it may be solved for anew each time it has doubled.
void count_work(const PlanTask &task, int64_t r, bool iterates, bool open, Plan &plan) {
    const mercer_cost &cost = plan.solver_cost;
    const bool stored = plan.hold == Hold::matrix;
    const double pairs = static_cast<double>(pass_evaluations(task.m)), m = static_cast<double>(task.m);
    const double rounds = open ? 2 + std::ceil(std::log2(m)) : 1, likely = static_cast<double>(cost.likely_passes),
                 most = (static_cast<double>(cost.passes) + iterates) * rounds;
    plan.passes = stored && !plan.rough ? mercer_figure{1, 1}
                  : stored              ? mercer_figure{1 + std::ceil(likely / 5), 1 + most}
                                        : mercer_figure{likely, most};
    plan.kernel_evaluations = {pairs * plan.passes.likely, pairs * plan.passes.most};
    if (plan.start_rank > 0) {
        plan.kernel_evaluations.likely += m * static_cast<double>(plan.start_rank + 1);
        plan.kernel_evaluations.most +=
            static_cast<double>(PartialCholesky<float>::evaluations(task.m, plan.start_rank));
    }
    const double width = static_cast<double>(cost.columns + 1);
    plan.columns = iterates ? mercer_figure{width * likely, width * most}
                            : mercer_figure{static_cast<double>(r + 1), static_cast<double>(r + 1)};
    plan.products = {likely, most};
    plan.flops_each = cost.flops / static_cast<double>(std::max<int64_t>(cost.passes, 1));
    plan.dense_order = iterates ? 0 : m;
}

// Callbacks are what costs where there are any: one set of values, in the type of the result.
bool calls_back(const PlanTask &task) { return task.kernel.has_user() || task.source.kind() == Source::Kind::objects; }

// Sets what is held between passes, and bytes: as much as the budget allows, at the least nothing.
void choose_hold(const PlanTask &task, int64_t r, Plan &plan) {
    const int64_t m = task.m, size = plan.f32 ? 4 : 8, mean = task.recipe.values().lift_centred != 0;
    const mercer_cost &solver = plan.solver_cost;
    auto need = [&](bool f32, int64_t columns) {
        return f32 ? need_of<float>(task.run, task.kernel, task.source, m, columns)
                   : need_of<double>(task.run, task.kernel, task.source, m, columns);
    };
    // A product of so many columns, while so many of the solver's are in use.
    auto product = [&](int64_t columns, int64_t blocks) {
        return std::max(need(plan.f32, columns).vectors, need(plan.f32 || plan.rough, columns).vectors) +
               checked_bytes("the solver's blocks", m, blocks, size);
    };
    // The mean rides along in the first product, and in the first exact one.
    const int64_t first = std::min(m, solver.first_columns),
                  columns = std::min(m, solver.columns) + (plan.rough || first == 0 ? mean : 0);
    const Need exact = need(plan.f32, columns), most = need(plan.f32 || plan.rough, columns);
    const int64_t begun = first > 0 ? product(first + mean, solver.first_blocks) : 0,
                  usual = first > 0 ? solver.first_blocks + 2 * solver.columns * solver.likely_passes : solver.blocks;
    const int64_t products = std::max(product(columns, solver.blocks), begun),
                  likely_products = std::max(product(columns, std::min(usual, solver.blocks)), begun);
    const int64_t begin =
        start_bytes(task.run, m, plan.start_rank, plan.start_columns, tile_bytes<float>(task.kernel, task.source)) +
        plan.start_columns * m * size;
    const bool with_bars = Components(task.recipe.values(), m).wants_bars();
    const int64_t bars = 8 * m * r + (with_bars ? bootstrap_bytes(m, r, task.run.threads()) : 0),
                  tensors = m * (size * r + 5 * 8); // A, w and nu; limits
    // Roots of weights, the mean, its unit vector, k(c, c) and one column; the solver's vectors.
    const int64_t always = m * (5 * 8 + size * r);
    auto fits = [&](Hold hold, Hold hold_exact) {
        auto pass = [](const Need &need, Hold held) {
            return held == Hold::matrix ? 0 : need.scratch + (held == Hold::nothing ? need.panels : 0);
        };
        auto kept = [](const Need &need, Hold held) {
            return held == Hold::matrix ? need.matrix : held == Hold::rows ? need.rows : 0;
        };
        const int64_t store = hold == Hold::matrix ? most.rows + most.scratch + most.panels : 0;
        int64_t held = kept(most, hold), working = pass(most, hold);
        if (plan.rough) held += kept(exact, hold_exact), working = std::max(working, pass(exact, hold_exact));
        plan.hold = hold, plan.hold_exact = hold_exact;
        auto all = [&](int64_t start, int64_t vectors) {
            return held + always + std::max({start, store, solver.bytes + vectors + working, bars, tensors});
        };
        plan.bytes = all(begin, products);
        plan.likely_bytes = all(begin / 5 * 4, likely_products); // of a start some scratch is for the worst case
        return plan.bytes <= task.budget_left;
    };
    const GramStorage storage = static_cast<GramStorage>(task.recipe.values().gram_storage);
    const bool asked = storage == GramStorage::f64 || storage == GramStorage::f32;
    const bool wanted = asked || (storage == GramStorage::automatic && !streams_well(task.kernel, task.source));
    const Hold second = plan.rough ? Hold::rows : Hold::nothing;
    if (wanted && (fits(Hold::matrix, second) || fits(Hold::matrix, Hold::nothing))) return;
    if (asked || fits(Hold::rows, second) || fits(Hold::rows, Hold::nothing)) return;
    fits(Hold::nothing, Hold::nothing);
}

Plan plan_with(const PlanTask &task, std::shared_ptr<const Plugin> solver, Params params) {
    const CoreValues &values = task.recipe.values();
    const GramStorage storage = static_cast<GramStorage>(values.gram_storage);
    Plan plan;
    plan.f32 = storage == GramStorage::f32 || (task.f32 && storage != GramStorage::f64);
    plan.tol = std::isnan(values.tol) ? (plan.f32 ? 1e-5 : 1e-9) : values.tol;
    if (task.tol > 0) plan.tol = std::max(plan.tol, std::min(task.tol, 0.1));
    plan.solver = std::move(solver);
    plan.solver_params = std::move(params);
    const int64_t m = task.m, r = foreseen_components(values, m), flags = plan.solver->solver.flags;
    const bool iterates = plan.solver->name != "dense", calls = calls_back(task);
    plan.rough = !plan.f32 && storage != GramStorage::f64 && !calls && flags & MERCER_USES_ROUGH;
    if (flags & MERCER_USES_START && !calls && task.kernel.is_psd()) {
        plan.start_rank = std::min(start_rank, m / 8);
        plan.start_columns = std::min({plan.start_rank / 2, std::max<int64_t>(32, (r + 13) / 8 * 8), m});
        // A random column, and the mean, ride along.
        plan.start_columns = std::max<int64_t>(plan.start_columns - 1 - (values.lift_centred != 0), 0);
    }
    ask_solver(task, r, plan);
    choose_hold(task, r, plan);
    count_work(task, r, iterates, Components(values, m).is_open(), plan);
    return plan;
}

} // namespace

Plan plan_weighted(const PlanTask &task) {
    const Recipe &recipe = task.recipe;
    auto chosen = [&](const char *name) {
        std::shared_ptr<const Plugin> solver = recipe.registry().find(Kind::solver, name);
        Params params(solver->params);
        return plan_with(task, std::move(solver), std::move(params));
    };
    Plan plan = recipe.solver()         ? plan_with(task, recipe.solver(), recipe.solver_params())
                : task.m <= dense_up_to ? chosen("dense")
                                        : chosen("block-krylov");
    if (!recipe.solver() && task.m <= dense_up_to && plan.bytes > task.budget_left) plan = chosen("block-krylov");
    const GramStorage storage = static_cast<GramStorage>(recipe.values().gram_storage);
    const bool stored = storage == GramStorage::f64 || storage == GramStorage::f32;
    refuse_over_budget(task, plan.bytes, stored ? "kernel matrix stored" : "kernel matrix streamed");
    return plan;
}

void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how) {
    if (bytes <= task.budget_left) return;
    const double limit = static_cast<double>(task.run.budget()->limit()) / 0x1p20,
                 all = limit + static_cast<double>(bytes - task.budget_left) / 0x1p20;
    const char *instead = "";
    if (task.m == task.source.rows() && !task.recipe.reducer())
        instead = task.recipe.is_auto()
                      ? "; 'nystrom' keeps fewer"
                      : "; an exact model keeps all rows: 'auto', 'nystrom' and the reducer 'rpcholesky' keep fewer";
    fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.3f MiB in all (%s), of a memory budget of %.3f MiB%s", task.m,
         all, how, limit, instead);
}

} // namespace mercer
