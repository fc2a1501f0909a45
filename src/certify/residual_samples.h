// Computes what the certificates of a projected model need: entries and rows, drawn at random, of the residual
// E = S (K - L L^T) S, S = diag(sqrt w). bounds.h has the sampling law and the bounds.
#pragma once
#include "../factor/nystrom_span.h"
#include "bounds.h"

#include <cmath>

namespace mercer {

// The cost of norm(). Pairs are the diagonals of tiles, whose size balances kernel values against loading panels of rows; for
// callbacks they are computed one by one.
int64_t pairs_at_once(const Expression &kernel, bool objects);
double norm_values(const Expression &kernel, const Source &source, bool all); // of the kernel
double norm_gathers(int64_t n, bool all);                                     // rows of L
int64_t norm_bytes(int64_t n, int64_t m, int64_t size, bool all);             // of one thread, beside its tile

struct Norm {
    double value = 0, failure = 0; // >= |E + eta|, except with probability `failure`
    Seen seen;                     // |E|_F
    bool impossible = false;       // an entry contradicts E + eta >= 0
};
// Rounding changes entries and rows of E by a few eta; a deviation above this multiple of eta is not rounding.
constexpr double beyond_rounding = 64;

template <class T>
class Evidence {
  public:
    static constexpr int64_t pairs = 100'000; // that norm() draws
    static bool takes_all(int64_t n) { return n * n <= pairs; }

    // All are borrowed. random: stage `certificate`; look numbers the streams of one method apart.
    Evidence(Run &run, const Expression &kernel, const Points<T> &rows, const SpanRows<T> &span,
             const Projection &projection, const double *weights, const Random &random, int64_t look);

    // Of the certificate: the leading p of the projection, its trace, and how far E may be from positive (rounding).
    RitzSpectrum spectrum(int64_t p) const;
    int64_t known() const { return projection_.count(); } // the largest p
    // From 10^5 pairs; from all entries, and then certain, if there are no more or if that was requested.
    Norm norm(double failure, bool all = false);
    // Means over s rows that no earlier call has used, for the leading p directions; over all rows if s >= n. Costs n kernel
    // values a row.
    RowMoments rows(int64_t p, int64_t s);
    int64_t evaluations() const { return evaluations_; }

  private:
    double weight(int64_t i) const { return weights_ ? weights_[i] : 1; }
    const double *diagonal() const { return diagonal_.data(); } // w d

    Run &run_;
    const Expression &kernel_;
    const Points<T> &points_;
    const SpanRows<T> &span_;
    const Projection &projection_;
    const double *weights_;
    const Random &random_;
    int64_t look_;
    double eta_;
    std::vector<double> rounding_; // RitzSpectrum
    Buffer<double> diagonal_;
    int64_t evaluations_ = 0;

    struct Rows { // of p directions
        int64_t p, drawn = 0;
        Block u;                      // the directions
        Buffer<T> su;                 // S U, row-major
        std::vector<Panel<T>> panels; // of all rows; empty: loaded again by each strip
        std::unique_ptr<RowLaw> law;
    };
    std::unique_ptr<Rows> rows_;
    void prepare(int64_t p);
    std::vector<double> factor_rounding() const;
    Norm norm_of_all();
    // Any E >= 0 has |E_ij|^2 <= E_ii E_jj. An entry of twice that, and beyond rounding, shows that E is not PSD. entry: of S E S.
    bool is_impossible(double entry, int64_t i, int64_t j) const {
        return std::fabs(entry) >
               2 * std::sqrt(std::max(diagonal_[i], 0.0) + eta_) * std::sqrt(std::max(diagonal_[j], 0.0) + eta_) +
                   beyond_rounding * eta_;
    }
    Buffer<double> rows_of_factor(int64_t row0, int64_t count) const;
    void subtract_projection(const int64_t *drawn, int64_t count, double *r) const;
};

} // namespace mercer
