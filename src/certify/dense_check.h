// Measures the true errors of a reduced-set model, to be shown next to its certificates, by dense
// eigenproblems of all rows and of the centres (report.certificates = exact, up to 2000 rows).
#pragma once
#include "reduction.h"

namespace mercer {

struct Truth {
    std::vector<double> lambda; // eigenvalues of kernel PCA of all rows
    // |T - T_C|_HS for the covariance operators T of the rows and T_C of the centres, and the l2
    // norm of the differences of all eigenvalues.
    double covariance = 0, eigenvalues = 0;
    double density = 0;                     // largest difference of the densities at the rows
    std::vector<double> projection, excess; // for the first 1, 2, ... components; empty if not requested
};
Truth measure_truth(const ReducedModel &of, bool directions);
// Adds the measured value to each certificate that has none.
void add_measured(const Truth &truth, Certificates &certificates);
// Adds to cost the cost of measure_truth() for at most this many components; returns false and adds
// nothing if the truth will not be measured.
bool plan_measurement(const PlanTask &task, int64_t components, Cost &cost);

} // namespace mercer
