// Whitening: the linear map g = R^-1 f from scores to numbers of unit covariance on the rows that a
// model was fitted on. S = R R^T is the covariance of the scores, and R is lower triangular, so
// that g_1 ... g_k depend on f_1 ... f_k alone. Hotelling's T^2 is f^T S^-1 f = |g|^2.
#pragma once
#include "tensors.h"

namespace mercer {

class Whitening {
  public:
    // Uses the tensor `covariance` if there is one. Otherwise the scores are uncorrelated, and have
    // the variances of variances_of().
    explicit Whitening(const Tensors &tensors);
    // The map for uncorrelated scores.
    explicit Whitening(std::vector<double> variances) : variances_(std::move(variances)) {}

    // The largest number of scores for which models store a covariance.
    static constexpr int64_t most_correlated = 1000;
    // Why these scores cannot be whitened; "": they can.
    const std::string &why_not() const { return why_not_; }
    bool correlated() const { return !inverse_.empty(); }
    // The next two functions may be called only if why_not() is "".
    double whitened(const double *f, int64_t j) const; // g_j
    double t2(const double *f, int64_t r) const {
        double sum = 0;
        for (int64_t j = 0; j < r; ++j) sum += square(f, j);
        return sum;
    }

  private:
    double square(const double *f, int64_t j) const { // g_j^2
        if (!correlated()) return f[j] * f[j] / variances_[static_cast<size_t>(j)];
        const double g = whitened(f, j);
        return g * g;
    }
    void factor(const Tensor &covariance, bool f32);

    std::vector<double> variances_; // of uncorrelated scores
    std::vector<double> inverse_;   // R^-1, row-major, r_ x r_, if the scores are correlated
    int64_t r_ = 0;
    std::string why_not_;
};

} // namespace mercer
