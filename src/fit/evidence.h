// What certificates of a projected model need to see of the residual E = S (K - L L^T) S, S = diag(sqrt w): entries and rows
// drawn at random (certify.h says with what law and what they prove).
#pragma once
#include "certify.h"
#include "projected.h"

namespace mercer {

// Kernel values that norm() computes. Pairs are the diagonal of tiles, which is cheaper than pairs one by one, but where
// each value is a callback's.
int64_t pairs_at_once(const Expression &kernel, bool objects);
double pair_values(const Expression &kernel, const Source &source);

template <class T>
class Evidence {
  public:
    static constexpr int64_t pairs = 100'000; // that norm() draws

    // All are borrowed. random: stage `certificate`; look numbers the streams of one method apart.
    Evidence(Run &run, const Expression &kernel, const Points<T> &rows, const SpanRows<T> &span,
             const Projection &projection, const double *weights, const Random &random, int64_t look);

    // Of the certificate: the leading p of the projection, its trace, and how far E may be from positive (rounding).
    RitzSpectrum spectrum(int64_t p) const;
    int64_t known() const { return projection_.count(); } // the largest p
    // F >= |E + eta|, but with probability `failure`: from 10^5 pairs.
    double norm(double failure);
    // Means over s rows that no earlier call has seen, for the leading p directions. n kernel values a row.
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
    void subtract_projection(const int64_t *drawn, int64_t count, double *r) const;
};

} // namespace mercer
