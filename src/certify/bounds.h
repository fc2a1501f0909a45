// Certificates of a projected model: how far its eigenvalues and its subspace can be from those of
// all n points. All are pure functions of small arrays: no kernel value is computed here.
//
//   K = L L^T + E,  d = diag E,  tr = sum d,  H = 1 - 1 1^T / n if centred, else 1
//   U, theta: the p largest eigenpairs of H L L^T H (U^T 1 = 0 if centred)
//   G = U^T E U,  W = U^T E^2 U,  F >= |E|
//
// L is a Nystrom factor, or the scores Z = transform(X) + b of any model with orthonormal
// directions; in the latter case d_i = k_ii - |z_i|^2 and `next` is 0. If the data have weights w,
// then K, L and E stand for S K S, S L and S E S with S = diag(sqrt w): d_i becomes w_i d_i, an
// entry of E becomes sqrt(w_i w_j) times that of the kernel, and 1 / sqrt n in H becomes
// sqrt(w / sum w).
//
// E is positive semi-definite (PSD) if the kernel is. Rounding (of an f32 factor) guarantees only
// E + eta >= 0. All bounds are therefore derived for K + eta, whose eigenvalues are larger by eta
// (d_i + eta, R_i + eta U_i, tr + n eta), and eta is subtracted at the end. With f32 factors the
// rounding amounted to 0.03 to 0.3 of 2^-24 |L|^2 (n = 500 to 4000); sampled rows show whether eta
// was large enough (`consistent`).
//
// All quantities are unnormalised: the caller divides by n. Bounds are widened by rounding: by
// 8 eta for the entries of K, by the rounding of the sums that give theta and the rows, and at the
// lower end also by that of the factor (RitzSpectrum).
#pragma once
#include "../core/rng.h"
#include "../core/run.h"

#include <algorithm>

namespace mercer {

// Everything that is known before any row of E has been computed.
struct RitzSpectrum {
    std::vector<double> theta; // p >= 1, descending
    double next = 0;           // theta_{p+1}; 0 if L has no further column; theta_p if unknown
    int64_t n = 0;
    double trace = 0; // tr
    double eta = 0;
    double sums = 0;              // bound of the rounding error of theta_i that arises in sums
    std::vector<double> rounding; // how far theta_i can exceed lambda_i because of rounding in the factor; empty: 0
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
    std::vector<double> value; // what a model should return
    std::vector<double> lower, upper;
    std::vector<double> spread; // standard error of each value if it is estimated from a sample; else empty
    double failure = 0;         // probability that any bound is wrong, excluding the share of `norm`
    bool lower_certain = true;  // true: `failure` concerns `upper` only
    bool conditional = false;   // true: the bounds hold if the solver missed no eigenvalue
    bool consistent = true; // false: a sampled row contradicts E + eta >= 0 with |E| <= F, so the certificate is void
    double error(int64_t i) const;       // bound of the error of value i
    double worst(int64_t r) const;       // bound of the error of the first r values
    double worst_share(int64_t r) const; // worst(r) / lower_r; infinite if lower_r is not positive
};

enum class Sides { upper, both };

// ---- the budget of failure probability

struct Shares {
    double pairs, rows; // failure probabilities of frobenius_bound and row_bounds; their sum is delta
};
Shares share_failure(double delta, Sides sides);
// The failure probability to spend on certificate k = 1, 2, ... if they are tried in order and the
// first one that is good enough is used. The number of rows that a certificate draws may depend on
// rows that it does not use.
double attempt_failure(double delta, int64_t attempt);

// ---- without rows

Bounds trace_bounds(const RitzSpectrum &spectrum); // certain: theta_i <= lambda_i <= theta_i + tr

// x = (E_ij + eta [i = j])^2 / ((d_i + eta)(d_j + eta)) in [0, 1], where i and j are drawn with
// probability (d + eta) / tr.
double pair_share(double entry, bool same, double d_i, double d_j, double eta);
// F = tr sqrt(upper bound of the mean of x) >= |E|_F, except with probability `failure`, by the
// empirical Bernstein inequality (Maurer and Pontil 2009, theorem 4). F is never above tr.
// 10^5 pairs are enough.
double frobenius_bound(double total, const double *x, int64_t count, double failure);
struct Estimate { // an estimate from a sample, and its standard error; error 0: exact
    double value = 0, error = 0;
};
Estimate estimate_frobenius(double total, const double *x, int64_t count);     // estimates |E|_F
Bounds norm_bounds(const RitzSpectrum &spectrum, double norm, double failure); // theta_i <= lambda_i <= theta_i + F

// ---- with s rows of E

// Draws i with probability weight_i / sum. The weights are >= 0, and not all of them are 0.
class WeightedDraw {
  public:
    WeightedDraw(Run &run, int64_t n, const double *weight);
    int64_t draw(double uniform) const; // uniform in [0, 1)

