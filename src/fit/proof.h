// What is proved of the first eigenvalues and subspaces of a projection, from the cheapest evidence to the dearest: the trace of
// the residual E, its norm, rows of it (certify.h). Each step starts from what the step before has shown, so a step that is
// refuted takes everything with it that was concluded from it: bounds, angles and the probability they were claimed with.
#pragma once
#include "evidence.h"

namespace mercer {

// Of the first r, unnormalised, with what it rests on.
struct Proof {
    double trace = 0, left = 0;        // of E + eta; of E
    double norm = 0, norm_failure = 0; // F; 0: not asked for, or refuted
    Seen norm_seen;
    Bounds bounds;
    Sines sines;
    std::vector<double> rounding; // of each Ritz value, downwards
    int64_t evaluations = 0;
    // Entries or rows contradict E + eta >= 0 itself, which every bound needs: the kernel is indefinite, or its factor is worse
    // than rounding makes it. Nothing but the trace is claimed then.
    bool refuted = false;

    // By the trace, for certain. Of `first` the r Ritz values are that all is about.
    void begin(const RitzSpectrum &first);
    // By the norm, or refuted. failure: with which it is claimed to be wrong; 0: it is certain.
    void add_norm(const Norm &found, double failure);
    // By rows, for the Ritz values of `spectrum`, p >= r; claimed: with what they are claimed to be wrong, failure being this
    // sample's own share. False: the rows contradict the norm; what is left is what the trace proves, or nothing (refuted).
    bool add_rows(const RitzSpectrum &spectrum, const RowMoments &rows, double failure, double claimed);
    // Angles by rows that add_rows() has taken; until then they are those by the norm.
    void turn(const RitzSpectrum &spectrum, const RowMoments &rows, double failure);

    int64_t r() const { return static_cast<int64_t>(sines.own.size()); }
    double bound_of_norm() const { return norm > 0 ? norm : trace; }
    double failure() const { return bounds.failure + (bounds.kind == std::string("rows") ? norm_failure : 0); }
    Json loss(double total) const;                 // trace and norm, divided by total
    Json report(double total, int64_t kept) const; // of the first, divided by total

  private:
    RitzSpectrum first_;
    void refute();
};
// What a report says of a refuted proof.
extern const char *const refuted_text;

} // namespace mercer
