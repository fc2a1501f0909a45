// Certifies the first eigenvalues and subspaces of a projection, from the cheapest evidence to the most expensive: the trace of
// the residual E, its norm, rows of it (bounds.h). Each step builds on the one before, so if a step is refuted, everything
// derived from it is withdrawn: bounds, angles and their failure probability.
#pragma once
#include "../recipe/parameters.h"
#include "report.h"
#include "residual_samples.h"

namespace mercer {

// Bounds of the first r eigenvalues, unnormalised, with the evidence that they rest on.
struct Proof {
    double trace = 0, left = 0;        // of E + eta; of E
    double norm = 0, norm_failure = 0; // F; 0: not computed, or refuted
    Seen norm_seen;
    Bounds bounds;
    Sines sines;
    std::vector<double> rounding; // bound of the rounding error of each Ritz value, downwards
    int64_t evaluations = 0;
    // Entries or rows contradict E + eta >= 0, which every bound assumes: the kernel is indefinite, or the factor is less accurate
    // than rounding explains. Only the trace is claimed then.
    bool refuted = false;

    // Uses the trace: certain bounds for the r Ritz values of `first`.
    void begin(const RitzSpectrum &first);
    // Uses the norm, unless it is refuted. failure: probability with which the norm may be wrong; 0: certain.
    void add_norm(const Norm &found, double failure);
    // Uses rows, for the p >= r Ritz values of `spectrum`. claimed: total failure probability, of which `failure` is this sample's
    // share. Returns false if the rows contradict the norm; then the bounds by the trace remain, or none (refuted).
    bool add_rows(const RitzSpectrum &spectrum, const RowMoments &rows, double failure, double claimed);
    // Computes angles from the rows that add_rows() has used; until then angles follow from the norm.
    void turn(const RitzSpectrum &spectrum, const RowMoments &rows, double failure);

    int64_t r() const { return static_cast<int64_t>(sines.own.size()); }
    double bound_of_norm() const { return norm > 0 ? norm : trace; }
    double failure() const { return bounds.failure + (bounds.kind == std::string("rows") ? norm_failure : 0); }
    Certificates loss(double total) const;                 // trace and norm, divided by total
    Certificates report(double total, int64_t kept) const; // of the first, divided by total

  private:
    RitzSpectrum first_;
    void refute();
};
// What a projection is proved against: the kernel, the levels that the recipe asks for, and the rows' weights (nullptr: all 1).
struct ProofTask {
    Run &run;
    const Expression &kernel;
    const CoreValues &values;
    const double *weights;
};
// The best certificate for the level that report.certificates asks for: by the trace, then pairs, then rows.
template <class T>
Proof prove(const ProofTask &task, const Points<T> &rows, const SpanRows<T> &span, const Projection &projection,
            int64_t r);
// The number of rows of the residual that it looks at, of n; all of them, each once, unless fewer are requested.
int64_t rows_looked_at(const CoreValues &values, int64_t n);

// The report's text for a refuted certificate.
extern const char *const refuted_text;

} // namespace mercer
