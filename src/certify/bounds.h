// Certificates of a projected model: how far its eigenvalues and its subspace can be from those of
// the kernel matrix K of all n points. All are pure functions of small arrays: no kernel value is
// computed here.
//
//   K = L L^T + E,  d = diag E,  tr = sum d,  H = 1 - 1 1^T / n if centred, else 1
//   U, theta: the p largest eigenpairs of H L L^T H (U^T 1 = 0 if centred)
//   G = U^T E U,  W = U^T E^2 U,  F >= |E|
//
// L is a Nystrom factor, or the scores Z = transform(X) + b of any model with orthonormal
// directions; in the latter case d_i = k_ii - |z_i|^2, and RitzSpectrum::next is 0. If the data
// have weights w, then K, L and E stand for S K S, S L and S E S with S = diag(sqrt w): d_i becomes
// w_i d_i, an entry of E becomes sqrt(w_i w_j) times that of the kernel, and 1 / sqrt n in H
// becomes sqrt(w / sum w).
//
// E is positive semi-definite (PSD) if the kernel is. With rounding (of an f32 factor), only
// E + eta >= 0 is guaranteed. All bounds are therefore derived for K + eta, whose eigenvalues are
// larger by eta: d_i becomes d_i + eta, row R_i of E U becomes R_i + eta U_i, and tr becomes
// tr + n eta. At the end eta is subtracted. Measured: with f32 factors of n = 500 to 4000 rows,
// rounding amounted to 0.03 to 0.3 of 2^-24 |L|^2. Sampled rows show whether eta was large enough
// (Bounds::consistent).
//
// All quantities are unnormalised: the caller divides by n. All bounds are widened by 8 eta for the
// rounding of the entries of K, and by the rounding of the sums that give theta and the rows R_i.
// Lower bounds are also widened by the rounding of the factor (RitzSpectrum::rounding).
#pragma once
#include "../core/rng.h"
#include "../core/run.h"

#include <algorithm>

