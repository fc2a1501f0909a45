// The true errors of a reduced-set model, next to its certificates: by dense eigenproblems of all rows and of the centres
// (report.certificates = exact, up to 2000 rows).
#pragma once
#include "fit.h"

namespace mercer {

struct Truth {
    std::vector<double> lambda;             // of all rows
    double covariance = 0, eigenvalues = 0; // |T - T_C|_HS; l2, of all eigenvalues
    double density = 0;                     // largest difference at the rows
    std::vector<double> projection, excess; // of the first 1, 2, ... components; empty if not requested
};
Truth measure_truth(const LiftTask &task, bool directions, Lifted &model); // counts kernel values
// Adds `measured` to the entries that lack it.
void add_measured(const Truth &truth, Json &entries);
void foresee_measured(const PlanTask &task, Plan &plan); // adds the cost; plan.measures: true if it will be done

} // namespace mercer
