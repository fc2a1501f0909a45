// All tolerances of the unit tests, each with its derivation. u is the unit roundoff of the type in
// which a value is computed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tolerance {

constexpr double u64 = 0x1p-53, u32 = 0x1p-24;

// exp: the argument reduction with a two-part ln 2 leaves an error of u |r| in r. The truncation of
// the polynomial adds less than 0.1 ulp, its evaluation (Horner, |r| < 0.35) less than 0.5 ulp, and
// the final rounding 0.5 ulp. The two scalings are exact.
constexpr double exp_ulp = 1.5;

// 2^x (lanes.h): the last sum has an error of 0.5 ulp. With a table (AVX-512), its entry adds 0.5
// ulp; without a table, r ln 2 and r q add 0.25 ulp each. The truncation of the polynomial and the
// inner roundings add 0.25 ulp.
constexpr double exp2_ulp = 1.25;

// Values of fused.h: `product` computes the exponent with an error of 2 (d + 2) u times the sum of
// the halves, and `difference` with an error of (d + 2) u times the exponent. 0.6932 is ln 2,
// rounded up. The power of 2 adds 1.25 ulp, which is 2.5 u. Results near the smallest normal number
// may be 0.
inline double fused(int64_t d, double halves, double value, double u) {
    return value * u * (2 * 0.6932 * static_cast<double>(d + 2) * halves + 2.5);
}
inline double fused_difference(int64_t d, double exponent, double value, double u) {
    return value * u * (0.6932 * static_cast<double>(d + 2) * exponent + 2.5);
}

// For reference values up to 1 with 12 printed decimals: half a unit of the last one, and as much
// again for the error of the computed value.
constexpr double printed = 1e-12;
// The same for reference values below 0.1 with 13 printed decimals.
constexpr double printed_small = 1e-13;

// A sum of d terms in any order has an error of at most d u times the sum of their absolute values
// (Higham, Accuracy and Stability, 3.1). The operations inside a term (products, quotients) add at
// most 4 u.
inline double sum(int64_t d, double sizes, double u) { return static_cast<double>(d + 4) * u * sizes; }

// A squared distance of forms.cpp, computed from the product and the norms: it has an error of at
// most 2 (d + 4) u times the sum of the norms. Shifting the rows rounds each of them by u times its
// length, which adds 4 u times this sum. Close pairs are computed again and have smaller errors.
inline double sqdist(int64_t d, double norms, double u) { return static_cast<double>(2 * d + 16) * u * norms; }

// A value of a kernel that is a map of a form, where `slope` is the derivative of the map: the
// error of the form times the slope; 4 u for the few operations of the map, as t e^-t <= 1/e limits
// the effect of an error in an exponent t; and 1 ulp for exp.
inline double kernel(double form_error, double slope, double u) { return form_error * slope + 8 * u; }

// exp(-r / sigma), in units of u: the error that tile.cpp leaves in the distance causes 8. The map
// (a root, a product, and r / sigma e^(-r / sigma) <= 1/e) and exp cause 4. Rows are rounded when
// they are shifted to the mean, which moves r by u (|x| + |y|); reach is (|x| + |y|) / sigma.
inline double steep(double reach) { return 12 + reach; }

// If two n x n matrices differ by at most e in each entry, they differ by at most n e in the
// 2-norm. LAPACK and Jacobi rotations each add a few n u |A|.
inline double matrix(int64_t n, double entry, double norm, double u = u64) {
    return static_cast<double>(n) * (entry + 16 * u * norm);
}
// Eigenvalues move by no more than the norm of the change of the matrix (Weyl). Iterative solvers
// stop at residuals of tol lambda_1, and some eigenvalue lies within the residual of each Ritz
// value.
inline double eigenvalue(double matrix, double residual = 0) { return matrix + residual; }

// The image of a vector under a product in f32: rounding the entries, the block and the sums adds
// up to a small multiple of u |A|. A solver that does not measure this error adds an assumed one of
// similar size. 16 u |A| is more than both together.
inline double rough_image(double norm) { return 16 * u32 * norm; }

// A unit eigenvector turns by at most 2 |E| / gap (Davis-Kahan), and in feature space its length
// changes by |E| / (2 lambda). A score is its inner product with phi(x) - mean, whose length is at
// most 2 sqrt(kappa).
inline double score(double matrix, double gap, double lambda, double kappa) {
    return 2 * std::sqrt(kappa) * (2 * matrix / gap + matrix / lambda);
}
// Entries of A: a column of A has the length lambda^-1/2 / sqrt(n), and turns and changes its
// length as above.
inline double coefficient(double matrix, double gap, double lambda) {
    return (2 * matrix / gap + matrix / lambda) / std::sqrt(lambda);
}

// A coordinate of the lift `manifold`: an entry of an eigenvector of S, |S| = 1. The entries of S
// have errors of a few u, so that the eigenvector turns by 2 |E| / gap. The entry is then
// multiplied by sqrt(vol / degree) and divided by lambda.
inline double manifold(int64_t m, double u, double gap, double lambda, double stretch) {
    return 4 * stretch * matrix(m, 0, 1, u) / (gap * lambda);
}

// An entry of a gradient: a sum over centres with the weights A. Each term has the error of the
// slope k' (from the form and the map, as above) and that of the difference x (G A) - G (A o C), in
// which x and c are rounded by u each. slope is |k'| |x|, and d is the number of terms that a form
// adds up.
inline double gradient(double slope, double weights, int64_t d, double u) {
    return static_cast<double>(d + 32) * 4 * u * slope * weights;
}

// An orthonormal basis of p columns: |X^T X - 1| is at most what core/tall.h promises, plus n u for
// the computation of the check.
inline double orthonormal(int64_t n, int64_t p) {
    return 1e-14 * static_cast<double>(p) + 2 * static_cast<double>(n) * u64;
}

// A pivoted Cholesky factor after s steps: each step adds errors of a few u. The division by the
// root of the last pivot magnifies the errors of the residual, which are n u of its largest entry;
// the pivots of these tests are at least 1e-3 of that entry.
inline double pivots(int64_t s) { return static_cast<double>(s) * 64 * u64 / 1e-3; }

// A certificate of eigenvalues: the Ritz vectors come from a Gram matrix with theta_1 / theta_p <=
// 1e6, so that they are orthonormal to 1e6 u. This moves the blocks that they span by 1e6 u times
// the norm.
inline double certificate(double norm) { return 1e6 * u64 * norm; }

} // namespace tolerance