namespace mercer {

// Everything that is known before any row of E has been computed.
struct RitzSpectrum {
    std::vector<double> theta; // the p >= 1 leading Ritz values, descending
    double next = 0;           // theta_{p+1}; 0 if L has no further column; theta_p if unknown
    int64_t n = 0;
    double trace = 0; // of E: the sum of d, called tr above
    double eta = 0;   // bound on rounding: E + eta is positive semi-definite
    double sums = 0;  // bound on the error of any theta_i that comes from rounding in sums
    // How far each theta_i can exceed the exact eigenvalue lambda_i because of rounding in the
    // factor; empty: 0.
    std::vector<double> rounding;
    int64_t p() const { return static_cast<int64_t>(theta.size()); }
    // The total rounding by which theta_i can exceed lambda_i, including that of the entries of K.
    double rounding_below(size_t i) const { return 8 * eta + sums + (rounding.empty() ? 0 : rounding[i]); }
    double total() const { return std::max(trace, 0.0) + static_cast<double>(n) * eta; } // trace of E + eta
};

// Bounds of the p largest eigenvalues of H K H: lower <= value <= upper. Each array is descending
// and contains no NaN.
struct Bounds {
    const char *kind = "";
    std::vector<double> theta; // Ritz values
    std::vector<double> value; // the eigenvalues that a model returns: each within its bounds
    std::vector<double> lower, upper;
    std::vector<double> spread; // standard error of each value if it is estimated from a sample; else empty
    // Upper bound on the probability that any of these bounds is wrong. For bounds by rows it does
    // not include the failure probability of the norm F, which Proof::failure() adds.
    double failure = 0;
    bool lower_certain = true; // true: `failure` is that of the upper bounds; the lower ones hold for certain
    bool conditional = false;  // true: the bounds hold only if the solver missed no eigenvalue
    // False if a sampled row contradicts E + eta >= 0 with |E + eta| <= F; the bounds are then
    // void.
    bool consistent = true;
    double error(int64_t i) const;       // bound of the error of value i
    double worst(int64_t r) const;       // largest error(i) of the first r values
    double worst_share(int64_t r) const; // worst(r) / lower_r; infinite if lower_r is not positive
};

// Which bounds are derived from rows; with `upper`, the Ritz values remain the lower bounds.
enum class Sides { upper, both };

// ---- the budget of failure probability

struct Shares {
    double pairs, rows; // failure probabilities of frobenius_bound and row_bounds; their sum is delta
};
Shares share_failure(double delta, Sides sides);
// Returns delta / 2^k, the failure probability that attempt k = 1, 2, ... may use. The sum over all
// attempts is delta, so attempts can be made in order until one is good enough. The number of rows
// that an attempt draws may be chosen from rows that other attempts drew, but not from its own.
double attempt_failure(double delta, int64_t attempt);

// ---- without rows

Bounds trace_bounds(const RitzSpectrum &spectrum); // certain: theta_i <= lambda_i <= theta_i + tr

// Returns x = (E_ij + eta [i = j])^2 / ((d_i + eta)(d_j + eta)), which lies in [0, 1] because
// E + eta is PSD; `entry` is E_ij, and `same` tells whether i = j. If i and j are drawn with
// probability (d + eta) / total, where total = tr + n eta, then the mean of x is
// (|E + eta|_F / total)^2.
double pair_share(double entry, bool same, double d_i, double d_j, double eta);
// Returns F = total sqrt(upper bound of the mean of x) >= |E + eta|_F, which is wrong with
// probability `failure` at most, by the empirical Bernstein inequality (Maurer and Pontil 2009,
// theorem 4). F is never above total. Evidence::norm() passes 10^5 pairs (residual_samples.h).
double frobenius_bound(double total, const double *x, int64_t count, double failure);
struct Estimate { // an estimate from a sample, and its standard error; error 0: exact
    double value = 0, error = 0;
};
Estimate estimate_frobenius(double total, const double *x, int64_t count);     // estimates |E + eta|_F
Bounds norm_bounds(const RitzSpectrum &spectrum, double norm, double failure); // theta_i <= lambda_i <= theta_i + F

// ---- with s rows of E

// Draws i with probability weight_i / sum. The weights are >= 0, and not all of them are 0.
class WeightedDraw {
  public:
    WeightedDraw(Run &run, int64_t n, const double *weight);
    explicit WeightedDraw(Buffer<double> weight); // uses the memory of the weights
    int64_t draw(double uniform) const;           // uniform: a random number in [0, 1)

  private:
    Buffer<double> cumulative_;
};

// The law by which rows are sampled: row i is drawn with probability
// p_i = ((d_i + eta) / (tr + n eta) + |U_i|^2 / p) / 2, where U_i is row i of U. cross() and load()
// are the maxima that Bernstein's inequality needs, over all rows, drawn or not; tr below stands
// for tr + n eta.
class RowLaw {
  public:
    RowLaw(Run &run, int64_t n, const double *d, double eta, int64_t p, const double *u, int64_t ldu);
    int64_t draw(double uniform) const { return draws_.draw(uniform); }
    double probability(int64_t i) const { return probability_[i]; }
    double cross() const { return cross_; } // max |U_i| sqrt(d_i + eta) / p_i <= sqrt(p tr)
    double load() const { return load_; }   // max (d_i + eta) / p_i <= 2 tr

