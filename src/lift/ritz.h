// Ritz refinement (lift.ritz): computes more directions than requested, and finds the best
// components of all rows within their span.
#pragma once
#include "lift.h"

namespace mercer {

// Means over all rows, weighted by the sample weights, of the scores z(x) = A^T k_C(x) - b and of
// what the certificates of the refined model need.
struct ScoreMeans {
    std::vector<double> mean, second; // mean: of z; second: mean of z z^T (r x r)
    std::vector<double> gram;         // A^T K A; empty if it is the identity
    double self = 0;                  // mean of k(x, x)
    double square = 0;                // lower bound of |mean of phi|^2; 0 if uncentred
    explicit ScoreMeans(int64_t size);
    int64_t size() const { return static_cast<int64_t>(mean.size()); }
    void add(const ScoreMeans &others);
    // Adds the scores z (count x size(), row-major) of points with these weights. total: the sum of
    // the weights of all points.
    void add(const double *z, int64_t stride, int64_t count, const double *weights, double total);
};

// Computes the means for a model of the lift `weighted`, in one pass over n x m kernel values,
// which it counts.
ScoreMeans score_means(const LiftTask &task, Lifted &model);
void plan_refinement(const PlanTask &task, Plan &plan); // adds the cost of refinement

// Rotates the directions in model.tensors["A"] and keeps at most model.kept components.
void refine(const LiftTask &task, const ScoreMeans &means, Lifted &model);

} // namespace mercer
