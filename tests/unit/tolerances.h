// All tolerances of the unit tests, each with its derivation. u is the unit roundoff of the type computed in.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tolerance {

constexpr double u64 = 0x1p-53, u32 = 0x1p-24;

// exp: argument reduction with a two-part ln 2 leaves r exact to u |r|, the polynomial's truncation is below 0.1 ulp,
// its evaluation (Horner, |r| < 0.35) below 0.5 ulp beyond the final rounding of 0.5, the two scalings are exact.
constexpr double exp_ulp = 1.5;

// 2^x (lanes.h): half an ulp for the last sum; half for the table's entry, or a quarter each for r ln 2 and r q; a
// quarter for the polynomial's truncation and inner roundings.
constexpr double exp2_ulp = 1.25;

// Values of fused.h: the exponent is off by 2 (d + 2) u of the halves' sum, or (d + 2) u of itself by differences; 1.25
// ulp, 2.5 u, for 2^; results near the smallest normal number may be 0.
inline double fused(int64_t d, double halves, double value, double u) {
    return value * u * (2 * 0.6932 * static_cast<double>(d + 2) * halves + 2.5);
}
inline double fused_difference(int64_t d, double exponent, double value, double u) {
    return value * u * (0.6932 * static_cast<double>(d + 2) * exponent + 2.5);
}

// Numbers of 12 printed digits, of size up to 1: half a unit of the last, and as much for what was computed.
constexpr double printed = 1e-12;
// Pivot errors are sums of squares printed to 12 digits, of size 0.1.
constexpr double printed_small = 2e-13;

// A sum of d terms in any order: d u times the sum of their sizes (Higham, Accuracy and Stability, 3.1); one more for
// the operations inside a term (products, quotients: 3 at most).
inline double sum(int64_t d, double sizes, double u) { return static_cast<double>(d + 4) * u * sizes; }

// A squared distance by forms.cpp: product and norms each make (d + 2) u of the norms' sum; pairs below `doubt` of them
// are recomputed, so this is the worst. Rows are rounded when they are shifted: one u each, of sizes sqrt(norms).
inline double sqdist(int64_t d, double norms, double u) { return static_cast<double>(2 * d + 16) * u * norms; }

// A value of a kernel whose slope in its form is `slope`: the form's error, 4 u for the map's few operations on an
// exponent no larger than `exponent` where it matters (e^-t t <= 1/e: at most 1), 1 ulp for exp.
inline double kernel(double form_error, double slope, double u) { return form_error * slope + 8 * u; }

// exp(-r / sigma), in u: 8 are what tile.cpp leaves of the distance's error, 4 are of the map (a root, a product, r / sigma
// e^(-r / sigma) <= 1/e) and exp; rows rounded when they are shifted to the mean move r by u (|x| + |y|): reach = that /
// sigma.
inline double steep(double reach) { return 12 + reach; }

// Matrices whose entries differ by e differ by n e in the 2-norm; LAPACK and Jacobi each add a few n u |A|.
inline double matrix(int64_t n, double entry, double norm, double u = u64) {
    return static_cast<double>(n) * (entry + 16 * u * norm);
}
// Weyl: eigenvalues move by no more than the matrix; iterative solvers stop at residuals of tol lambda_1, and a value
// lies within its residual.
inline double eigenvalue(double matrix, double residual = 0) { return matrix + residual; }

// An image under a product in f32: rounded entries, block and sums make some u each, in all a small multiple of u |A|; a
// solver that measures nothing assumes another. 16 is more than both.
inline double rough_image(double norm) { return 16 * u32 * norm; }

// Davis-Kahan: a unit eigenvector turns by at most 2 |E| / gap. A score is an inner product of it with a vector of
// length
// <= 2 sqrt(kappa) (two means), its length is off by |E| / (2 lambda).
inline double score(double matrix, double gap, double lambda, double kappa) {
    return 2 * std::sqrt(kappa) * (2 * matrix / gap + matrix / lambda);
}
// As many entries of A: of length lambda^-1/2 / sqrt(n), turned and stretched as above.
inline double coefficient(double matrix, double gap, double lambda) {
    return (2 * matrix / gap + matrix / lambda) / std::sqrt(lambda);
}

// A coordinate of the lift manifold: an entry of a vector of S, |S| = 1, whose entries err by some u each and whose vectors turn
// by 2 |E| / gap; stretched by sqrt(vol / degree), divided by lambda.
inline double manifold(int64_t m, double u, double gap, double lambda, double stretch) {
    return 4 * stretch * matrix(m, 0, 1, u) / (gap * lambda);
}

// A gradient's entry: a sum over centres of weights A, each with an error of the slope k' (form's and map's, as above), and
// with the difference x (G A) - G (A o C), which rounds x and c by u each; slope = |k'| |x|, d for what a form adds up.
inline double gradient(double slope, double weights, int64_t d, double u) {
    return static_cast<double>(d + 32) * 4 * u * slope * weights;
}

// An orthonormal basis of p columns: |X^T X - 1| as core/tall.h promises, and n u for the check itself.
inline double orthonormal(int64_t n, int64_t p) {
    return 1e-14 * static_cast<double>(p) + 2 * static_cast<double>(n) * u64;
}

// A pivoted Cholesky factor after s steps: u accumulates in each, and division by the root of the last pivot magnifies
// what is in the residual (n u of the largest entry, spectra of these tests: pivots >= 1e-3 of it).
inline double pivots(int64_t s) { return static_cast<double>(s) * 64 * u64 / 1e-3; }

// A certificate of eigenvalues: Ritz vectors from a Gram matrix of theta_1 / theta_p <= 1e6 are orthonormal to that times u,
// which moves the blocks they span by as much of the norm.
inline double certificate(double norm) { return 1e6 * u64 * norm; }

} // namespace tolerance
