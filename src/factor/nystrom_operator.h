// The operator L^T diag(w) L, centred at the mean of the rows (uncentred: at 0), for
// L = k(X, B) L_B^-T, computed by passes over k(X, B). `project` (nystrom_span.h) finds all
// eigenpairs of this operator with 2 n m^2 flops, including those for L; a solver finds a few of
// them with 4 n m p flops per pass (nystrom_operator.cpp).
#pragma once
#include "../operator/operator.h"
#include "nystrom_span.h"

namespace mercer {

template <class T>
class SpanOperator : public Operator {
  public:
    // All arguments but `about` are borrowed. rows: the rows of the data; weights: theirs, or
    // nullptr for 1. about: a point near the mean of the rows, in the coordinates of L; empty: 0.
    SpanOperator(Run &run, const SpanRows<T> &span, const Points<T> &rows, const double *weights, bool centred,
                 std::vector<double> about = {});
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    // Products are exact, because the operator is the covariance within the span itself.
    Fidelity fidelity() const override { return {0, true}; }

    // The mean of the rows (zeros if uncentred); known after the first product.
    const std::vector<double> &mean() const { return mean_; }
    int64_t kernel_evaluations() const override { return evaluations_; }
    // Bytes of a product with p columns over this many rows and m points B.
    static Bytes bytes(const Run &run, int64_t rows, int64_t m, int64_t p, const TileBytes &tiles);

  private:
    struct Work;
    struct Pass;
    void group(Run &run, const Pass &pass, int64_t first, int64_t end, Work &work, double *sums) const;
    void values(const Panel<T> &x, Work &work) const;

    const SpanRows<T> &span_;
    Points<T> rows_;
    Tiles<T> tiles_;
    const double *weights_;
    bool centred_;
    double total_;            // sum of the weights
    Buffer<double> triangle_; // L_B
    // The point c of nystrom_operator.cpp: `about` at first. If the operator is centred, the first
    // product replaces it by the mean of the rows and sets known_.
    mutable std::vector<double> mean_;
    mutable bool known_;
    mutable std::atomic<int64_t> evaluations_{0};
};

} // namespace mercer
