// Certificates of a projected model: how far its eigenvalues and its subspace can be from those of all n points
// (specification reduced sets, 6.5). Pure functions of small arrays: no kernel value is computed here.
//
//   K = L L^T + E,  d = diag E,  tr = sum d,  H = 1 - 1 1^T / n if centred, else 1
//   U, theta: the p largest eigenpairs of H L L^T H (U^T 1 = 0 where centred)
//   G = U^T E U,  W = U^T E^2 U,  F >= |E|
//
// L is a Nystrom factor, or the scores Z = transform(X) + b of any model with orthonormal directions: then d_i = k_ii -
// |z_i|^2 and `next` is 0. Data weighted by w: K, L, E stand for S K S, S L, S E S with S = diag(sqrt w); d_i is w_i
// d_i, an entry of E is sqrt(w_i w_j) times that of the kernel, and 1 / sqrt n in H becomes sqrt(w / sum w).
//
// E is PSD where the kernel is. Rounding (an f32 factor) leaves E + eta >= 0 only: all that is said is then said of K +
// eta, whose eigenvalues are eta larger (d_i + eta, R_i + eta U_i, tr + n eta), and eta is taken off at the end. Seen
// with f32 factors: 0.03 to 0.3 of 2^-24 |L|^2 (n = 500 to 4000); whether eta was enough the rows say (`consistent`).
//
// Everything is unnormalised: the caller divides by n. Bounds are widened by their rounding: 8 eta for entries of K, that of the
// sums behind theta and behind rows, and, where they are lower, that of the factor (RitzSpectrum).
#pragma once
#include "../core/rng.h"
#include "../core/run.h"

#include <algorithm>

namespace mercer {

// Everything known before any row of E has been computed.
struct RitzSpectrum {
    std::vector<double> theta; // p >= 1, descending
    double next = 0;           // theta_{p+1}; 0 if L has no further column; theta_p if unknown
    int64_t n = 0;
    double trace = 0; // tr
    double eta = 0;
    double sums = 0;              // bound of the error of theta_i from rounding in sums
    std::vector<double> rounding; // how far theta_i can exceed lambda_i because of rounding in the factor; empty: 0
    int64_t p() const { return static_cast<int64_t>(theta.size()); }
    double rounding_below(size_t i) const { return 8 * eta + sums + (rounding.empty() ? 0 : rounding[i]); } // of K, too
    double total() const { return std::max(trace, 0.0) + static_cast<double>(n) * eta; } // tr of E + eta
};

// Bounds of the p largest eigenvalues of H K H. lower <= value <= upper, each descending, none NaN.
struct Bounds {
    const char *kind = "";
    std::vector<double> theta; // Ritz values
    std::vector<double> value; // what a model should return
    std::vector<double> lower, upper;
    std::vector<double> spread; // standard error of each value if it is estimated from a sample; else empty
    double failure = 0;         // probability that any of them is wrong, excluding the share of `norm`
    bool lower_certain = true;  // `failure` concerns `upper` only
    bool conditional = false;   // holds if the solver missed no eigenvalue
    bool consistent = true; // false: a sampled row contradicts E + eta >= 0 with |E| <= F, so the certificate is void
    double error(int64_t i) const;       // of value i, at most
    double worst(int64_t r) const;       // of the first r
    double worst_share(int64_t r) const; // the same over lower_r (infinite where that is not positive)
};

enum class Sides { upper, both };

// ---- the budget of failure probability

struct Shares {
    double pairs, rows; // failure probabilities of frobenius_bound and row_bounds that add up to delta
};
Shares share_failure(double delta, Sides sides);
// The failure probability of certificate k = 1, 2, ... if the first good enough one is taken. The number of rows that a
// certificate draws may depend on rows that it does not use.
double look_failure(double delta, int64_t look);

// ---- without rows

Bounds trace_bounds(const RitzSpectrum &spectrum); // certain: theta_i <= lambda_i <= theta_i + tr

// x = (E_ij + eta [i = j])^2 / ((d_i + eta)(d_j + eta)) in [0, 1], i and j drawn with probability (d + eta) / tr.
double pair_share(double entry, bool same, double d_i, double d_j, double eta);
// F = tr sqrt(upper bound of E x) >= |E|_F but with probability `failure`: empirical Bernstein (Maurer and Pontil 2009,
// theorem 4), never above tr. 10^5 pairs are enough.
double frobenius_bound(double total, const double *x, int64_t count, double failure);
struct Seen { // in a sample: value and standard error; error 0: exact
    double value = 0, error = 0;
};
Seen frobenius_seen(double total, const double *x, int64_t count);             // |E|_F
Bounds norm_bounds(const RitzSpectrum &spectrum, double norm, double failure); // theta_i <= lambda_i <= theta_i + F

// ---- with s rows of E

// Draws i with probability weight_i / sum. Weights are >= 0, and not all are 0.
class Lottery {
  public:
    Lottery(Run &run, int64_t n, const double *weight);
    int64_t draw(double uniform) const; // uniform in [0, 1)

