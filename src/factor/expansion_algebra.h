// The algebra of expansions: inner products of vectors in feature space that are given by centres
// and coefficients, and their projections onto the span of other centres. Derivations such as
// compress compute with it. Formulas, cost and errors are in expansion_algebra.cpp.
#pragma once
#include "../gram/row_sums.h"
#include "basis.h"

namespace mercer {

// Vectors in feature space: column l of the coefficients W gives v_l = sum_j W_jl phi(c_j). The
// centres and the coefficients are borrowed. All numbers are f64, whatever the type of the model.
struct FeatureVectors {
    const Points<double> &centres;
    const Weights<double> &coefficients;
    int64_t count() const { return coefficients.cols; }
};

// All functions here that take `evaluations` add to it the number of kernel values that they
// compute.
//
// Returns the inner products of all pairs of the vectors, V^T V = W^T k(C, C) W: column-major.
std::vector<double> inner_products(Run &run, const Expression &kernel, const FeatureVectors &vectors,
                                   int64_t &evaluations);
// Returns the values of the vectors at the points, <phi(x_i), v_l> = (k(X, C) W)_il: row-major.
Buffer<double> images(Run &run, const Expression &kernel, Points<double> x, const FeatureVectors &vectors,
                      int64_t &evaluations);
// Returns A^T B for the vectors of two expansions A and B, given the values (images) of the vectors
// of A at the centres of B: column-major, one column for each vector of B.
std::vector<double> inner_products(const Buffer<double> &images_of_a, const FeatureVectors &b);

// The span of the phi(b_i) for centres b_i in B, with coordinates in an orthonormal basis of it.
class CentreSpan {
  public:
    // f32: the coefficients will be stored in f32. Directions that this rounding would destroy are
    // then left out: their coefficients would be large numbers that cancel.
    CentreSpan(Run &run, const KernelRows &centres, bool f32, int64_t &evaluations);
    int64_t rank() const { return rank_; }
    const int64_t *index() const { return basis_->index(); } // positions of the pivots among B
    // images: the values of q vectors at the centres B. Returns the coordinates of the projections
    // of these vectors onto the span as a q x rank matrix Z^T, column-major, whose row l belongs to
    // vector l: the projections of vectors l and l' have the inner product (Z^T Z)_ll'.
    Buffer<double> coordinates(Run &run, const Buffer<double> &images, int64_t q) const;
    // Turns coordinates (q x rank) into coefficients of the pivots, in place.
    void coefficients(int64_t q, Buffer<double> &z) const { trsm('N', q, rank_, triangle_.data(), rank_, z.data(), q); }

    // Returns an upper bound on the bytes that the span of m centres takes.
    static int64_t bytes(int64_t m, const Run &run, const TileBytes &tiles);

  private:
    double entry(int64_t i, int64_t j) const { return basis_->factor()[index()[i] * basis_->stride() + j]; }
    std::shared_ptr<PartialCholesky<double>> basis_;
    Buffer<double> triangle_;
    int64_t rank_ = 0;
};

// Returns Z^T Z for the coordinates Z^T of q vectors: their inner products, column-major.
std::vector<double> inner_products(const Buffer<double> &coordinates, int64_t q);

// The matrix R by which V R is the orthonormal basis nearest to the vectors V: the symmetric matrix
// G^-1/2 for their inner products G. Only the r leading vectors that G can distinguish are used.
struct PolarFactor {
    int64_t r = 0;
    std::vector<double> matrix; // r x r
    double at(int64_t i, int64_t j) const { return matrix[static_cast<size_t>(i + j * r)]; }
};
// g: the inner products G of at least r vectors, column-major with this stride. The first vector
// whose squared distance to the span of its predecessors is at most `floor` is left out, and so are
// all vectors after it.
PolarFactor polar_factor(const std::vector<double> &g, int64_t stride, int64_t r, double floor);

} // namespace mercer
