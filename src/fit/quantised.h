// Certificates of a model whose centres stand for rows: how far the mean and the covariance of the weighted centres are from
// those of all rows, and so the model from that of all rows (specification reduced sets, 6).
#pragma once
#include "fit.h"

namespace mercer {

// ---- levels

// At most, in feature space: |mu - mu_C|, |T - T_C|_HS, and the l2 norm of the differences of all eigenvalues; NaN: it says
// nothing of that one.
struct Quantisation {
    const char *by = ""; // radius, distances, clusters, pairs, exact
    double mmd = NAN, covariance = NAN, eigenvalues = NAN;
    double failure = 0;
    double seen_mmd = NAN, seen_covariance = NAN; // what they are, but for rounding
};
struct Levels {
    std::vector<Quantisation> found; // of the uncentred T, from the coarsest on
    double kappa;                    // k(x, x) where it is the same for all x; else NaN
    double rounding;                 // of the model's eigenvalues
};
// Those that the data, the reducer and report.certificates allow, of the centres' own model. Counts kernel values.
Levels quantise(const LiftTask &task, Lifted &model);
void foresee_quantisation(const PlanTask &task, Plan &plan); // adds what that takes

// ---- as the report has them

// What is said of the centres' problem and holds for the model that comes of it.
struct Claims {
    bool density;            // its density is that of the weighted centres
    bool values, directions; // its eigenvalues, its components are those of that problem
};
// For the report, of a model as its centres' problem left it: mmd, covariance, eigenvalues and density, and for each component
// eigenvalue, projection and excess.
Json quantisation_entries(const LiftTask &task, const Claims &claims, Lifted &model);
// The certificates of the finished model: its own, those that stood, what the span of the centres proves, each with what was
// measured; of each component the tightest. directions: its components are orthonormal and lie in that span.
void certify_standing(const LiftTask &task, bool directions, Json stood, Lifted &model);
// Adds what all of it takes, beside so many bytes of the model.
void foresee_standing(const PlanTask &task, int64_t model, Plan &plan);

} // namespace mercer
