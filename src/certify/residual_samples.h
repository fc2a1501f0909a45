// Computes what the certificates of a projected model need: random entries and rows of the residual
// E = S (K - L L^T) S with S = diag(sqrt w). bounds.h describes the sampling law and the bounds.
#pragma once
#include "../factor/nystrom_span.h"
#include "bounds.h"

#include <cmath>

namespace mercer {

// Evidence::norm() computes the entries of sampled pairs as the diagonals of small square tiles.
// Returns the side of these tiles, which balances the cost of the other values of a tile against
// that of loading panels of rows; for callbacks it is 1.
int64_t pairs_at_once(const Expression &kernel, bool objects);
// The cost of Evidence::norm(); all: it will be asked to use all entries.
double norm_values(const Expression &kernel, const Source &source, bool all); // kernel values
double norm_gathers(int64_t n, bool all);                                     // rows of L that are gathered
int64_t norm_bytes(int64_t n, int64_t m, int64_t size, bool all);             // bytes per thread, excluding its tile
// Drawn rows are copied to memory if single rows of the source are costly (Points::gathered).
// drawn_bytes returns the bytes of these copies. drawn_at_once returns how many of `count` samples,
// of `each` rows, are processed at once so that the copies take at most an eighth of the budget: a
// multiple of `step`.
int64_t drawn_bytes(const Source &source, int64_t count);
int64_t drawn_at_once(const Run &run, const Source &source, int64_t count, int64_t each, int64_t step);

struct Norm {
    double value = 0, failure = 0; // value >= |E + eta|, which is wrong with probability `failure` at most
    Estimate seen;                 // estimates |E + eta|_F
    bool impossible = false;       // an entry contradicts E + eta >= 0
};
// Rounding changes entries and rows of E by a few eta. A deviation above this multiple of eta is
// therefore not rounding.
constexpr double beyond_rounding = 64;

template <class T>
class Evidence {
  public:
    static constexpr int64_t pairs = 100'000; // the number of pairs that norm() draws
    static bool takes_all(int64_t n) { return n * n <= pairs; }

    // All arguments are borrowed. random: of Stage::certificate; attempt: a number that gives each
    // of several attempts to certify its own random numbers.
    Evidence(Run &run, const Expression &kernel, const Points<T> &rows, const SpanRows<T> &span,
             const Projection &projection, const double *weights, const Random &random, int64_t attempt);

    // Returns what the bounds need: the leading p Ritz values, the trace of E, and how far rounding
    // can make E indefinite.
    RitzSpectrum spectrum(int64_t p) const;
    int64_t known() const { return projection_.count(); } // the largest possible p
    // Bounds |E + eta| from 10^5 random pairs of rows. If E has at most that many entries, or if
    // `all` is set, it uses all entries, and the bound is certain.
    Norm norm(double failure, bool all = false);
    // Computes means over s newly drawn rows, for the leading p directions; over all rows, each
    // once, if s >= n. Each row costs n kernel values.
    RowMoments rows(int64_t p, int64_t s);
    int64_t evaluations() const { return evaluations_; }

  private:
    double weight(int64_t i) const { return weights_ ? weights_[i] : 1; }
    // w_i d_i, which is projection.residual if all weights are 1
    const double *diagonal() const { return weights_ ? diagonal_.data() : projection_.residual.data(); }

    Run &run_;
    const Expression &kernel_;
    const Points<T> &points_;
    const SpanRows<T> &span_;
    const Projection &projection_;
    const double *weights_;
    const Random &random_;
    int64_t attempt_;
    double eta_;
    std::vector<double> rounding_; // as in RitzSpectrum
    Buffer<double> diagonal_;      // empty: all weights are 1
    int64_t evaluations_ = 0;

    struct RowWork {                  // what rows() needs for p directions
        int64_t p, drawn = 0;         // drawn: how many rows were drawn by earlier calls of rows()
        Block u;                      // the directions
        Buffer<T> su;                 // S U, row-major
        std::vector<Panel<T>> panels; // the panels of all rows; empty: each strip loads them again
        std::unique_ptr<RowLaw> law;
    };
    std::unique_ptr<RowWork> rows_;
    void prepare(int64_t p);
    std::vector<double> factor_rounding() const;
    Norm norm_of_all();
    // Any E >= 0 has |E_ij| <= sqrt(E_ii E_jj). An entry that exceeds twice this bound by more than
    // rounding shows that E is not PSD. entry: an entry of E, weights included.
    bool is_impossible(double entry, int64_t i, int64_t j) const {
        return std::fabs(entry) >
               2 * std::sqrt(std::max(diagonal()[i], 0.0) + eta_) * std::sqrt(std::max(diagonal()[j], 0.0) + eta_) +
                   beyond_rounding * eta_;
    }
    Buffer<double> rows_of_factor(int64_t row0, int64_t count) const;
    void subtract_projection(const Points<T> &xs, int64_t row0, const int64_t *drawn, int64_t count, double *r) const;
};

} // namespace mercer
