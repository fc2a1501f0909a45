// Ritz refinement (lift.ritz): the best components of all rows within the span of more directions than requested.
#pragma once
#include "lift.h"

namespace mercer {

// Means over all rows, by sample weight, of scores z(x) = A^T k_C(x) - b, and of the quantities that their certificate needs.
struct ScoreMeans {
    std::vector<double> mean, second; // z; z z^T
    std::vector<double> gram;         // A^T K A; empty: 1
    double self = 0;                  // k(x, x)
    double square = 0;                // at most |mean of phi|^2; 0 uncentred
    explicit ScoreMeans(int64_t size);
    int64_t size() const { return static_cast<int64_t>(mean.size()); }
    void add(const ScoreMeans &others);
    // Adds the scores z (count x size(), row-major) of points with these weights.
    void add(const double *z, int64_t stride, int64_t count, const double *weights, double total);
};

// Computes the means for a model of the lift `weighted`, in one pass over n x m kernel values, which are counted.
ScoreMeans score_means(const LiftTask &task, Lifted &model);
void foresee_refinement(const PlanTask &task, Plan &plan); // adds its cost

// Rotates the directions in model.tensors["A"] and keeps model.kept components.
void refine(const LiftTask &task, const ScoreMeans &means, Lifted &model);

} // namespace mercer
