#pragma once
#include "operator.h"

namespace mercer {

// Two operators for the same matrix: an exact one, and a cheaper one with the rounding errors of
// f32.
class PairedOperator : public Operator {
  public:
    PairedOperator(const Operator &exact, const Operator &rough)
        : Operator(exact.n(), exact.f32()), exact_(exact), rough_(rough) {}
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override {
        (rough ? rough_ : exact_).product(run, false, p, q, y);
    }
    bool has_rough() const override { return true; }
    void dense(Run &run, double *a, int64_t lda) const override { exact_.dense(run, a, lda); }
    void diagonal(Run &run, double *d) const override { exact_.diagonal(run, d); }
    Fidelity fidelity() const override { return exact_.fidelity(); }
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override {
        exact_.columns(run, index, count, out, ldo);
    }
    void row_squares(Run &run, const Squares &of, double *out) const override { exact_.row_squares(run, of, out); }

  private:
    const Operator &exact_, &rough_;
};

} // namespace mercer
