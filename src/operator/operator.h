// Symmetric operators, the only thing a solver sees. A base (gram.h) and what composes with it: scaling and centring
// (weighted.h), a matrix of low rank (low_rank.h), a cheaper twin (paired.h), a count of passes (counted.h).
#pragma once
#include "../core/block.h"

#include <functional>

namespace mercer {

// Reads rows row0 ... row0 + rows of a tall matrix, row-major; called on any thread, in any order, repeatedly.
using Fill = std::function<void(int64_t row0, int64_t rows, double *to, int64_t stride)>;
// All rows of a product, row-major; may be written to.
using Take = std::function<void(double *y, int64_t stride)>;

class Operator {
  public:
    Operator(int64_t n, bool f32) : n_(n), f32_(f32) {}
    virtual ~Operator() = default;
    int64_t n() const { return n_; }
    bool f32() const { return f32_; } // the type of the solvers' blocks
    // Y = A Q, p columns. Operators compose by wrapping both ends, so that Q and Y exist once, whatever is around the base.
    // rough: with the rounding errors of f32, for less; only where has_rough().
    virtual void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const = 0;
    virtual bool has_rough() const { return false; }
    // All of A, both triangles.
    virtual void dense(Run &run, double *a, int64_t lda) const = 0;
    virtual void diagonal(Run &run, double *d) const = 0;

    // Of blocks' columns, which do not overlap.
    void apply(Run &run, bool rough, Columns q, Columns y) const;
    // As plugins see it; this must outlive it.
    mercer_operator c_operator() const;

  private:
    int64_t n_;
    bool f32_;
};

// Products with matrices that are given by rows, for operators that wrap another: S (k x p) = U^T Q in slabs of rows whose parts
// are added in order, and Y += U S for row-major Y.
Buffer<double> dots(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const Fill &q);
void add_product(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const double *s, double *y, int64_t stride);
Fill rows_of(Columns x);

} // namespace mercer
