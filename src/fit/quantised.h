// Certificates of a model whose centres stand for rows: how far the mean and the covariance of the weighted centres are from
// those of all rows (specification reduced sets, 6).
#pragma once
#include "certify_report.h"
#include "fit.h"

namespace mercer {

// At most, in feature space: |mu - mu_C|, |T - T_C|_HS, and the l2 norm of the differences of all eigenvalues; NaN: it says
// nothing of that one.
struct Quantisation {
    const char *by = ""; // radius, distances, clusters, pairs, exact
    double mmd = NAN, covariance = NAN, eigenvalues = NAN;
    double failure = 0;
    double seen_mmd = NAN, seen_covariance = NAN; // what they are, but for rounding
};

// Those that the data, the reducer and report.certificates allow, from the coarsest on, for the report of a model of the lift
// `weighted`: its entries of name mmd, covariance, eigenvalues and density, and for each component eigenvalue and projection.
// Counts kernel values and passes.
Json quantisation_entries(const LiftTask &task, Lifted &model);
void foresee_quantisation(const PlanTask &task, Plan &plan); // adds what that takes

} // namespace mercer
