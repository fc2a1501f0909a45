#pragma once
#include "operator.h"

namespace mercer {

// A + U diag(c) U^T, where U is n x k.
class RankOperator : public Operator {
  public:
    RankOperator(const Operator &base, Columns u, std::vector<double> c)
        : Operator(base.n(), base.f32()), base_(base), u_(u), c_(std::move(c)) {}
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    Fidelity fidelity() const override;
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override;

  private:
    const Operator &base_;
    Columns u_;
    std::vector<double> c_;
};

} // namespace mercer
