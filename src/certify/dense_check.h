// The true errors of a reduced-set model, next to its certificates: by dense eigenproblems of all rows and of the centres
// (report.certificates = exact, up to 2000 rows).
#pragma once
#include "reduction.h"

namespace mercer {

struct Truth {
    std::vector<double> lambda;             // of all rows
    double covariance = 0, eigenvalues = 0; // |T - T_C|_HS; l2, of all eigenvalues
    double density = 0;                     // largest difference at the rows
    std::vector<double> projection, excess; // of the first 1, 2, ... components; empty if not requested
};
Truth measure_truth(const ReducedModel &of, bool directions);
// Adds what was measured to the certificates that lack it.
void add_measured(const Truth &truth, Certificates &certificates);
// Adds the cost for at most so many components; false: it will not be done.
bool foresee_measured(const PlanTask &task, int64_t components, Cost &cost);

} // namespace mercer
