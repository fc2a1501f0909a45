// Symmetric operators, the only thing that a solver sees. A base operator (gram.h) holds the kernel
// matrix. Others wrap an operator to scale and centre it (weighted.h), to add a matrix of low rank
// (low_rank.h), to pair it with a cheaper one (paired.h), or to count its passes (counted.h).
#pragma once
#include "../core/block.h"

#include <functional>

namespace mercer {

// Writes rows row0 ... row0 + rows - 1 of a tall matrix to `to`, row-major. It may be called on any
// thread, in any order, and repeatedly.
using Fill = std::function<void(int64_t row0, int64_t rows, double *to, int64_t stride)>;
// Receives all rows of a product, row-major, and may overwrite them.
using Take = std::function<void(double *y, int64_t stride)>;

// How the matrix A of an operator relates to the matrix K of exact kernel values that it stands
// for. If A is scaled and centred, K is, too. Lifts call Operator::fidelity before they claim
// anything about K.
struct Fidelity {
    // Upper bound of the spectral norm |A - K|, rounding aside. 0: each value of A is that of K, up
    // to rounding of its type; infinite: no bound is known.
    double distance;
    bool positive; // A is known to be positive semi-definite, up to rounding
    bool exact() const { return distance == 0; }
};

class Operator {
  public:
    Operator(int64_t n, bool f32) : n_(n), f32_(f32) {}
    virtual ~Operator() = default;
    int64_t n() const { return n_; }
    bool f32() const { return f32_; } // true: solvers should keep their blocks in f32
    // Computes Y = A Q with p columns. An operator that wraps another one also wraps q and y, so
    // that Q and Y exist only once, however many operators are nested. rough: computes with the
    // rounding errors of f32 at a lower cost; allowed only if has_rough().
    virtual void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const = 0;
    virtual bool has_rough() const { return false; }
    // Writes all of A, both triangles.
    virtual void dense(Run &run, double *a, int64_t lda) const = 0;
    virtual void diagonal(Run &run, double *d) const = 0;
    virtual Fidelity fidelity() const = 0;

    // Writes the columns of A with these numbers (n x count). Unless a class knows better, it
    // computes the product with unit vectors.
    virtual void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const;
    // The numbers for which row_squares computes sum_j weights_j (A_ij - shift_i - shift_j)^2.
    // weights nullptr: all 1; shift nullptr: all 0. Centring a matrix subtracts such a shift from
    // each entry (weighted.cpp). As this is done before entries are squared, no large squares have
    // to cancel.
    struct Squares {
        const double *weights = nullptr, *shift = nullptr;
    };
    // Writes these sums for all rows i. Unless a class knows better, it computes them from all
    // columns, 256 at a time.
    virtual void row_squares(Run &run, const Squares &of, double *out) const;
    // Kernel values that this operator has computed so far. An operator that wraps another one does
    // not count the kernel values of that operator.
    virtual int64_t kernel_evaluations() const { return 0; }

    // Applies the operator to columns of blocks; q and y must not overlap.
    void apply(Run &run, bool rough, Columns q, Columns y) const;
    // Returns the operator as plugins see it; this object must outlive the result.
    mercer_operator c_operator() const;
    // Returns the operator as reducers see it. op: the c_operator() of this object.
    mercer_gram c_gram(const mercer_operator &op) const;

  private:
    int64_t n_;
    bool f32_;
};

// Products with matrices that are given by rows, for operators that wrap another one. dots returns
// S = U^T Q (k x p), computed in slabs of rows whose parts are added in order. add_product computes
// Y += U S for row-major Y.
Buffer<double> dots(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const Fill &q);
void add_product(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const double *s, double *y, int64_t stride);
Fill rows_of(Columns x);

} // namespace mercer
