// R is the Cholesky factor of S, and its inverse is computed once for each model: 2 r^3 / 3 flops,
// r^2 numbers. A score is then whitened by a product with r (r + 1) / 2 of them. The relative error
// of g is at most about r u cond(R). S is refused if the variance of a component, given those
// before it, is at most rounding_floor times its variance: it may then consist of rounding errors.
#include "whitening.h"

#include "../core/blas.h"
#include "../core/rounding.h"
#include "../core/text.h"

#include <cinttypes>
#include <cmath>

namespace mercer {

Whitening::Whitening(const Tensors &tensors) {
    if (tensors.count("v")) {
        why_not_ = "its eigenvalues are those of a random walk, not variances";
        return;
    }
    if (const auto covariance = tensors.find("covariance"); covariance != tensors.end()) {
        factor(covariance->second, tensors.at("A").dtype == MERCER_F32);
        return;
    }
    const Tensor *found = variances_of(tensors);
    if (!found) {
        why_not_ = tensors.count("variance") ? format("its features are correlated, and models store no covariance of "
                                                      "more than %" PRId64 " features",
                                                      most_correlated)
                                             : "it has no eigenvalues (tensor 'lambda')";
        return;
    }
    variances_.assign(tensor_data<double>(*found), tensor_data<double>(*found) + found->rows);
    for (size_t j = 0; j < variances_.size() && why_not_.empty(); ++j)
        if (!(variances_[j] > 0))
            why_not_ = format("%s = %g of component %zu, must be > 0", tensors.count("scatter") ? "scatter" : "lambda",
                              variances_[j], j);
}

void Whitening::factor(const Tensor &covariance, bool f32) {
    const int64_t r = r_ = covariance.rows;
    std::vector<double> s(tensor_data<double>(covariance), tensor_data<double>(covariance) + r * r);
    const double least = rounding_floor(f32, r);
    int64_t good = potrf(r, s.data(), r); // 0: all of it
    good = good == 0 ? r : good - 1;
    for (int64_t j = 0; j < good; ++j)
        if (const double pivot = s[static_cast<size_t>(j + j * r)];
            !(pivot * pivot > least * tensor_data<double>(covariance)[j + j * r]))
            good = j;
    if (good < r) {
        why_not_ = format("the covariance of its scores is singular: on the rows fitted on, component %" PRId64
                          " is a combination of those before it",
                          good);
        return;
    }
    inverse_.assign(static_cast<size_t>(r * r), 0.0);
    for (int64_t j = 0; j < r; ++j) inverse_[static_cast<size_t>(j + j * r)] = 1;
    // Column-major: the rows of R^-1, stored one after the other, are the columns of R^-T = I R^-T.
    trsm('T', r, r, s.data(), r, inverse_.data(), r);
}

double Whitening::whitened(const double *f, int64_t j) const {
    if (!correlated()) return f[j] / std::sqrt(variances_[static_cast<size_t>(j)]);
    double sum = 0;
    for (int64_t k = 0; k <= j; ++k) sum += inverse_[static_cast<size_t>(j * r_ + k)] * f[k];
    return sum;
}

} // namespace mercer
