// Plans the lift `weighted` from the shape and the budget alone: whether the kernel matrix is stored, which solver is used, and
// the memory and work needed. A fit that does not fit is refused before it starts; a forecast shows the figures.
#include "bootstrap.h"
#include "components.h"
#include "glimpse.h"
#include "pivots.h"
#include "start.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Up to this order one dense factorisation is as good as iterating (about 0.1 s, FACTS A7), and it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;

// Up to this many columns, values of a fused kernel are recomputed about as fast as stored ones are read (16 columns: 0.45
// against 0.32 ns a core in f32, FACTS B3.5, B3.12: storing them costs more than all passes save).
constexpr int64_t stream_up_to = 64;

// Pivots for the start vectors: 512 cost five times as much at n = 10^4 and save no pass there (FACTS B3.12).
constexpr int64_t start_rank = 256;

// Calls body(tiles) with tiles of all rows of source, prepared as in a fit.
template <class T, class Body>
auto with_tiles(const Expression &kernel, const Source &source, Body &&body) {
    std::vector<LeafSpec> specs = leaf_specs(kernel);
    for (LeafSpec &leaf : specs) // as if shifted already
        if (leaf.form == MERCER_SQDIST && source.kind() == Source::Kind::dense)
            leaf.shift.resize(leaf.columns.empty() ? static_cast<size_t>(source.cols()) : leaf.columns.size());
    Points<T> points(std::shared_ptr<const Source>(std::shared_ptr<const Source>(), &source), {}, specs);
    points.lean();
    return body(Tiles<T>(kernel, points, points));
}

} // namespace

bool streams_well(const Expression &kernel, const Source &source) {
    if (source.kind() != Source::Kind::dense) return false;
    int64_t columns = 0;
    for (const LeafSpec &leaf : leaf_specs(kernel)) {
        if (!(leaf.rate > 0)) return false;
        columns += leaf.columns.empty() ? source.cols() : static_cast<int64_t>(leaf.columns.size());
    }
    return columns <= stream_up_to;
}

void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan) {
    mercer_task operation(task.run, Random(0, Stage::solver));
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = plan.tol;
    request.share = plan.share;
    request.max_passes = plan.max_passes;
    request.start_count = begun;
    request.rough = plan.rough;
    plan.solver_cost = {};
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    operation.perform(*plan.solver, "forecast", [&] {
        return plan.solver->solver.forecast(&host_table(), &operation, plan.solver_params.values(), task.m, &request,
                                            &plan.solver_cost);
    });
    if (plan.solver_cost.likely_passes == 0) plan.solver_cost.likely_passes = plan.solver_cost.passes;
    if (plan.solver_cost.likely_bytes == 0) plan.solver_cost.likely_bytes = plan.solver_cost.bytes;
}

template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns) {
    return with_tiles<T>(kernel, source,
                         [&](const Tiles<T> &tiles) { return GramOperator<T>::need(run, m, columns, tiles); });
}
template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source) {
    return with_tiles<T>(kernel, source, [](const Tiles<T> &tiles) { return tiles.bytes(); });
}
template <class T>
int64_t tile_bytes(const Expression &kernel, const Source &source) {
    const TileBytes of = tiles_of<T>(kernel, source);
    const int64_t rows = std::min(tile_rows, std::max<int64_t>(source.rows(), 1)), mapped = rows * source.cols() * 8;
    return of.scratch + 2 * (of.held(1, rows) + std::max(of.loading(rows), mapped));
}
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32, Others others) {
    const TileBytes of = f32 ? tiles_of<float>(kernel, source) : tiles_of<double>(kernel, source);
    const int64_t rows = std::min(tile_rows, std::max<int64_t>(source.rows(), 1));
    const int64_t ready = others == Others::all ? of.held(blocks_of(source.rows()), source.rows()) : 0;
    return {held_by(run.threads(), blocks_of(source.rows()), of.scratch + of.held(1, rows)).likely,
            run.threads() * (f32 ? tile_bytes<float>(kernel, source) : tile_bytes<double>(kernel, source)) +
                (ready <= sweep_keeps ? ready : 0)};
}
template int64_t tile_bytes<float>(const Expression &, const Source &);
template int64_t tile_bytes<double>(const Expression &, const Source &);
template TileBytes tiles_of<float>(const Expression &, const Source &);
template TileBytes tiles_of<double>(const Expression &, const Source &);
template Need need_of<float>(const Run &, const Expression &, const Source &, int64_t, int64_t);
template Need need_of<double>(const Run &, const Expression &, const Source &, int64_t, int64_t);

