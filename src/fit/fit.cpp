#include "fit.h"

#include "auto_search.h"
#include "prepare.h"
#include "reduce.h"
#include "report.h"

#include <cinttypes>

namespace mercer {
namespace {

Tensors all_tensors(const Recipe &recipe, const Prepared &prepared, Centres &centres, Lifted &lifted) {
    Tensors tensors = std::move(centres.tensors);
    if (recipe.values().assignment) {
        Tensor assignment = make_tensor<int64_t>(prepared.source->rows(), 1, true);
        std::copy(centres.assignment.begin(), centres.assignment.end(), tensor_data<int64_t>(assignment));
        tensors["assignment"] = std::move(assignment);
    }
    for (auto &[name, tensor] : lifted.tensors) tensors[name] = std::move(tensor);
    if (!prepared.map.identity()) {
        tensors["T.shift"] = vector_tensor(prepared.map.shift);
        tensors["T.scale"] = vector_tensor(prepared.map.scale);
    }
    for (size_t l = 0; l < prepared.kernel.leaves.size(); ++l)
        if (!prepared.kernel.leaves[l].shift.empty())
            tensors["shift." + std::to_string(l + 1)] = vector_tensor(prepared.kernel.leaves[l].shift);
    return tensors;
}

} // namespace

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &given, const RunSettings &settings) {
    run.expect({{"read", 1}, {"the rest", 99}}); // before the number of rows is known
    run.stage("read");
    const Data data = data_of(run, recipe, given);
    const int64_t left_out = data.source->given_rows() - data.source->rows();
    if (left_out > 0)
        run.log(2, format("%" PRId64 " of %" PRId64 " rows are left out of the fit: they have missing values", left_out,
                          data.source->given_rows())
                       .c_str());
    run.budget()->take(data.source->held_bytes());
    const Forecast ahead = forecast(run, recipe, data, Look::cheap); // may refuse, before any work
    run.expect(ahead.stages);
    run.stage("read");
    Prepared prepared = prepare(run, recipe, data);
    const Source &source = *prepared.source;

    run.stage("reduce");
    Road road;
    if (recipe.is_auto()) road = choose_road(run, recipe, prepared, ahead.roads);
    const Lift &lift = lift_named(recipe.is_auto() && road.exact ? "weighted" : recipe.values().lift);
    Reduction reduction =
        road.exact ? reduce(run, recipe, data, prepared, ahead.holds_factor) : std::move(road.reduction);
    if (recipe.reducer() && reduction.m > ahead.centres)
        fail(MERCER_E_PLUGIN, "reducer %s forecast at most %" PRId64 " centres and gave %" PRId64,
             recipe.reducer()->name.c_str(), ahead.centres, reduction.m);
    if (!lift.traits.uses_factor) reduction.factor = {};
    Centres centres = make_centres(run, prepared, reduction);
    reduction.points = Buffer<unsigned char>();

    const int64_t most = std::min(run.budget()->limit(), static_cast<int64_t>(ahead.figures.bytes.most));
    const PlanTask task{run,
                        recipe,
                        prepared.kernel,
                        source,
                        prepared.f32,
                        centres.m(),
                        most - base_bytes(source, centres.m(), prepared.f32) - centres.assignment.bytes(),
                        centres.rows,
                        reduction.factor_bytes(),
                        road.tol,
                        prepared.f32_serves,
                        centres.stands_for};
    const Plan plan = recipe.is_auto() && road.exact ? plan_exact(task, road.f32) : lift.plan(task);
    refuse_over_budget(task, ahead.by_likely ? plan.likely_bytes : plan.bytes, plan.how);
    if (!plan.keep_factor) reduction.factor = {};
    run.expect(lift_stages(source, plan, centres.m()));
    if (!run.checkpoint().empty() &&
        !(lift.traits.solves && plan.solver && plan.solver->solver.flags & MERCER_KEEPS_STATE))
        run.log(2, "no checkpoint is written: only exact fits with an iterative solver write one");
    Lifted lifted = lift.lift({run, recipe, prepared, reduction, centres, plan});
    if (recipe.is_auto() && road.exact) judge_exact(run, recipe, plan, lifted.worst_share, road);
    if (!road.proved) lifted.outcome |= MERCER_NOT_CONVERGED;
    if (recipe.solver() && !plan.solver)
        lifted.warnings.push_back("the solver '" + recipe.solver()->name +
                                  "' was not used: the fit took a projection, which needs none");

    lifted.kernel_evaluations += reduction.kernel_evaluations;
    warn_of_share(recipe.values(), source.rows(), centres.m(), lifted);
    Json text = report_text({run, recipe, prepared, reduction, centres, plan, lifted, ahead.figures});
    if (!data.columns.empty()) text["columns"] = data.columns;
    if (left_out > 0) text["left_out"] = left_out;
    if (recipe.is_auto()) {
        text["road"] = auto_json(road.report);
        text["forecast"]["road"] = ahead.figures.passes.likely > 0 ? "exact" : "projected";
        text["forecast"]["why"] = ahead.road;
        text["lift"] = lift.traits.name;
        if (!road.exact) text["reducer"] = "rpcholesky";
    }
    Tensors tensors = all_tensors(recipe, prepared, centres, lifted);
    need_finite(text, tensors);
    auto model = Model::assemble(std::move(text), std::move(tensors), recipe.registry(), settings);
    if (prepared.kernel.has_user() && prepared.kernel.user) model = model->bind(prepared.kernel.user);
    run.progress(1);
    return model;
}

} // namespace mercer
