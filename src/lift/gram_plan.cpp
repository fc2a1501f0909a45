// Plans the lift `weighted` from the shape and the budget alone: whether the kernel matrix is
// stored, which solver is used, and how much memory and work are needed. A fit that would exceed
// the budget is refused before it starts; a forecast shows the figures.
#include "gram_plan.h"

#include "../certify/bootstrap.h"
#include "../factor/nystrom_start.h"
#include "components.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// Up to this order, a dense eigendecomposition is as fast as iterating. Measured at this order: it
// takes about 0.1 s, during which it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;

// Pivots of the Nystrom approximation that gives start vectors. Measured at n = 10^4: 512 pivots
// cost five times as much and save no pass.
constexpr int64_t start_rank = 256;

} // namespace

mercer_eigen_request request_of(const Plan &plan, int64_t r, int64_t start_columns) {
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = plan.tol;
    request.share = plan.share;
    request.max_passes = plan.max_passes;
    request.start_count = start_columns;
    request.rough = plan.rough;
    return request;
}

void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan) {
    mercer_task operation(task.run, Random(0, Stage::solver));
    const mercer_eigen_request request = request_of(plan, r, begun);
    plan.solver_cost = {};
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    operation.perform(*plan.solver, "forecast", [&] {
        return plan.solver->solver.forecast(&host_table(), &operation, plan.solver_params.values(), task.m, &request,
                                            &plan.solver_cost);
    });
    mercer_task::check_cost(plan.solver_cost, *plan.solver);
    if (plan.solver_cost.likely_passes == 0) plan.solver_cost.likely_passes = plan.solver_cost.passes;
    if (plan.solver_cost.likely_bytes == 0) plan.solver_cost.likely_bytes = plan.solver_cost.bytes;
}

double likely_passes(const Plan &plan, double products) {
    return plan.store != Store::matrix ? products : plan.rough ? 1 + std::ceil(products / 5) : 1;
}