namespace {

// How often the kernel matrix is computed: once if stored, else in each product. With a rough and an exact matrix, typically one
// product in five is exact. If no exact product included the mean, it needs one of its own. If the number of components is open,
// each doubling may be a new solve.
void count_work(const PlanTask &task, int64_t r, bool iterates, Plan &plan) {
    const mercer_cost &cost = plan.solver_cost;
    const bool stored = plan.hold == Hold::matrix;
    const double pairs = static_cast<double>(pass_evaluations(task.m)), m = static_cast<double>(task.m);
    const bool grows = Components(task.recipe.values(), task.m).ask() < plan.most_pairs;
    const double rounds = grows ? 2 + std::ceil(std::log2(m)) : 1, likely = static_cast<double>(cost.likely_passes),
                 most = (static_cast<double>(cost.passes) + iterates) * rounds;
    plan.passes = stored && !plan.rough ? mercer_figure{1, 1}
                  : stored              ? mercer_figure{1 + std::ceil(likely / 5), 1 + most}
                                        : mercer_figure{likely, most};
    const mercer_figure start = start_evaluations(task.m, plan.start_rank);
    plan.kernel_evaluations = {pairs * plan.passes.likely + start.likely, pairs * plan.passes.most + start.most};
    const double width = static_cast<double>(cost.columns + 1);
    plan.columns = iterates
                       ? mercer_figure{width * likely, width * most}
                       : mercer_figure{static_cast<double>(r), static_cast<double>(grows ? 2 * plan.most_pairs : r)};
    plan.products = {likely, most};
    plan.flops_each = cost.flops / static_cast<double>(std::max<int64_t>(cost.passes, 1));
    plan.dense_order = iterates ? std::min(m, static_cast<double>(cost.blocks) / 2) : m; // basis, and its images
}

// Callbacks dominate the cost: compute one set of values, in the type of the result.
bool calls_back(const PlanTask &task) { return task.kernel.has_user() || task.source.kind() == Source::Kind::objects; }

// Bytes of a solve for r eigenpairs, excluding the storage of the kernel matrix (Hold).
struct Working {
    Need exact, most;       // memory of a pass in the type of the result, and in the type of most passes
    int64_t always;         // held throughout
    Bytes start, bars, end; // held one after the other: start, error bars, tensors of the model
    Bytes product;          // the solver, its blocks and the vectors of a product, in addition to a pass
    Bytes begun;            // the same, if the first product is enough
    Bytes factorised;       // the solver alone, with the workspace of a dense one between products
};

Working working_of(const PlanTask &task, int64_t r, const Plan &plan) {
    const int64_t m = task.m, size = plan.f32 ? 4 : 8, mean = task.recipe.values().lift_centred != 0;
    const mercer_cost &solver = plan.solver_cost;
    auto need = [&](bool f32, int64_t columns) {
        return f32 ? need_of<float>(task.run, task.kernel, task.source, m, columns)
                   : need_of<double>(task.run, task.kernel, task.source, m, columns);
    };
    // Memory of a product with some columns, while the solver uses others.
    auto product = [&](int64_t columns, int64_t blocks) {
        return larger(need(plan.f32, columns).vectors, need(plan.f32 || plan.rough, columns).vectors) +
               checked_bytes("the solver's blocks", m, blocks, size);
    };
    // The mean rides along in the first product, and in the first exact one.
    const int64_t first = std::min(m, solver.first_columns),
                  columns = std::min(m, solver.columns) + (plan.rough || first == 0 ? mean : 0);
    const Bytes begun = first > 0 ? product(first + mean, solver.first_blocks) : 0,
                own(solver.likely_bytes, solver.bytes);
    const int64_t usual = first > 0 ? solver.first_blocks + 2 * solver.columns * solver.likely_passes : solver.blocks;
    Working out{};
    out.exact = need(plan.f32, columns), out.most = need(plan.f32 || plan.rough, columns);
    out.product = larger(
        Bytes(product(columns, std::min(usual, solver.blocks)).likely, product(columns, solver.blocks).most), begun);
    out.factorised = own;
    const int64_t workspace = plan.solver->name == "dense" ? 8 * m * std::max(2 * m + 12, r + 80) : 0, // of host->eigh
        matrix = workspace > 0 ? 8 * m * m : 0;
    const Bytes beside(std::max(own.likely - workspace, matrix), std::max(own.most - workspace, matrix));
    out.begun = (first > 0 ? begun : out.product) + beside;
    out.product = out.product + beside;
    out.start =
        start_bytes(task.run, m, plan.start_rank, plan.start_columns, tiles_of<float>(task.kernel, task.source)) +
        plan.start_columns * m * size + Bytes(0, own.most); // a solver may hold all it needs when it asks for them
    out.bars = 8 * m * r;
    if (Components(task.recipe.values(), m).wants_bars())
        out.bars = out.bars + Bytes(bootstrap_bytes(m, r, 1), bootstrap_bytes(m, r, task.run.threads()));
    out.end = m * (size * r + 5 * 8); // A, w and nu; limits
    // Roots of weights, the mean and k(c, c); the solver's vectors; what is as long as a few columns are many.
    out.always = m * (3 * 8 + size * r) + 64 * (r + 64);
    return out;
}

// The memory needed for any data: an iteration that ends at once, from a start of rank 0, without components.
Working least_of(Working of) {
    of.product = of.begun, of.start = of.bars = of.end = 0;
    return of;
}

// The sum of all, including the storage that plan.hold and plan.hold_exact choose.
Bytes bytes_of(const Working &of, const Plan &plan) {
    auto pass = [](const Need &need, Hold held) {
        return held == Hold::matrix ? 0 : need.scratch + (held == Hold::nothing ? need.panels : 0);
    };
    auto kept = [](const Need &need, Hold held) {
        return held == Hold::matrix ? need.matrix : held == Hold::rows ? need.rows : 0;
    };
    int64_t held = of.always + kept(of.most, plan.hold);
    Bytes working = pass(of.most, plan.hold), filled = plan.hold == Hold::rows ? of.most.loading : 0;
    if (plan.hold == Hold::matrix) filled = of.most.rows + larger(of.most.scratch, of.most.loading);
    if (plan.rough) held += kept(of.exact, plan.hold_exact), working = larger(working, pass(of.exact, plan.hold_exact));
    Bytes most = of.product + working;
    for (const Bytes &other : {of.factorised, of.start, filled, of.exact.diagonal, of.bars, of.end})
        most = larger(most, other);
    return held + most;
}

// Chooses what is stored between passes, as much as the budget allows, and sets bytes.
void choose_hold(const PlanTask &task, const Working &working, Plan &plan) {
    auto fits = [&](Hold hold, Hold hold_exact) {
        plan.hold = hold, plan.hold_exact = hold_exact;
        const Bytes bytes = bytes_of(working, plan);
        plan.likely_bytes = bytes.likely, plan.bytes = bytes.most;
        plan.least_bytes = bytes_of(least_of(working), plan).likely;
        return plan.bytes <= task.budget_left;
    };
    const GramStorage storage = static_cast<GramStorage>(task.recipe.values().gram_storage);
    const bool asked = storage == GramStorage::f64 || storage == GramStorage::f32;
    const bool wanted = asked || (storage == GramStorage::automatic && !streams_well(task.kernel, task.source));
    const Hold second = plan.rough ? Hold::rows : Hold::nothing;
    plan.how = asked ? "kernel matrix stored" : "kernel matrix streamed";
    if (wanted && (fits(Hold::matrix, second) || fits(Hold::matrix, Hold::nothing))) return;
    if (asked || fits(Hold::rows, second) || fits(Hold::rows, Hold::nothing)) return;
    fits(Hold::nothing, Hold::nothing);
}

// If the number of eigenpairs is open, it may grow from r to what fits in the budget next to those of the round before.
void allow_growth(const PlanTask &task, int64_t r, Plan &plan) {
    const int64_t end = Components(task.recipe.values(), task.m).most_ask(), size = plan.f32 ? 4 : 8;
    plan.most_pairs = r;
    while (plan.most_pairs < end && plan.bytes <= task.budget_left) {
        const int64_t next = std::min(2 * plan.most_pairs, end);
        Plan grown = plan;
        ask_solver(task, next, plan.most_pairs, grown);
        const int64_t bytes =
            bytes_of(working_of(task, next, grown), grown).most + checked_bytes("vectors", task.m, next, size);
        if (bytes > task.budget_left) return;
        plan.most_pairs = next;
        plan.bytes = std::max(plan.bytes, bytes);
    }
}

Plan plan_with(const PlanTask &task, std::shared_ptr<const Plugin> solver, Params params) {
    const CoreValues &values = task.recipe.values();
    const GramStorage storage = static_cast<GramStorage>(values.gram_storage);
    Plan plan;
    plan.f32 = storage == GramStorage::f32 || (task.f32 && storage != GramStorage::f64);
    plan.tol = !std::isnan(values.tol) ? values.tol : task.tol > 0 ? std::max(task.tol, 1e-9) : plan.f32 ? 1e-5 : 1e-9;
    plan.share = std::isnan(values.tol) ? 0.1 : 0; // variances of scores right to 1 %
    if (plan.f32 && !task.f32 && !task.f32_serves)
        fail(MERCER_E_DATA, "gram.storage = f32: entries or kernel values of these data overflow f32");
    plan.max_passes = values.max_passes;
    plan.solver = std::move(solver);
    plan.solver_params = std::move(params);
    const int64_t m = task.m, r = foreseen_components(values, m), flags = plan.solver->solver.flags;
    const bool iterates = plan.solver->name != "dense", in_f32 = task.f32_serves && !calls_back(task);
    plan.rough = !plan.f32 && storage != GramStorage::f64 && in_f32 && flags & MERCER_USES_ROUGH;
    if (flags & MERCER_USES_START && in_f32 && task.kernel.is_psd()) {
        plan.start_rank = std::min(start_rank, m / 8);
        plan.start_columns = std::min({plan.start_rank / 2, std::max<int64_t>(32, (r + 13) / 8 * 8), m});
        // A random column and the mean are included in the product.
        plan.start_columns = std::max<int64_t>(plan.start_columns - 1 - (values.lift_centred != 0), 0);
    }
    ask_solver(task, r, plan.start_columns, plan);
    choose_hold(task, working_of(task, r, plan), plan);
    allow_growth(task, r, plan);
    count_work(task, r, iterates, plan);
    return plan;
}

} // namespace

