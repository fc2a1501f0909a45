#include "solve.h"

#include "../certify/by_span.h"
#include "../core/rounding.h"
#include "../core/tall.h"
#include "../factor/nystrom_start.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

SolveProgress::SolveProgress(const LiftTask &task, Json own, WeightedOperator &weighted, Counted &counted,
                             Components &choice, std::function<int64_t()> evaluations)
    : task_(task), own_(std::move(own)), weighted_(weighted), counted_(counted), choice_(choice),
      evaluations_(std::move(evaluations)) {
    if (!task.checkpoint || !(task.plan.solver->solver.flags & MERCER_KEEPS_STATE)) return;
    section_ = task.checkpoint->add("lift", *this);
    solver_ = std::make_unique<SolverState>(*task.checkpoint);
}

// Returns the settings that the identity of the fit (its recipe and data) does not include, because
// they follow from the budget and the lift.
Json SolveProgress::identity() const {
    const Plan &plan = task_.plan;
    return record({{"lift", own_},
                   {"dtype", plan.f32 ? "f32" : "f64"},
                   {"rough", plan.rough},
                   {"tol", plan.tol},
                   {"solver", plan.solver->name},
                   {"m", task_.centres.m()}});
}

void SolveProgress::store(Json &values, TensorViews &tensors) const {
    values = record({{"ask", choice_.ask()},
                     {"evaluations", evaluations()},
                     {"mean", static_cast<int>(weighted_.known())},
                     {"passes", Json::array()}});
    for (const Pass &pass : counted_.passes()) values["passes"].push_back({pass.width, pass.f32});
    const Buffer<double> &mean = weighted_.known_mean();
    if (weighted_.known() == WeightedOperator::Mean::unknown) return;
    TensorView &view = tensors["mean"];
    view.dtype = MERCER_F64, view.rows = mean.size(), view.vector = true;
    view.data = mean.data(), view.bytes = mean.bytes();
}

void SolveProgress::restore(const Json &values, std::map<std::string, Tensor> tensors) {
    const auto whole = [](const Json &value, int64_t most) {
        const auto number = value.get<int64_t>();
        if (number < 0 || number > most)
            fail(MERCER_E_MODEL, "it contains the number %" PRId64 ", must be 0 to %" PRId64, number, most);
        return number;
    };
    constexpr int64_t most = int64_t{1} << 53;
    choice_.resume(whole(values.at("ask"), most));
    before_ = whole(values.at("evaluations"), most);
    for (const Json &pass : values.at("passes")) counted_.passed(whole(pass.at(0), most), pass.at(1).get<bool>());
    const auto last = static_cast<int64_t>(WeightedOperator::Mean::exact);
    const auto known = static_cast<WeightedOperator::Mean>(whole(values.at("mean"), last));
    if (known == WeightedOperator::Mean::unknown) return;
    const Tensor &mean = tensors["mean"];
    if (mean.dtype != MERCER_F64 || mean.rows != weighted_.known_mean().size() || mean.cols != 1)
        fail(MERCER_E_MODEL, "the mean is missing");
    weighted_.know(known, reinterpret_cast<const double *>(mean.bytes.data()));
}

Start nystrom_start(const LiftTask &task, const Weighting &problem, double from, double to, int64_t &evaluations) {
    return {task.plan.start_columns, [&task, problem, from, to, &evaluations](Columns vectors) {
                Run::Span span(task.run, from, to);
                KernelRows rows = task.centres.rows_of(task.prepared.kernel);
                rows.weights = problem.weights;
                const Random random(seed_of(task), Stage::solver);
                evaluations += start_vectors(
                    task.run,
                    {rows, problem.plain ? nullptr : problem.weights, problem.centred, task.plan.start_rank, random},
                    vectors);
            }};
}