namespace {

// Sets the work of the plan: passes, kernel values, products and flops. The mean is computed along
// with an exact product; if a solve makes no exact product, one is made for the mean alone. If the
// number of components is open, it is doubled until it suffices, and each doubling may need a new
// solve.
void count_work(const PlanTask &task, int64_t r, bool iterates, Plan &plan) {
    const mercer_cost &cost = plan.solver_cost;
    const bool stored = plan.store == Store::matrix;
    const double pairs = static_cast<double>(pass_evaluations(task.m)), m = static_cast<double>(task.m);
    const bool grows = Components(task.recipe.values(), task.m).ask() < plan.most_pairs;
    const double rounds = grows ? 2 + std::ceil(std::log2(m)) : 1, likely = static_cast<double>(cost.likely_passes),
                 most = (static_cast<double>(cost.passes) + iterates) * rounds;
    plan.passes = {likely_passes(plan, likely), !stored ? most : plan.rough ? 1 + most : 1};
    const mercer_figure start = start_evaluations(task.m, plan.start_rank);
    plan.kernel_evaluations = {pairs * plan.passes.likely + start.likely, pairs * plan.passes.most + start.most};
    const double width = static_cast<double>(cost.columns + 1);
    plan.columns = iterates
                       ? mercer_figure{width * likely, width * most}
                       : mercer_figure{static_cast<double>(r), static_cast<double>(grows ? 2 * plan.most_pairs : r)};
    plan.products = {likely, most};
    plan.flops_each = cost.flops / static_cast<double>(std::max<int64_t>(cost.passes, 1));
    // An iterative solver solves a dense problem in its basis, which takes half of the columns of
    // its blocks; the images of the basis take the other half.
    plan.dense_order = iterates ? std::min(m, static_cast<double>(cost.blocks) / 2) : m;
}

// True if kernel values come from callbacks. Callbacks dominate the cost, so kernel values are then
// computed in the type of the result only, and not in f32 as well.
bool calls_back(const PlanTask &task) { return task.kernel.has_user() || task.source.kind() == Source::Kind::objects; }

// The memory of a solve for r eigenpairs, in bytes. bytes_of() adds what is stored of the kernel
// matrix.
struct Working {
    Need exact,       // memory of a pass in the type of the result
        most;         // the same in the type of most passes, which is f32 if the plan is rough
    int64_t always;   // stored throughout the solve
    Bytes start,      // while start vectors are computed
        bars,         // while error bars are computed
        end;          // the tensors of the model, at the end
    Bytes product;    // during a product, in addition to the pass: the solver, its blocks, the vectors
    Bytes begun;      // the same, if the solver ends after its first product
    Bytes factorised; // between products: the solver, including the workspace of its factorisations
};

Working working_of(const PlanTask &task, int64_t r, const Plan &plan) {
    const int64_t m = task.m, size = plan.f32 ? 4 : 8, mean = task.recipe.values().lift_centred != 0;
    const mercer_cost &solver = plan.solver_cost;
    auto need = [&](bool f32, int64_t columns) {
        return f32 ? need_of<float>(task.run, task.kernel, task.source, m, columns)
                   : need_of<double>(task.run, task.kernel, task.source, m, columns);
    };
    // The memory of a product with this number of columns, while the solver holds blocks with
    // `blocks` columns in all.
    auto product = [&](int64_t columns, int64_t blocks) {
        return larger(need(plan.f32, columns).vectors, need(plan.f32 || plan.rough, columns).vectors) +
               checked_bytes("the solver's blocks", m, blocks, size);
    };
    // The mean needs an additional column in the first product, and in the first exact product.
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
    // workspace: the memory that the service eigh takes when a direct solver calls it for the whole
    // matrix.
    const int64_t workspace = plan.solver->solver.flags & MERCER_DIRECT ? 8 * m * std::max(2 * m + 12, r + 80) : 0,
                  matrix = workspace > 0 ? 8 * m * m : 0;
    const Bytes beside(std::max(own.likely - workspace, matrix), std::max(own.most - workspace, matrix));
    out.begun = (first > 0 ? begun : out.product) + beside;
    out.product = out.product + beside;
    out.start =
        start_bytes(task.run, m, plan.start_rank, plan.start_columns, tiles_of<float>(task.kernel, task.source)) +
        plan.start_columns * m * size + Bytes(0, own.most); // worst case: the solver holds all of its memory
    out.bars = 8 * m * r;
    if (Components(task.recipe.values(), m).wants_bars())
        out.bars = out.bars + Bytes(bootstrap_bytes(m, r, 1), bootstrap_bytes(m, r, task.run.threads()));
    out.end = m * (size * r + 5 * 8); // A; w, nu and the arrays behind control limits
    // Roots of weights, the mean and k(c, c); the eigenvectors; arrays of one number for each
    // column.
    out.always = m * (3 * 8 + size * r) + 64 * (r + 64);
    return out;
}

// Reduces the figures to what is needed whatever the data are: an iteration that ends after its
// first product, without start vectors, error bars or components.
Working least_of(Working of) {
    of.product = of.begun, of.start = of.bars = of.end = 0;
    return of;
}

// Adds up all memory, including that of the prepared rows or kernel values that are stored between
// passes, as plan.store and plan.store_exact say.
Bytes bytes_of(const Working &of, const Plan &plan) {
    auto pass = [](const Need &need, Store stored) {
        return stored == Store::matrix ? 0 : need.scratch + (stored == Store::nothing ? need.panels : 0);
    };
    auto kept = [](const Need &need, Store stored) {
        return stored == Store::matrix ? need.matrix : stored == Store::rows ? need.rows : 0;
    };
    int64_t stored = of.always + kept(of.most, plan.store);
    Bytes working = pass(of.most, plan.store), filled = plan.store == Store::rows ? of.most.loading : 0;
    if (plan.store == Store::matrix) filled = of.most.rows + larger(of.most.scratch, of.most.loading);
    if (plan.rough)
        stored += kept(of.exact, plan.store_exact), working = larger(working, pass(of.exact, plan.store_exact));
    Bytes most = of.product + working;
    for (const Bytes &other : {of.factorised, of.start, filled, of.exact.diagonal, of.bars, of.end})
        most = larger(most, other);
    return stored + most;
}

// Chooses what is stored between passes, at most as much as the budget allows, and sets the bytes
// of the plan.
void choose_store(const PlanTask &task, const Working &working, Plan &plan) {
    auto fits = [&](Store store, Store store_exact) {
        plan.store = store, plan.store_exact = store_exact;
        const Bytes bytes = bytes_of(working, plan);
        plan.likely_bytes = bytes.likely, plan.bytes = bytes.most;
        plan.least_bytes = bytes_of(least_of(working), plan).likely;
        return plan.bytes <= task.budget_left;
    };
    const GramStorage storage = static_cast<GramStorage>(task.recipe.values().gram_storage);
    const bool asked = storage == GramStorage::f64 || storage == GramStorage::f32;
    const bool wanted = asked || (storage == GramStorage::automatic && !streams_well(task.kernel, task.source));
    const Store second = plan.rough ? Store::rows : Store::nothing;
    plan.how = asked ? "kernel matrix stored" : "kernel matrix streamed";
    if (wanted && (fits(Store::matrix, second) || fits(Store::matrix, Store::nothing))) {
        plan.how = "kernel matrix stored";
        return;
    }
    if (asked || fits(Store::rows, second) || fits(Store::rows, Store::nothing)) return;
    fits(Store::nothing, Store::nothing);
}

// Sets plan.most_pairs. If the number of eigenpairs is open, it may be doubled from r on as long as
// the new solve fits in the budget together with the vectors of the solve before it.
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
    plan.share = std::isnan(values.tol) ? 0.1 : 0; // makes the variances of scores accurate to 0.1^2 = 1 %
    if (plan.f32 && !task.f32 && !task.f32_serves)
        fail(MERCER_E_DATA, "gram.storage = f32: entries or kernel values of these data overflow f32");
    plan.max_passes = values.max_passes;
    plan.solver = std::move(solver);
    plan.solver_params = std::move(params);
    const int64_t m = task.m, r = likely_components(values, m), flags = plan.solver->solver.flags;
    const bool iterates = !(flags & MERCER_DIRECT), in_f32 = task.f32_serves && !calls_back(task);
    plan.rough = !plan.f32 && storage != GramStorage::f64 && in_f32 && flags & MERCER_USES_ROUGH;
    if (flags & MERCER_USES_START && in_f32 && task.kernel.is_psd()) {
        plan.start_rank = std::min(start_rank, m / 8);
        plan.start_columns = std::min({plan.start_rank / 2, std::max<int64_t>(32, (r + 13) / 8 * 8), m});
        // A random vector and the mean fill the remaining columns of the first product.
        plan.start_columns = std::max<int64_t>(plan.start_columns - 1 - (values.lift_centred != 0), 0);
    }
    ask_solver(task, r, plan.start_columns, plan);
    choose_store(task, working_of(task, r, plan), plan);
    allow_growth(task, r, plan);
    count_work(task, r, iterates, plan);
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
    return plan;
}

} // namespace mercer
