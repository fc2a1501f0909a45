// The method `auto`: the user requests an accuracy instead of m.
#pragma once
#include "forecast.h"
#include "report.h"

namespace mercer {

// The decision of `auto`: a projection with its certificate, or exact passes over the kernel
// matrix.
struct Road {
    bool exact = true;
    // The accuracy is certified. On the exact road judge_exact decides this later, from the
    // residuals.
    bool proved = true;
    bool f32 = false;    // exact passes in f32 should keep the accuracy
    Reduction reduction; // projected road: with factor and findings; exact road: all rows
    double tol = 0;      // tolerance of the solver on the exact road, relative to the first eigenvalue
    AutoReport report;
};
Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared, const Roads &roads);
// The plan of the exact road. It uses f64 if f32 is not known to keep the accuracy and f64 fits in
// the budget.
Plan plan_exact(PlanTask task, bool f32);
// Checks whether the residuals of exact passes certify the accuracy. If they do not, the road and
// the log say so, and solver.strict turns this into E_NUMERICAL.
void judge_exact(Run &run, const Recipe &recipe, const Plan &plan, double worst_share, Road &road);

} // namespace mercer