  private:
    double cross_ = 0, load_ = 0;
    Buffer<double> probability_;
    WeightedDraw draws_;
};

// Means over s sampled rows R_i of (E + eta) U, as symmetric p x p matrices. rows_needed()
// forecasts a larger sample by replacing s with its size.
struct RowMoments {
    int64_t p = 0, s = 0;
    bool all = false;           // true: the sample is all n rows, each once (p_i = 1 / n), so the means are exact
    double sums = 0;            // bound on the rounding error of U^T E U
    double cross = 0, load = 0; // as in RowLaw
    double reach = 0;           // max |R_i|^2 / (d_i + eta) over the sampled rows, a lower bound of |E + eta|
    // g: mean of X = (U_i^T R_i + R_i^T U_i) / (2 p_i); v: mean of X^2; w: mean of R_i^T R_i / p_i.
    std::vector<double> g, v, w;
};

// Accumulates the RowMoments of sampled rows, in the order in which add() receives them.
class RowSample {
  public:
    RowSample(int64_t p, double eta, double cross, double load);
    RowSample(const RowLaw &law, int64_t p, double eta) : RowSample(p, eta, law.cross(), law.load()) {}
    // r: row i of E U = K U - L L^T U, to which eta U_i is added here; u: row i of U; d: d_i;
    // probability: p_i.
    void add(const double *r, const double *u, double d, double probability);
    RowMoments moments() const; // at least one row must have been added

  private:
    RowMoments sum_;
    double eta_;
    std::vector<double> shifted_;
};

// norm: an upper bound of |E + eta|, such as F. failure: the probability that the bounds from these
// rows may be wrong if the norm is right; if all rows were taken, it is not used, and the result
// has failure 0.
Bounds row_bounds(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double failure, Sides sides);

// Upper bounds of the sines of angles between exact directions and those of the model, for i = 1,
// 2, ... r. own and span concern directions in R^n, the scores of the rows: the sine of the largest
// angle between the i leading exact directions and the first i directions of the model (own) or the
// span of all its p directions (span); 1 means that nothing is known. feature concerns the
// corresponding directions in feature space. It bounds the root of the sum of the squared sines for
// the first i directions; infinity means that nothing is known. These angles are larger, because
// the exact directions also have parts outside the space that the features of L span.
struct Sines {
    std::vector<double> own, span, feature;
};
// The sines hold whenever `bounds` and norm hold. rows may be nullptr.
Sines subspace_sines(const RitzSpectrum &spectrum, const RowMoments *rows, double norm, const Bounds &bounds,
                     double failure, Sides sides, int64_t r);

// ---- how many rows and columns of U are needed: forecasts without a guarantee

// Before any row is drawn: returns the smallest s <= most that is expected to bring the error of
// the first r values down to target; most + 1 if there is no such s.
int64_t rows_expected(const RitzSpectrum &spectrum, double norm, double failure, Sides sides, int64_t r, double target,
                      int64_t most);
// The same forecast, from the moments of a pilot sample.
int64_t rows_needed(const RitzSpectrum &spectrum, const RowMoments &pilot, double norm, double failure, Sides sides,
                    int64_t r, double target, int64_t most);
// Returns the number p of directions, r <= p <= all.p(), for which the forecast of the error after
// s rows is smallest. The forecast follows from theta, tr and F alone and therefore costs no kernel
// value. all: all known Ritz values.
int64_t choose_width(const RitzSpectrum &all, double norm, int64_t r, int64_t s, double failure, Sides sides);
RitzSpectrum leading(const RitzSpectrum &all, int64_t p); // the spectrum of the first p directions

// ---- exact fits: Ritz values theta of K itself, with |K u_i - theta_i u_i| = residual_i

// theta_i <= lambda_i <= the larger eigenvalue of [[theta_i, c_i], [c_i, rest]], which for
// theta_i > rest is at most theta_i + min(c_i, c_i^2 / (theta_i - rest)). Here c_i^2 is the smaller
// of residual_i times the sum of all residuals and the sum of their squares. Both are widened by
// `image`, a bound of the error of the images K u_i. rest: an upper bound of v^T K v over all unit
// vectors v orthogonal to the Ritz vectors, and `failure` its failure probability. If rest is only a
// guess, such as the last Ritz value plus its residual, pass conditional = true.
Bounds residual_bounds(const std::vector<double> &theta, const std::vector<double> &residuals, double rest,
                       double failure, bool conditional, double image = 0);

} // namespace mercer
