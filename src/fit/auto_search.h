// The driver `auto`: the user requests an accuracy instead of a number of landmarks m.
#pragma once
#include "forecast.h"

namespace mercer {

// An attempt to certify the accuracy with the present factor.
struct Attempt {
    int64_t m; // columns of the factor
    // The bounds of the largest relative error of an eigenvalue that follow from the trace of the
    // residual, from its norm, and from all evidence together. Infinite: the evidence gives no
    // bound; NaN: it was not used.
    double trace = NAN, norm = NAN, proved = NAN;
    int64_t directions = 0, // on which sampled rows were projected; 0: no row was sampled
        rows = 0,           // in the last sample; 0: none was drawn after the pilot
        needed = 0;         // rows that are needed according to the last sample; 0: not estimated
};

// The decision of `auto`: a projection with its certificate, or exact passes over the kernel
// matrix.
struct Strategy {
    bool exact = true;
    // The accuracy is certified. On the exact strategy the residuals decide this, after the lift.
    bool proved = true;
    bool f32 = false;    // exact passes in f32 are expected to keep the accuracy
    Reduction reduction; // of the projected strategy, with factor and findings; otherwise unused
    double tol = 0;      // of the solver on the exact strategy, relative to the first eigenvalue
    std::vector<Attempt> attempts;
    std::string why; // the reason for the decision
};
struct Fitted;                                    // fit_rows.h
Forecast forecast_auto(const ForecastTask &task); // auto_budget.cpp
void fit_auto(const FitTask &task, Fitted &out);
// The plan of the exact strategy. f32: passes in f32 are expected to keep the accuracy; if false,
// the plan uses f64 if that fits in the budget.
Plan plan_exact(PlanTask task, bool f32);
// Checks whether the residuals of exact passes certify the accuracy. If they do not, the strategy
// and the log say so, or with solver.strict the function fails with E_NUMERICAL.
void judge_exact(const FitTask &task, const Fitted &fitted, Strategy &strategy);

} // namespace mercer
