// Certificates of a reduced-set model. They bound how far the mean and the covariance of the
// weighted centres are from those of all rows, and therefore how far the model is from that of all
// rows. The bounds themselves are in reduction_bounds.cpp.
#pragma once
#include "../core/cost.h"
#include "../model/centres.h"
#include "../model/lifted.h"
#include "../recipe/plan_task.h"

#include <cmath>

namespace mercer {

// The expensive certificates that the budget allows.
struct Affordable {
    bool spans = false, measures = false; // from the span of the centres (by_span.h); measured errors (dense_check.h)
};

// A reduced-set model, and the rows that its centres represent.
struct ReducedModel {
    Run &run;
    const CoreValues &values; // of the recipe
    const Prepared &prepared;
    const Centres &centres;
    Affordable affordable;
    Lifted &model; // its count of kernel values is increased
};

// ---- levels of evidence

// Upper bounds, in feature space, of |mu - mu_C|, of |T - T_C|_HS, and of the l2 norm of the
// differences of all eigenvalues. A bound is NaN if this level does not provide it.
struct Quantisation {
    const char *by = ""; // level: radius, distances, clusters, pairs or exact
    double mmd = NAN, covariance = NAN, eigenvalues = NAN;
    double failure = 0;
    double true_mmd = NAN, true_covariance = NAN; // the true values, up to rounding
};
struct Levels {
    std::vector<Quantisation> found; // bounds for the uncentred T, in the order of the levels
    double kappa;                    // k(x, x) if it is the same for all x; else NaN
    double rounding;                 // rounding error of the model's eigenvalues
};
// Bounds the errors of kernel PCA of the weighted centres (the centres' problem) at each level of
// evidence that the data, the reducer and report.certificates allow.
Levels quantise(const ReducedModel &of);
void foresee_quantisation(const PlanTask &task, Cost &cost); // adds the cost of quantise()

// ---- certificates for the report

// What the resulting model has in common with the solution of the centres' problem; bounds of the
// latter also hold for these parts of the model.
struct Claims {
    bool density;            // the density
    bool values, directions; // the eigenvalues; the components
};
// Returns the certificates that follow from quantise(): mmd, covariance, eigenvalues and density,
// and for each component those named eigenvalue, projection and excess (include/README.md).
Certificates quantisation_certificates(const ReducedModel &of, const Claims &claims);
// Writes the certificates of the finished model: its own, those that carry over (`stood`), and
// those from the span of the centres. For each component the tightest is kept. Measured values are
// added if they were asked for. directions: the components are orthonormal and lie in the span of
// the centres.
void certify_reduction(const ReducedModel &of, bool directions, const Certificates &quantisation);

// Adds the cost of all certificates, for a model of this many bytes and at most this many
// components. span: the cost of kernel PCA of all rows on the span of the centres, if
// report.certificates asks for it.
Affordable foresee_reduction(const PlanTask &task, int64_t model, int64_t components, const Cost &span, Cost &cost);

} // namespace mercer
