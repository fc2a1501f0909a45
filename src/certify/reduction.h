// Certificates of a reduced-set model: bounds on how far the mean and the covariance of the weighted centres are from those of
// all rows, and therefore the model from that of all rows (specification reduced sets, 6).
#pragma once
#include "../core/cost.h"
#include "../model/centres.h"
#include "../model/lifted.h"
#include "../recipe/plan_task.h"

#include <cmath>

namespace mercer {

// A reduced-set model, the rows that it stands for, and which expensive certificates the budget allows.
struct ReducedModel {
    Run &run;
    const CoreValues &values; // of the recipe
    const Prepared &prepared;
    const Centres &centres;
    bool spans, measures; // from the span of the centres (by_span.h), with the true errors (dense_check.h)
    Lifted &model;        // kernel values are counted here
};

// ---- levels

// Upper bounds, in feature space, of |mu - mu_C|, |T - T_C|_HS, and the l2 norm of the differences of all eigenvalues; NaN if
// this level does not bound the quantity.
struct Quantisation {
    const char *by = ""; // radius, distances, clusters, pairs, exact
    double mmd = NAN, covariance = NAN, eigenvalues = NAN;
    double failure = 0;
    double seen_mmd = NAN, seen_covariance = NAN; // the true values, up to rounding
};
struct Levels {
    std::vector<Quantisation> found; // bounds for the uncentred T, from the coarsest on
    double kappa;                    // k(x, x) where it is the same for all x; else NaN
    double rounding;                 // of the model's eigenvalues
};
// The levels that the data, the reducer and report.certificates allow, for the centres' own model.
Levels quantise(const ReducedModel &of);
void foresee_quantisation(const PlanTask &task, Cost &cost); // adds its own

// ---- as the report has them

// Which bounds for the centres' problem carry over to the resulting model.
struct Claims {
    bool density;            // its density is that of the weighted centres
    bool values, directions; // its eigenvalues, its components are those of that problem
};
// The certificates of a model of the centres' problem: mmd, covariance, eigenvalues and density, and for each
// component eigenvalue, projection and excess.
Certificates quantisation_certificates(const ReducedModel &of, const Claims &claims);
// The certificates of the finished model: its own, those that carry over, and those from the span of the centres, each with
// its measured value; the tightest for each component. directions: the components are orthonormal and lie in that span.
void certify_standing(const ReducedModel &of, bool directions, const Certificates &stood);

struct Foreseen {
    bool spans = false, measures = false; // as in ReducedModel
};
// Adds the cost of all certificates, for a model of so many bytes and at most so many components. span: the cost of kernel PCA of
// all rows on the span of the centres, if report.certificates asks for it.
Foreseen foresee_standing(const PlanTask &task, int64_t model, int64_t components, const Cost &span, Cost &cost);

} // namespace mercer