  private:
    Buffer<double> cumulative_;
};

// The sampling law of rows, p_i = ((d_i + eta) / tr + |U_i|^2 / p) / 2, and the maxima that
// Bernstein's inequality needs. These are over all rows, drawn or not.
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

// Means over s rows: symmetric p x p matrices. To forecast a larger sample, replace s by its size.
struct RowMoments {
    int64_t p = 0, s = 0;
    bool all = false;            // true: the sample is all n rows, each once (p_i = 1 / n), so the means are exact
    double sums = 0;             // rounding error of U^T E U
    double cross = 0, load = 0;  // as in RowLaw
    double reach = 0;            // max |R_i|^2 / (d_i + eta) <= |E + eta| over the rows seen
    std::vector<double> g, v, w; // mean X, mean X^2, mean R_i^T R_i / p_i;  X = (U_i^T R_i + R_i^T U_i) / (2 p_i)
};

// Adds up rows in the order of the calls.
class RowSample {
  public:
    RowSample(int64_t p, double eta, double cross, double load);
    RowSample(const RowLaw &law, int64_t p, double eta) : RowSample(p, eta, law.cross(), law.load()) {}
    // r: row i of E U = K U - L L^T U; u: row i of U; d = d_i; probability: that of drawing row i.
    void add(const double *r, const double *u, double d, double probability);
    RowMoments moments() const; // at least one row must have been added

  private:
    RowMoments sum_;
    double eta_;
    std::vector<double> shifted_;
};

// norm = min(F, tr) >= |E + eta|. `failure` is the failure probability of the rows alone; it
// is 0 if all rows were taken.
Bounds row_bounds(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double failure, Sides sides);

// Sines of the largest angle, for i <= r, between the i leading exact directions and the first i of
// the model (own) or the span of all its p directions (span); 1: nothing is known. These directions
// lie in R^n: they are scores of the rows. The directions in feature space that they correspond to
// differ by more, because E contains what the features of L do not span. Their difference is
// `feature`: for the first i directions, the root of the sum of the squared sines; infinite:
// nothing is known. All hold whenever `bounds` and norm hold; rows may be nullptr.
struct Sines {
    std::vector<double> own, span, feature;
};
Sines subspace_sines(const RitzSpectrum &spectrum, const RowMoments *rows, double norm, const Bounds &bounds,
                     double failure, Sides sides, int64_t r);

// ---- how many rows and columns of U are needed: forecasts without a guarantee

// Before any row is drawn: the smallest s <= most that should bring the error of the first r values
// below target; most + 1 if no such s does.
int64_t rows_expected(const RitzSpectrum &spectrum, double norm, double failure, Sides sides, int64_t r, double target,
                      int64_t most);
// The same forecast, from the moments of a pilot sample.
int64_t rows_needed(const RitzSpectrum &spectrum, const RowMoments &pilot, double norm, double failure, Sides sides,
                    int64_t r, double target, int64_t most);
// Returns the p in [r, theta.size()] with the smallest forecast error after s rows. It follows from
// (theta, tr, F) alone and therefore costs no kernel value. theta holds all known Ritz values.
int64_t choose_width(const RitzSpectrum &all, double norm, int64_t r, int64_t s, double failure, Sides sides);
RitzSpectrum leading(const RitzSpectrum &all, int64_t p);

// ---- exact fits: Ritz values theta of K itself, with |K u_i - theta_i u_i| = residual_i

// theta_i <= lambda_i <= theta_i + min(c_i, c_i^2 / gap) with c_i about |residual|, both up to
// `image`, a bound of the error of the images K u_i. `rest` bounds v^T K v over all unit vectors v
// orthogonal to the Ritz vectors, and `failure` is its failure probability. If rest is only the next Ritz value plus its residual, pass
// conditional = true.
Bounds residual_bounds(const std::vector<double> &theta, const std::vector<double> &residuals, double rest,
                       double failure, bool conditional, double image = 0);

} // namespace mercer
