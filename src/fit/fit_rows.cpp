#include "fit_rows.h"

#include "../model/fit_identity.h"
#include "driver.h"
#include "prepare.h"
#include "reduce.h"
#include "report.h"

#include <cinttypes>

namespace mercer {
namespace {

// True if the lift has state that a checkpoint can store.
bool has_state(const Fitted &fitted) {
    const Plan &plan = fitted.plan;
    return fitted.lift->traits.solves && plan.solver && plan.solver->solver.flags & MERCER_KEEPS_STATE;
}

} // namespace

void open_checkpoint(const FitTask &task, Fitted &out) {
    const std::string path = task.run.checkpoint();
    if (path.empty() || out.checkpoint) return;
    out.checkpoint =
        std::make_unique<Checkpoint>(task.run, path, fit_identity(task.run, task.recipe, task.data, out.prepared));
}

void take_centres(const FitTask &task, const Lift &lift, Reduction reduction, Fitted &out) {
    out.lift = &lift;
    out.reduction = std::move(reduction);
    if (!lift.traits.uses_factor) out.reduction.factor = {};
    out.centres = make_centres(task.run, out.prepared, out.reduction);
    out.reduction.points = Buffer<unsigned char>();
}

PlanTask plan_task_of(const FitTask &task, const Fitted &fitted) {
    const Prepared &prepared = fitted.prepared;
    const Centres &centres = fitted.centres;
    const Source &source = *prepared.source;
    const int64_t most = std::min(task.run.budget()->limit(), static_cast<int64_t>(fitted.ahead.figures.bytes.most));
    return {
        .run = task.run,
        .recipe = task.recipe,
        .kernel = prepared.kernel,
        .source = source,
        .weighted = prepared.weights.data() != nullptr,
        .f32 = prepared.f32,
        .m = centres.m(),
        .budget_left = most - base_bytes(source, prepared.weights.data() != nullptr, centres.m(), prepared.f32) -
                       centres.assignment.bytes(),
        .rows = centres.rows,
        .handed = fitted.reduction.factor_bytes(),
        .f32_serves = prepared.f32_serves,
        .represents_rows = centres.represents_rows,
    };
}

void lift_centres(const FitTask &task, Plan plan, Fitted &out) {
    const auto &[run, recipe, data] = task;
    refuse_over_budget(plan_task_of(task, out), out.ahead.by_likely ? plan.likely_bytes : plan.bytes, plan.how);
    out.plan = std::move(plan);
    if (!out.plan.store_factor) out.reduction.factor = {};
    run.expect(lift_stages(*out.prepared.source, out.plan, out.centres.m()));
    if (has_state(out))
        open_checkpoint(task, out);
    else if (!run.checkpoint().empty() && !out.checkpoint)
        run.log(2, "no checkpoint is written: only exact fits with an iterative solver write one");
    Lifted &lifted = out.lifted =
        out.lift->lift({run, recipe, out.prepared, out.reduction, out.centres, out.plan, out.checkpoint.get()});
    if (recipe.solver() && !out.plan.solver)
        lifted.warnings.push_back("the solver '" + recipe.solver()->name +
                                  "' was not used: the fit took a projection, which needs none");
    lifted.warnings.insert(lifted.warnings.end(), out.prepared.warnings.begin(), out.prepared.warnings.end());
    lifted.kernel_evaluations += out.reduction.kernel_evaluations;
    lifted.passes += out.reduction.passes;
    warn_of_share(recipe.values(), out.prepared.source->rows(), out.centres.m(), lifted);
}

void fit_once(const FitTask &task, Fitted &out) {
    const auto &[run, recipe, data] = task;
    run.stage("reduce");
    Reduction reduction = reduce(run, recipe, data, out.prepared, out.ahead.stores_factor);
    if (recipe.reducer() && reduction.m > out.ahead.centres)
        fail(MERCER_E_PLUGIN, "reducer %s forecast at most %" PRId64 " centres and gave %" PRId64,
             recipe.reducer()->name.c_str(), out.ahead.centres, reduction.m);
    out.reducer = recipe.values().reducer;
    take_centres(task, lift_named(recipe.values().lift), std::move(reduction), out);
    lift_centres(task, out.lift->plan(plan_task_of(task, out)), out);
}

Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data) {
    Fitted out;
    out.ahead = forecast(run, recipe, data, Sample::cheap);
    run.expect(out.ahead.stages);
    run.stage("read");
    out.prepared = prepare(run, recipe, data);
    driver_named(driver_of(recipe).name).fit({run, recipe, data}, out);
    return out;
}

} // namespace mercer
