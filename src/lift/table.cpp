// The table of lifts, in the order of the rows of recipe/traits.cpp, and the stages that all lifts
// have.
#include "../factor/nystrom_start.h"
#include "lift.h"

namespace mercer {
namespace {

double as_double(int64_t value) { return static_cast<double>(value); }

// The cost of start vectors: the kernel values and the products of factor/nystrom_start.cpp.
double start_cost(const Source &source, const Plan &plan, int64_t m) {
    const double rank = as_double(plan.start_rank);
    return start_evaluations(m, plan.start_rank).likely * value_cost(source.cols(), true) +
           as_double(m) * slow_work / 2 * 4 * rank * rank;
}

} // namespace

const Lift &lift_named(const std::string &name) {
    static const Lift table[] = {
        {find_lift("weighted"), plan_refined, lift_weighted},
        {find_lift("extended"), plan_extended, lift_extended},
        {find_lift("projected"), plan_projected, lift_projected},
        {find_lift("triangular"), plan_triangular, lift_triangular},
        {find_lift("manifold"), plan_manifold, lift_manifold},
    };
    const LiftTraits &traits = find_lift(name);
    for (const Lift &lift : table)
        if (&lift.traits == &traits) return lift;
    fail(MERCER_E_UNSUPPORTED, "lift '%s' is not implemented", name.c_str());
}

double start_share(const Source &source, const Plan &plan, int64_t m) {
    const double start = start_cost(source, plan, m);
    return start > 0 ? start / lift_stages(source, plan, m)[1].second : 0;
}

Run::Stages lift_stages(const Source &source, const Plan &plan, int64_t m) {
    const double values = plan.kernel_evaluations.likely * value_cost(source.cols(), plan.f32 || plan.rough),
                 order = as_double(m), once = plan.store == Store::matrix ? values / plan.passes.likely : 0;
    return {{"gram", once},
            {"solve", start_cost(source, plan, m) + values - once +
                          2 * order * order * plan.columns.likely * (plan.f32 || plan.rough ? 1 : 2) +
                          slow_work / 2 * plan.flops_each * plan.products.likely +
                          factorisation_cost(plan.dense_order)},
            {"certify", plan.certify_cost},
            {"lift", 100 * as_double(source.rows() + m)}};
}

} // namespace mercer
