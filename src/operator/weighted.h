#pragma once
#include "operator.h"

namespace mercer {

// P S K S P with S = diag(s) and P = 1 - u u^T, u = s / |s|. With s = sqrt(w), sum w = n, it has
// the eigenvalues of the weighted, centred kernel matrix. Without centring P = 1. If s is nullptr,
// S = 1.
class WeightedOperator : public Operator {
  public:
    WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    // For the base operator B: |P S (B - K) S P| <= max s^2 |B - K|.
    Fidelity fidelity() const override;
    // columns and row_squares centre by the exact mean, which they take from mean().
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override;
    void row_squares(Run &run, const Squares &of, double *out) const override;
    // Returns K S u from a product that is not rough. The first product computes K S u as an
    // additional column; if it is rough, the first exact one computes it again. If no exact product
    // has been made yet, mean() makes one.
    const double *mean(Run &run) const;
    // How accurately K S u is known so far. With known_mean() and know(), a checkpoint hands it on
    // to a later run.
    enum class Mean { unknown, rough, exact };
    Mean known() const { return known_; }
    const Buffer<double> &known_mean() const { return mean_; }
    void know(Mean how, const double *mean) {
        known_ = how;
        std::copy_n(mean, mean_.size(), mean_.data());
    }

  private:
    double scale(int64_t i) const { return scale_ ? scale_[i] : 1; }
    double unit(int64_t i) const { return scale(i) * inverse_length_; }
    Buffer<double> shift(Run &run) const; // the vector a of weighted.cpp; zeros if uncentred
    const Operator &base_;
    const double *scale_;
    bool centred_;
    double inverse_length_; // 1 / |s|
    mutable Buffer<double> mean_;
    mutable Mean known_ = Mean::unknown;
};

} // namespace mercer
