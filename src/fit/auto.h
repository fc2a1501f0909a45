// The method `auto`: accuracy is asked for, not m.
#pragma once
#include "lift_projected.h"

namespace mercer {

// What `auto` found: either a projection with its proof, or that exact passes over the kernel matrix are the better way.
struct Road {
    bool exact = true;
    bool proved = true;  // of the exact road its residuals say (judge_exact)
    bool f32 = false;    // exact passes in f32 should keep the accuracy
    Reduction reduction; // of the projected road, factor and findings included; of the exact one, all rows
    double tol = 0;      // of the exact road's solver: relative to the first eigenvalue
    Json report = Json::object();
};
Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared, const Roads &roads);
// The plan of the exact road: in f64 where f32 is not known to keep the accuracy and the budget holds it.
Plan plan_exact(PlanTask task, bool f32);
// Whether residuals of exact passes prove the accuracy; where they do not, the road says so. E_NUMERICAL under solver.strict.
void judge_exact(Run &run, const Recipe &recipe, const Plan &plan, double worst_share, Road &road);

} // namespace mercer
