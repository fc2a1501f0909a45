// The truth beside the certificates of a model whose centres stand for rows: dense eigenproblems of all rows and of the centres
// (report.certificates = exact, of up to 2000 rows).
#pragma once
#include "fit.h"

namespace mercer {

struct Truth {
    std::vector<double> lambda;             // of all rows
    double covariance = 0, eigenvalues = 0; // |T - T_C|_HS; l2, of all eigenvalues
    double density = 0;                     // largest difference at the rows
    std::vector<double> projection, excess; // of the first 1, 2, ... components; empty: not asked for
};
Truth measure_truth(const LiftTask &task, bool directions, Lifted &model); // counts kernel values
// Into entries that have no `measured` yet.
void add_measured(const Truth &truth, Json &entries);
void foresee_measured(const PlanTask &task, Plan &plan); // adds what that takes; plan.measures: it will be done

} // namespace mercer
