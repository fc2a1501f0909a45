#pragma once
#include "operator.h"

namespace mercer {

// The centred matrix H K H^T, H = 1 - 1 w^T / W, of a base operator K: the inner products of the
// images less their weighted mean. Unlike WeightedOperator it scales no row, so that rows of weight
// 0 keep their values.
class CentredOperator : public Operator {
  public:
    // weights: nullptr: all are 1. Makes one product with the base.
    CentredOperator(Run &run, const Operator &base, const double *weights);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    // |H (B - K) H^T| <= |H|^2 |B - K|, and |H| <= 1 + sqrt(n) |w| / W.
    Fidelity fidelity() const override;
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override;
    void row_squares(Run &run, const Squares &of, double *out) const override;

    const double *mean() const { return mean_.data(); } // mu = K w / W
    double mean_square() const { return mean_square_; } // w^T K w / W^2

  private:
    const Operator &base_;
    double stretch_;              // |H|^2
    Buffer<double> mean_, shift_; // shift_: mu - mean_square / 2
    double mean_square_ = 0;
};

} // namespace mercer
