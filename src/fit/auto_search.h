// The driver `auto`: the user requests an accuracy instead of m.
#pragma once
#include "forecast.h"

namespace mercer {

// An attempt to certify with the present factor: the largest relative error of an eigenvalue that each kind of evidence
// certifies. Infinite: it certifies none; NaN: it was not tried.
struct Attempt {
    int64_t m;                                    // columns of the factor
    double trace = NAN, norm = NAN, proved = NAN; // by the trace, by the norm, by all evidence
    int64_t directions = 0, rows = 0, needed = 0; // of the sample of rows; 0: none was drawn
};

// The decision of `auto`: a projection with its certificate, or exact passes over the kernel
// matrix.
struct Strategy {
    bool exact = true;
    // The accuracy is certified. On the exact strategy the residuals decide this, after the lift.
    bool proved = true;
    bool f32 = false;    // exact passes in f32 should keep the accuracy
    Reduction reduction; // projected strategy: with factor and findings; exact strategy: all rows
    double tol = 0;      // tolerance of the solver on the exact strategy, relative to the first eigenvalue
    std::vector<Attempt> attempts;
    std::string why; // the reason for the decision
};
struct Fitted;                                    // fit_rows.h
Forecast forecast_auto(const ForecastTask &task); // auto_budget.cpp
void fit_auto(const FitTask &task, Fitted &out);
// The plan of the exact strategy. It uses f64 if f32 is not known to keep the accuracy and f64 fits in
// the budget.
Plan plan_exact(PlanTask task, bool f32);
// Checks whether the residuals of exact passes certify the accuracy. If they do not, the strategy and
// the log state it, and solver.strict turns this into E_NUMERICAL.
void judge_exact(const FitTask &task, const Fitted &fitted, Strategy &strategy);

} // namespace mercer
