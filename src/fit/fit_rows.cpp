#include "fit_rows.h"

#include "prepare.h"
#include "reduce.h"
#include "report.h"

#include <cinttypes>

namespace mercer {
namespace {

// The centres, and the factor that the lift may use.
void choose_centres(Run &run, const Recipe &recipe, const Data &data, Fitted &out) {
    run.stage("reduce");
    Reduction &reduction = out.reduction;
    if (recipe.is_auto()) out.strategy = choose_strategy(run, recipe, out.prepared, out.ahead.strategies);
    out.lift = &lift_named(recipe.is_auto() && out.strategy.exact ? "weighted" : recipe.values().lift);
    reduction = out.strategy.exact ? reduce(run, recipe, data, out.prepared, out.ahead.stores_factor)
                                   : std::move(out.strategy.reduction);
    if (recipe.reducer() && reduction.m > out.ahead.centres)
        fail(MERCER_E_PLUGIN, "reducer %s forecast at most %" PRId64 " centres and gave %" PRId64,
             recipe.reducer()->name.c_str(), out.ahead.centres, reduction.m);
    if (!out.lift->traits.uses_factor) reduction.factor = {};
    out.centres = make_centres(run, out.prepared, reduction);
    reduction.points = Buffer<unsigned char>();
}

// Returns the plan for the centres that the reducer returned, within the budget of the forecast.
Plan plan_lift(Run &run, const Recipe &recipe, const Fitted &fitted) {
    const Prepared &prepared = fitted.prepared;
    const Centres &centres = fitted.centres;
    const Source &source = *prepared.source;
    const int64_t most = std::min(run.budget()->limit(), static_cast<int64_t>(fitted.ahead.figures.bytes.most));
    const PlanTask task{
        .run = run,
        .recipe = recipe,
        .kernel = prepared.kernel,
        .source = source,
        .weighted = prepared.weights.data() != nullptr,
        .f32 = prepared.f32,
        .m = centres.m(),
        .budget_left = most - base_bytes(source, prepared.weights.data() != nullptr, centres.m(), prepared.f32) -
                       centres.assignment.bytes(),
        .rows = centres.rows,
        .handed = fitted.reduction.factor_bytes(),
        .tol = fitted.strategy.tol,
        .f32_serves = prepared.f32_serves,
        .represents_rows = centres.represents_rows,
    };
    const bool exact = recipe.is_auto() && fitted.strategy.exact;
    Plan plan = exact ? plan_exact(task, fitted.strategy.f32) : fitted.lift->plan(task);
    refuse_over_budget(task, fitted.ahead.by_likely ? plan.likely_bytes : plan.bytes, plan.how);
    return plan;
}

bool keeps_checkpoint(const Fitted &fitted) {
    const Plan &plan = fitted.plan;
    return fitted.lift->traits.solves && plan.solver && plan.solver->solver.flags & MERCER_KEEPS_STATE;
}

} // namespace

Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data) {
    Fitted out;
    out.ahead = forecast(run, recipe, data, Sample::cheap);
    run.expect(out.ahead.stages);
    run.stage("read");
    out.prepared = prepare(run, recipe, data);
    for (const std::string &warning : out.prepared.warnings) run.log(2, warning.c_str());
    choose_centres(run, recipe, data, out);
    out.plan = plan_lift(run, recipe, out);
    if (!out.plan.store_factor) out.reduction.factor = {};
    run.expect(lift_stages(*out.prepared.source, out.plan, out.centres.m()));
    if (!run.checkpoint().empty() && !keeps_checkpoint(out))
        run.log(2, "no checkpoint is written: only exact fits with an iterative solver write one");
    Lifted &lifted = out.lifted = out.lift->lift({run, recipe, out.prepared, out.reduction, out.centres, out.plan});
    if (recipe.is_auto() && out.strategy.exact) judge_exact(run, recipe, out.plan, lifted.worst_share, out.strategy);
    if (!out.strategy.proved) lifted.outcome |= MERCER_NOT_CONVERGED;
    if (recipe.solver() && !out.plan.solver)
        lifted.warnings.push_back("the solver '" + recipe.solver()->name +
                                  "' was not used: the fit took a projection, which needs none");
    lifted.kernel_evaluations += out.reduction.kernel_evaluations;
    warn_of_share(recipe.values(), out.prepared.source->rows(), out.centres.m(), lifted);
    return out;
}

} // namespace mercer
