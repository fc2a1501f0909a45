// Kernel PCA restricted to the span of some points B. With the Cholesky factor L_B of
// K_BB = L_B L_B^T, the rows of L = k(X, B) L_B^-T are the coordinates of the data, projected on
// that span, in an orthonormal basis of it.
#pragma once
#include "../core/block.h"
#include "partial_cholesky.h"

#include <numeric>
#include <variant>

namespace mercer {

constexpr int64_t span_slab = 1024; // rows of L that are processed at once

template <class T>
class SpanOperator;

// The matrix L, which is in memory or recomputed slab by slab.
template <class T>
class SpanRows {
  public:
    // Takes the rows of L from a stored factor, which is borrowed.
    explicit SpanRows(const PartialCholesky<T> &factor) : stored_(&factor) {}
    // Recomputes the rows of L whenever they are used. basis: the factor of k(B, B) for the points
    // B; rows: the rows of the data.
    SpanRows(Run &run, const Expression &kernel, Points<T> rows, Points<T> basis_points,
             std::shared_ptr<const PartialCholesky<T>> basis);

    int64_t n() const { return stored_ ? stored_->n() : points_->rows(); }
    int64_t rank() const { return stored_ ? stored_->count() : basis_->count(); }
    // Returns rows row0 ... row0 + count - 1 of L, row-major with the stride that it sets. They are
    // valid as long as the factor lives and `scratch` is not used again. self: receives k(x, x) of
    // these rows if L is recomputed; nullptr: not wanted.
    const T *rows(Run &run, int64_t row0, int64_t count, Buffer<T> &scratch, int64_t &stride,
                  double *self = nullptr) const;
    // Writes the rows with these numbers to out (count x rank, row-major).
    void gather(Run &run, const int64_t *numbers, int64_t count, T *out) const;
    // Does the same if the caller has already selected the data rows with these numbers: they are
    // rows row0 ... row0 + count - 1 of `drawn`. A stored factor does not use `drawn`.
    void gather(Run &run, const Points<T> &drawn, int64_t row0, const int64_t *numbers, int64_t count, T *out) const;
    // Returns the residual d = k(x, x) - |l|^2 of row i. square: |l|^2; self: what rows() wrote for
    // this row.
    double residual(int64_t i, double square, double self) const {
        return stored_ ? stored_->residual()[i] : std::max(self - square, 0.0);
    }
    // Returns sum w k(x, x), added in the order of the rows. It may be called only if recomputed().
    // weights: nullptr if all are 1.
    double sum_of_self(Run &run, const double *weights) const;
    bool serial() const { return !stored_ && tiles_->serial(); }
    // Returns L_B, lower triangular, in f64, column-major.
    Buffer<double> triangle(Run &run) const { return (stored_ ? stored_ : basis_.get())->triangle(run); }
    // The positions of the pivots among the points B, or among all rows if the factor is stored.
    const int64_t *index() const { return stored_ ? stored_->index() : basis_->index(); }
    bool recomputed() const { return !stored_; }
    // Kernel values evaluated for the basis and to recompute L; 0 if L is in memory.
    int64_t evaluations() const { return evaluations_ + (basis_ ? basis_->evaluations() : 0); }

  private:
    friend SpanOperator<T>;
    void make(Run &run, const Points<T> &points, const Tiles<T> &tiles, int64_t row0, int64_t count, T *out,
              double *self = nullptr) const;
    void copy_rows(const int64_t *numbers, int64_t count, T *out) const;
    const PartialCholesky<T> *stored_ = nullptr;
    std::shared_ptr<const PartialCholesky<T>> basis_;
    const Expression *kernel_ = nullptr;
    std::unique_ptr<Points<T>> points_, basis_points_;
    std::unique_ptr<Tiles<T>> tiles_;
    std::vector<Panel<T>> basis_panels_;
    // The column of L that belongs to each point of B; -1: the point is not a pivot.
    std::vector<int64_t> column_;
    Buffer<T> triangle_; // L_B, column-major
    mutable std::atomic<int64_t> evaluations_{0};
};

// Sums over the rows l_i of L, which one sweep finds.
struct SpanMoments {
    std::vector<double> mean; // mu, the weighted mean of the rows; zeros if uncentred
    // n numbers d = k(x, x) - |l|^2 >= 0, taken from the factor if L is in memory.
    CountedVector<double> residual;
    double weight = 0;    // sum w
    double uncentred = 0; // sum w k(x, x)
    // sum w (k(x, x) - |mu|^2). This is an upper bound on the trace of the centred kernel matrix of
    // the data, because mu is only the projection of their mean on the span.
    double trace = 0;
    double left = 0; // sum w d
    double mean_square() const { return std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0); }
};
// Returns the scatter  sum w_i (l_i - mu)(l_i - mu)^T  (uncentred: mu = 0): the lower triangle of a
// column-major matrix of order rank.
template <class T>
Buffer<double> scatter_of_rows(Run &run, const SpanRows<T> &span, const double *weights, bool centred,
                               SpanMoments &out);

// The leading eigenpairs of the scatter. A lift may also set v to another orthonormal basis.
struct Projection : SpanMoments {
    std::vector<double> theta; // n times the eigenvalues lambda, descending
    Buffer<double> v;          // rank x count, column-major; the columns are orthonormal
    // An eigenvalue theta of at most this may consist of rounding errors alone.
    double floor = 0;
    // Bound on the error in theta that is caused by sums in the tile's type.
    double sums = 0;
    int64_t count() const { return static_cast<int64_t>(theta.size()); }
    int64_t above(double least) const {
        return std::count_if(theta.begin(), theta.end(), [least](double value) { return value > least; });
    }
};
template <class T>
Projection project(Run &run, const SpanRows<T> &span, const double *weights, bool centred, int64_t count);

// project_bytes returns the bytes that project() takes, excluding the slab of L that each thread
// recomputes; projection_bytes returns those of its result. size: bytes of a number of L.
Bytes project_bytes(int64_t n, int64_t m, int64_t count, int64_t threads, int64_t size);
int64_t projection_bytes(int64_t n, int64_t m, int64_t count);

// Writes the first to.count columns of sqrt(w) (l - mu) V theta^-1/2 for all rows; these columns
// are orthonormal.
template <class T>
void directions(Run &run, const SpanRows<T> &span, const Projection &projection, const double *weights, Columns to);

} // namespace mercer