Eigenpairs solve_for(const Solving &solving) {
    const auto &[task, op, scale, first, choice, report, keeper, total] = solving;
    Run &run = task.run;
    Start start = first;
    Block known; // eigenvectors of the previous solve, which become start vectors of the next one
    for (;;) {
        Eigenpairs pairs = solve(run, task.recipe, task.plan, op, scale, choice.ask(), start, report, keeper);
        if (!choice.more(pairs.values, total())) return pairs;
        known = std::move(pairs.vectors);
        start = {known.cols(), [&](Columns to) { tall_copy(run, columns(known, 0, to.count), to); }};
    }
}

int64_t resolved_rank(const LiftTask &task, const Eigenpairs &pairs, double norm, double unit, uint32_t *outcome) {
    const Plan &plan = task.plan;
    const double floor = rounding_floor(plan.f32, pairs.m()) * std::max({norm, pairs.values[0], -pairs.most_negative});
    // If an eigenvalue Lambda has the residual R, the scores of its component have the variance
    // Lambda (1 + R^2 / Lambda^2). If R exceeds Lambda / 2, the scores are regarded as noise.
    const auto is_resolved = [&](size_t j) {
        return pairs.values[j] > floor && pairs.residuals[j] <= pairs.values[j] / 2;
    };
    int64_t rank = 0;
    while (rank < static_cast<int64_t>(pairs.values.size()) && is_resolved(static_cast<size_t>(rank))) ++rank;
    if (pairs.most_negative < -floor) *outcome |= MERCER_INDEFINITE;
    // Rounding alone leaves residuals up to `floor`, so they are allowed. For constant data, whose
    // eigenvalues are all 0, the tolerance relative to the first eigenvalue would allow nothing.
    const double allowed = std::max(plan.tol * std::fabs(pairs.values[0]), floor),
                 worst = *std::max_element(pairs.residuals.begin(), pairs.residuals.end());
    // If the solver reports convergence, ten times the requested residual is accepted, because
    // near the limit rounding errors decide on which side of it a residual lies.
    if (worst <= (pairs.converged ? 10 : 1) * allowed) return rank;
    *outcome |= MERCER_NOT_CONVERGED;
    if (task.recipe.values().solver_strict)
        fail(MERCER_E_NUMERICAL, "solver %s did not converge: largest residual %.3g, allowed %.3g",
             plan.solver->name.c_str(), worst * unit, allowed * unit);
    return rank;
}

void report_lack_of_memory(const LiftTask &task, Lifted &out) {
    const std::string text = format("output.variance or output.threshold needs more than %" PRId64
                                    " eigenpairs, but the memory budget holds no more",
                                    task.plan.most_pairs);
    if (task.recipe.values().solver_strict) fail(MERCER_E_NUMERICAL, "%s", text.c_str());
    out.outcome |= MERCER_NOT_CONVERGED;
    out.stopped = text;
    task.run.log(2, text.c_str());
}

void note_passes(const Plan &plan, const Counted &op, Lifted &out) {
    out.passes = plan.store == Store::matrix ? 1 : 0;
    out.passes_made = op.passes();
    for (const Pass &pass : op.passes()) {
        out.passes += plan.store != Store::matrix || (plan.rough && !pass.f32);
        out.columns += static_cast<double>(pass.width);
    }
    out.products = static_cast<double>(op.passes().size());
}

ReducedModel reduced_model(const LiftTask &task, Lifted &model) {
    return {task.run, task.recipe.values(), task.prepared, task.centres, task.plan.certificates, model};
}

void plan_certificates(const PlanTask &task, int64_t model, Plan &plan) {
    Cost span;
    // Certificates by span need kernel PCA of all rows on the span of the centres. It factors the
    // kernel matrix of the centres itself, because the reducer's factor is freed before this lift.
    if (asks_for_span(task)) {
        PlanTask again = task;
        again.budget_left -= model;
        again.rows = false, again.handed = 0;
        span = plan_projected(again);
    }
    plan.certificates = plan_reduction_certificates(task, model, plan.most_pairs, span, plan);
}

} // namespace mercer
