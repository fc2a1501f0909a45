// Certifies the first eigenvalues and subspaces of a projection. The evidence is taken in the order
// of its cost: the trace of the residual E, its norm, rows of it (bounds.h). Each step builds on
// the one before. If a step is refuted, everything derived from it is therefore withdrawn: bounds,
// angles and their failure probability.
#pragma once
#include "../recipe/parameters.h"
#include "certificates.h"
#include "residual_samples.h"

namespace mercer {

// Bounds of the first r eigenvalues, unnormalised, with the evidence that they rest on.
struct Proof {
    double trace = 0, left = 0;        // trace of E + eta; trace of E
    double norm = 0, norm_failure = 0; // F and its failure probability; 0: not computed, or refuted
    Estimate norm_estimate;
    Bounds bounds;
    Sines sines;
    std::vector<double> rounding; // bound of how far rounding can raise each Ritz value
    int64_t evaluations = 0;
    // True if entries or rows contradict E + eta >= 0, which every bound assumes. Then the kernel
    // is indefinite, or the factor is less accurate than rounding explains, and only the trace is
    // claimed.
    bool refuted = false;

    // Uses the trace, which gives certain bounds for the r Ritz values of `first`.
    void begin(const RitzSpectrum &first);
    // Uses the norm, unless it is refuted. failure: the probability that the norm is wrong; 0: it
    // is certain.
    void add_norm(const Norm &found, double failure);
    // Uses rows, for the p >= r Ritz values of `spectrum`. claimed: the total failure probability,
    // of which `failure` is the share of this sample. Returns false if the rows contradict the
    // norm; then the bounds by the trace remain, or none (refuted).
    bool add_rows(const RitzSpectrum &spectrum, const RowMoments &rows, double failure, double claimed);
    // Computes angles from the rows that add_rows() has used. Before this call the angles follow
    // from the norm.
    void turn(const RitzSpectrum &spectrum, const RowMoments &rows, double failure);

    int64_t r() const { return static_cast<int64_t>(sines.own.size()); }
    double bound_of_norm() const { return norm > 0 ? norm : trace; }
    double failure() const { return bounds.failure + (bounds.kind == std::string("rows") ? norm_failure : 0); }
    Certificates loss(double total) const;                 // trace and norm, divided by total
    Certificates report(double total, int64_t kept) const; // of the first `kept` components, divided by total

  private:
    RitzSpectrum first_;
    void refute();
};
// What a proof of a projection starts from: the kernel, the level that the recipe asks for, and the
// weights of the rows (nullptr: all 1).
struct ProofTask {
    Run &run;
    const Expression &kernel;
    const CoreValues &values;
    const double *weights;
};
// Returns the best certificate for the level that report.certificates asks for: by the trace, then
// by pairs, then by rows.
template <class T>
Proof prove(const ProofTask &task, const Points<T> &rows, const SpanRows<T> &span, const Projection &projection,
            int64_t r);
// Returns how many of the n rows of the residual prove() examines: none below the level `rows`; at
// that level report.rows, or 4000 if that is 0; all, each once, if this is at least n or if the
// level is `exact`.
int64_t rows_looked_at(const CoreValues &values, int64_t n);

// The text of the report for a refuted certificate.
extern const char *const refuted_text;

} // namespace mercer
