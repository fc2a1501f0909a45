// Symmetric operators, the only thing a solver sees. A base (the kernel matrix, stored or streamed) and what composes with
// it: scaling and centring.
#pragma once
#include "tile.h"

namespace mercer {

// Kernel values of one pass over the tiles I <= J (those on the diagonal are computed whole).
int64_t pass_evaluations(int64_t n);

class Operator {
  public:
    explicit Operator(int64_t n) : n_(n) {}
    virtual ~Operator() = default;
    int64_t n() const { return n_; }
    // Y (n x p) = A Q; Y and Q do not overlap.
    virtual void apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const = 0;
    // All of A, both triangles.
    virtual void dense(Run &run, double *a, int64_t lda) const = 0;
    virtual void diagonal(Run &run, double *d) const = 0;

    // As plugins see it; this must outlive it.
    mercer_operator c_operator() const;

  private:
    int64_t n_;
};

// K = k(X, X), in tiles I <= J. Stored tiles are kept, streamed ones computed again in every pass; both feed the same
// products in the same order, so the choice does not change a bit.
//
// Order: blocks of tile_rows rows are gathered in S super-panels, S a function of n alone. Each of S - 1 rounds of a
// round-robin tournament pairs all of them, one thread a pair: the two accumulators of a pair belong to nobody else in that
// round, and each receives its sums in the order of rounds. Cost of a pass: n^2 / 2 kernel values (streamed),
// 2 n^2 p flops; memory n p (f32: and as much again), stored n^2 / 2 values. A pass runs on the calling thread alone where the
// kernel's values come from callbacks that must.
template <class T>
class GramOperator : public Operator {
  public:
    GramOperator(Run &run, const Expression &kernel, const Points<T> &points, bool stored);
    void apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;

    static int64_t stored_bytes(int64_t n);
    // Beyond what is stored: panels and scratch of the threads.
    static int64_t pass_bytes(const Run &run, int64_t n, const Tiles<T> &tiles);
    int64_t kernel_evaluations() const { return evaluations_.load(); }

  private:
    using Body = std::function<void(int64_t bi, int64_t bj, int64_t m, int64_t n, const T *tile)>;
    void tournament(Run &run, bool compute, const Body &body) const;
    int64_t tile_offset(int64_t bi, int64_t bj) const;
    int64_t block_rows(int64_t b) const { return std::min(tile_rows, n() - b * tile_rows); }

    Points<T> points_;
    Tiles<T> tiles_;
    Buffer<T> store_; // empty: streamed
    mutable std::atomic<int64_t> evaluations_{0};
};

// P S K S P with S = diag(s) and P = 1 - u u^T, u = s / |s|. With s = sqrt(w), sum w = n, it has the eigenvalues of the
// weighted, centred kernel matrix; without centring P = 1. s empty: S = 1.
class WeightedOperator : public Operator {
  public:
    WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred);
    void apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    const double *unit() const { return unit_.data(); } // u, n

  private:
    void project(Run &run, int64_t p, double *y, int64_t ldy) const;
    const Operator &base_;
    const double *scale_;
    bool centred_;
    Buffer<double> unit_;
};

} // namespace mercer
