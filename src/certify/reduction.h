// Certificates of a reduced-set model. They bound how far the mean and the covariance of the
// weighted centres are from those of all rows, and therefore how far the model is from kernel PCA
// of all rows.
#pragma once
#include "../core/cost.h"
#include "../model/centres.h"
#include "../model/lifted.h"
#include "../recipe/plan_task.h"

#include <cmath>

namespace mercer {

// The expensive certificates that were asked for and that the budget allows. spans: certificates
// from the span of the centres (by_span.h); measures: measured errors (dense_check.h).
struct Affordable {
    bool spans = false, measures = false;
};

// A reduced-set model, and the rows that its centres represent.
struct ReducedModel {
    Run &run;
    const CoreValues &values; // of the recipe
    const Prepared &prepared;
    const Centres &centres;
    Affordable affordable;
    Lifted &model; // receives certificates and the number of kernel values that they take
};

// ---- levels of evidence

// Upper bounds of the errors of the centres, from one level of evidence: mmd bounds |mu - mu_C|,
// the distance of the means in feature space, covariance bounds |T - T_C|_HS for the covariance
// operators, and eigenvalues bounds the l2 norm of the differences of all eigenvalues. A bound is
// NaN if this level does not provide it.
struct Quantisation {
    const char *by = ""; // level: radius, distances, clusters, pairs or exact
    double mmd = NAN, covariance = NAN, eigenvalues = NAN;
    double failure = 0; // probability that a bound is wrong
    // The true values, up to rounding; NaN if this level does not compute them.
    double true_mmd = NAN, true_covariance = NAN;
};
struct Levels {
    std::vector<Quantisation> found; // bounds for the uncentred T, in the order of the levels
    double kappa;                    // k(x, x) if it is the same for all x; else NaN
    double rounding;                 // rounding error of the model's eigenvalues
};
// Bounds the errors of kernel PCA of the weighted centres (the centres' problem) at each level of
// evidence that the data, the reducer and report.certificates allow.
Levels quantise(const ReducedModel &of);
void plan_quantisation(const PlanTask &task, Cost &cost); // adds the cost of quantise()

// ---- certificates for the report

// Which parts of the model are those of the solution of the centres' problem: the density, the
// eigenvalues (values), the components (directions). Only for these parts do the bounds of
// quantise() hold.
struct Claims {
    bool density;
    bool values, directions;
};
// Returns the certificates that follow from quantise(): mmd, covariance, eigenvalues and density,
// and for each component those named eigenvalue, projection and excess (include/README.md).
Certificates quantisation_certificates(const ReducedModel &of, const Claims &claims);
// Writes the certificates of the finished model: those that it has already, those of
// quantisation_certificates(), and those from the span of the centres. Of several certificates with
// the same name and component, the tightest is kept. Measured values are added if they were asked
// for. directions: the components are orthonormal and lie in the span of the centres.
void certify_reduction(const ReducedModel &of, bool directions, const Certificates &quantisation);

// Adds to cost the cost of all certificates. model: the bytes of the model, which is in memory at
// the same time; components: the largest number of components; span: the cost of kernel PCA of all
// rows on the span of the centres, if report.certificates asks for it.
Affordable plan_reduction_certificates(const PlanTask &task, int64_t model, int64_t components, const Cost &span,
                                       Cost &cost);

} // namespace mercer