// Adds up the rounds of solve_for, each with twice as many eigenpairs. If the sample is too small to estimate passes, assumes the
// number that the solver expects, or that builds a basis of twice the pairs.
void expect_spectrum(const PlanTask &task, const Glimpse &glimpse, Plan &plan) {
    if (!plan.solver || plan.solver->name == "dense") return;
    const Components choice(task.recipe.values(), task.m);
    const int64_t wanted = std::min(glimpse.components(task.recipe.values(), task.m), plan.most_pairs);
    double passes = 0, columns = 0;
    for (int64_t r = choice.ask(), before = 0;; before = r, r = std::min(2 * r, plan.most_pairs)) {
        Plan round = plan;
        ask_solver(task, r, std::max(plan.start_columns, before), round);
        const mercer_cost &cost = round.solver_cost;
        const double width = static_cast<double>(std::max<int64_t>(cost.columns, 1)),
                     seen = glimpse.passes(task.run, task.recipe, round, r),
                     unseen = std::max(static_cast<double>(cost.likely_passes), 2 + static_cast<double>(r) / width),
                     own = std::min(seen > 0 ? seen : unseen, static_cast<double>(std::max<int64_t>(cost.passes, 1)));
        passes += own;
        columns += static_cast<double>(cost.first_columns) + 1 + std::max(own - 1, 0.0) * (width + 1);
        if (r >= wanted) break;
    }
    const double pairs = static_cast<double>(pass_evaluations(task.m));
    const mercer_figure before = plan.passes;
    plan.products.likely = std::min(passes, plan.products.most);
    plan.columns.likely = std::min(columns, plan.columns.most);
    plan.passes.likely = std::min(plan.hold != Hold::matrix ? passes
                                  : plan.rough              ? 1 + std::ceil(passes / 5)
                                                            : 1.0,
                                  plan.passes.most);
    plan.kernel_evaluations.likely += pairs * (plan.passes.likely - before.likely);
}

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
    return plan;
}

void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how) {
    if (bytes <= task.budget_left) return;
    const double limit = static_cast<double>(task.run.budget()->limit()) / 0x1p20,
                 needed = limit + static_cast<double>(bytes - task.budget_left) / 0x1p20,
                 all = std::ceil(needed * 1000) / 1000; // rounded up, so that the printed budget is sufficient
    const char *instead = "";
    if (task.m == task.source.rows() && !task.recipe.reducer())
        instead = task.recipe.is_auto()
                      ? "; 'nystrom' keeps fewer"
                      : "; an exact model keeps all rows: 'auto', 'nystrom' and the reducer 'rpcholesky' keep fewer";
    fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.3f MiB in total (%s), but the memory budget is %.3f MiB%s",
         task.m, all, how, limit, instead);
}

} // namespace mercer
