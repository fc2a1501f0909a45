// Certifies the first eigenvalues and subspaces of a projection. The evidence is taken in the order
// of its cost: the trace of the residual E, its norm, sampled rows of it (bounds.h). Each step
// builds on the one before. If later evidence refutes a step, everything derived from that step is
// therefore withdrawn: bounds, angles and their failure probability.
#pragma once
#include "../recipe/parameters.h"
#include "certificates.h"
#include "residual_samples.h"

namespace mercer {

// Bounds of the first r eigenvalues, unnormalised, with the evidence that they rest on.
struct Proof {
    double trace = 0, left = 0; // trace: of E + eta; left: the trace of E itself
    // The bound F of the norm (0: not computed, or refuted), and the probability that it is wrong.
    double norm = 0, norm_failure = 0;
    Estimate norm_estimate; // of |E + eta|_F
    Bounds bounds;
    Sines sines;
    std::vector<double> rounding; // bound of how far rounding can raise each Ritz value
    int64_t evaluations = 0;
    // True if entries or rows contradict E + eta >= 0, which every bound assumes. Then the kernel
    // is indefinite, or the factor is less accurate than rounding explains, and no certificate but
    // the trace is reported.
    bool refuted = false;

    // Derives bounds from the trace for the r Ritz values of `first`. These bounds are certain.
    void begin(const RitzSpectrum &first);
    // Derives bounds from the norm; if an entry has shown that E + eta is indefinite, sets
    // `refuted` instead. failure: the probability that the norm is wrong; 0: it is certain.
    void add_norm(const Norm &found, double failure);
    // Derives bounds from sampled rows, for the p >= r Ritz values of `spectrum`. failure: the
    // failure probability of this sample; claimed: that of all samples up to this one, which the
    // bounds state. Returns false if the rows contradict an earlier bound. If that bound is certain
    // (the trace, or a norm without failure probability) and the excess is more than rounding,
    // `refuted` is set. If it is a norm with a failure probability, the bounds by the trace replace
    // those by the norm.
    bool add_rows(const RitzSpectrum &spectrum, const RowMoments &rows, double failure, double claimed);
    // Computes angles from the rows that add_rows() has used. Before this call the angles follow
    // from the norm.
    void turn(const RitzSpectrum &spectrum, const RowMoments &rows, double failure);

    int64_t r() const { return static_cast<int64_t>(sines.own.size()); }
    double bound_of_norm() const { return norm > 0 ? norm : trace; }
    double failure() const { return bounds.failure + (bounds.kind == std::string("rows") ? norm_failure : 0); }
    // loss() returns the certificates of trace and norm. report() returns these and, unless the
    // proof is refuted, the certificates of the first `kept` eigenvalues and subspaces. All values
    // but sines are divided by total.
    Certificates loss(double total) const;
    Certificates report(double total, int64_t kept) const;

  private:
    RitzSpectrum first_;
    void refute();
};
// The inputs of a proof of a projection: the kernel, the level that the recipe asks for, and the
// weights of the rows (nullptr: all 1).
struct ProofTask {
    Run &run;
    const Expression &kernel;
    const CoreValues &values;
    const double *weights;
};
// Returns the proof for the level that report.certificates asks for: by the trace, and if requested
// by the norm from pairs and by sampled rows.
template <class T>
Proof prove(const ProofTask &task, const Points<T> &rows, const SpanRows<T> &span, const Projection &projection,
            int64_t r);
// Returns how many of the n rows of the residual prove() examines: none below the level `rows`; at
// that level report.rows, or 4000 if report.rows is 0, but n at most; all n at the level `exact`.
int64_t rows_looked_at(const CoreValues &values, int64_t n);

// The text of the report for a refuted proof.
extern const char *const refuted_text;

} // namespace mercer
