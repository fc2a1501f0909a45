// Kernel PCA restricted to the span of some points B (specification reduced sets 5,
// nystrom_projected; 7). The rows of L = k(X, B) L_B^-T, K_BB = L_B L_B^T, are the coordinates of
// the data's projections in an orthonormal basis of that span.
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
    // L is the factor, in memory; it is borrowed.
    explicit SpanRows(const PartialCholesky<T> &factor) : stored_(&factor) {}
    // L is recomputed: basis is the factor of k(B, B) for the points B, and rows are those of the
    // data.
    SpanRows(Run &run, const Expression &kernel, Points<T> rows, Points<T> basis_points,
             std::shared_ptr<const PartialCholesky<T>> basis);

    int64_t n() const { return stored_ ? stored_->n() : points_->rows(); }
    int64_t rank() const { return stored_ ? stored_->count() : basis_->count(); }
    // Returns rows row0 ... row0 + count of L, row-major with the stride that it sets. They are
    // valid as long as `scratch` and the factor. self: receives k(x, x) of these rows if L is
    // recomputed; nullptr: not wanted.
    const T *rows(Run &run, int64_t row0, int64_t count, Buffer<T> &scratch, int64_t &stride,
                  double *self = nullptr) const;
    // Writes the rows with these numbers to out (count x rank, row-major).
    void gather(Run &run, const int64_t *numbers, int64_t count, T *out) const;
    // The same for rows row0 ... row0 + count of `drawn`, which are the rows with these numbers.
    void gather(Run &run, const Points<T> &drawn, int64_t row0, const int64_t *numbers, int64_t count, T *out) const;
    // Returns d of row i; square is |l_i|^2, and self is what rows() wrote for this row.
    double residual(int64_t i, double square, double self) const {
        return stored_ ? stored_->residual()[i] : std::max(self - square, 0.0);
    }
    // Returns sum w k(x, x), added in the order of the rows. L must be recomputed. weights nullptr:
    // all 1.
    double sum_of_self(Run &run, const double *weights) const;
    bool serial() const { return !stored_ && tiles_->serial(); }
    // Returns L_B, lower triangular, in f64, column-major.
    Buffer<double> triangle(Run &run) const { return (stored_ ? stored_ : basis_.get())->triangle(run); }
    // The pivots among the points B, by position.
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
    std::vector<int64_t> column_; // column of L of each point of B; -1: not a pivot
    Buffer<T> triangle_;
    mutable std::atomic<int64_t> evaluations_{0};
};

// The leading eigenpairs of  sum w_i (l_i - mu)(l_i - mu)^T  (uncentred: mu = 0), and other results
// of the same sweep over L.
struct Projection {
    std::vector<double> theta; // n lambda, descending
    Buffer<double> v;          // rank x count, orthonormal
    std::vector<double> mean;  // mu; zeros if uncentred
    // n numbers d = k(x, x) - |l|^2 >= 0, taken from the factor if L is in memory.
    CountedVector<double> residual;
    double weight = 0;    // sum w
    double uncentred = 0; // sum w k(x, x)
    double floor = 0;     // theta up to this is rounding
    // Bound on the error that sums in the tile's type cause in theta.
    double sums = 0;
    // sum w (k(x, x) - |mu|^2), an upper bound on the trace of the centred data's own operator.
    double trace = 0;
    double left = 0; // sum w d
    int64_t count() const { return static_cast<int64_t>(theta.size()); }
    double mean_square() const { return std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0); }
    int64_t above(double least) const {
        return std::count_if(theta.begin(), theta.end(), [least](double value) { return value > least; });
    }
};
template <class T>
Projection project(Run &run, const SpanRows<T> &span, const double *weights, bool centred, int64_t count);

// The memory of project(), excluding a slab of L per thread, and the memory of its result.
Bytes project_bytes(int64_t n, int64_t m, int64_t count, int64_t threads, int64_t size);
int64_t projection_bytes(int64_t n, int64_t m, int64_t count);

// Writes the first columns of sqrt(w) (l - mu) V theta^-1/2 for all rows; they are orthonormal.
template <class T>
void directions(Run &run, const SpanRows<T> &span, const Projection &projection, const double *weights, Columns to);

} // namespace mercer