  private:
    Buffer<double> cumulative_;
};

// p_i = ((d_i + eta) / tr + |U_i|^2 / p) / 2, and the maxima over all rows, drawn or not, that Bernstein's inequality needs.
class RowLaw {
  public:
    RowLaw(Run &run, int64_t n, const double *d, double eta, int64_t p, const double *u, int64_t ldu);
    int64_t draw(double uniform) const { return lottery_.draw(uniform); }
    double probability(int64_t i) const { return probability_[i]; }
    double cross() const { return cross_; } // max |U_i| sqrt(d_i + eta) / p_i <= sqrt(p tr)
    double load() const { return load_; }   // max (d_i + eta) / p_i <= 2 tr

  private:
    double cross_ = 0, load_ = 0;
    Buffer<double> probability_;
    Lottery lottery_;
};

// Means over s rows: symmetric p x p matrices. Another s in place of the true one forecasts a larger sample.
struct RowMoments {
    int64_t p = 0, s = 0;
    bool all = false;            // each row was taken once, with probability 1 / n: means are exact
    double sums = 0;             // rounding of U^T E U
    double cross = 0, load = 0;  // of the law
    double reach = 0;            // max |R_i|^2 / (d_i + eta) <= |E + eta| over the rows seen
    std::vector<double> g, v, w; // mean X, mean X^2, mean R_i^T R_i / p_i;  X = (U_i^T R_i + R_i^T U_i) / (2 p_i)
};

// Adds up rows in the order of the calls.
class RowSample {
  public:
    RowSample(int64_t p, double eta, double cross, double load);
    RowSample(const RowLaw &law, int64_t p, double eta) : RowSample(p, eta, law.cross(), law.load()) {}
    // r: row i of E U = K U - L L^T U; u: row i of U; d = d_i; drawn with this probability.
    void add(const double *r, const double *u, double d, double probability);
    RowMoments moments() const; // s >= 1

  private:
    RowMoments sum_;
    double eta_;
    std::vector<double> shifted_;
};

// norm = min(F, tr) >= |E + eta|. `failure` is that of the rows only, and 0 if all rows were taken.
Bounds row_bounds(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double failure, Sides sides);

// Sines of the largest angle between the i leading exact directions and the model's own first i (own), or the span of all
// p (span), i <= r; 1: nothing is known. These are directions in R^n, of scores of the rows. Those in feature space, which
// their images span, are further apart, as E hides what lies beyond the features of L (feature: of the first i, the root of
// the sum of the squared sines; infinite: nothing is known). Hold whenever `bounds` and norm hold; rows may be nullptr.
struct Sines {
    std::vector<double> own, span, feature;
};
Sines subspace_sines(const RitzSpectrum &spectrum, const RowMoments *rows, double norm, const Bounds &bounds,
                     double failure, Sides sides, int64_t r);

// ---- how many rows and columns of U are needed: forecasts without a guarantee

// Before any row is drawn: the least s <= most that should bring the error of the first r below target; most + 1: none does.
int64_t rows_expected(const RitzSpectrum &spectrum, double norm, double failure, Sides sides, int64_t r, double target,
                      int64_t most);
// The same from a pilot.
int64_t rows_needed(const RitzSpectrum &spectrum, const RowMoments &pilot, double norm, double failure, Sides sides,
                    int64_t r, double target, int64_t most);
// The p in [r, theta.size()] with the smallest forecast error after s rows, from (theta, tr, F) alone and so free of
// charge; theta holds all known Ritz values.
int64_t choose_width(const RitzSpectrum &all, double norm, int64_t r, int64_t s, double failure, Sides sides);
RitzSpectrum leading(const RitzSpectrum &all, int64_t p);

// ---- the exact road: Ritz values theta of K itself, |K u_i - theta_i u_i| = residual_i

// An upper bound on v^T K v over unit v orthogonal to all Ritz vectors: from a factor's Ritz values (p + 1 of them, or 0
// for the missing), captured_i = |L^T H u_i|^2 and norm >= |E|.
double rest_from_factor(const std::vector<double> &factor_theta, const std::vector<double> &captured, double norm);
// theta_i <= lambda_i <= theta_i + min(c_i, c_i^2 / gap), c_i about |residual|, both but for `image`, how far the images K u_i
// may be wrong; `rest` as above and its failure. Where rest is only the next Ritz value and its residual, say conditional.
Bounds residual_bounds(const std::vector<double> &theta, const std::vector<double> &residuals, double rest,
                       double failure, bool conditional, double image = 0);

} // namespace mercer
