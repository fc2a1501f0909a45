// What the lift `projected` and the method `auto` share: proofs about a projection.
#pragma once
#include "certify.h"
#include "projected.h"

namespace mercer {

// Bounds for the first r eigenvalues and subspaces, unnormalised, with what they rest on.
struct Proof {
    double trace = 0, left = 0;        // of E + eta; of E
    double norm = 0, norm_failure = 0; // F; 0: not asked for
    Seen norm_seen;
    Bounds bounds;
    Sines sines;
    std::vector<double> rounding; // of each Ritz value, downwards
    int64_t evaluations = 0;
    int64_t r() const { return static_cast<int64_t>(sines.own.size()); }
    double failure() const { return bounds.failure + (bounds.kind == std::string("rows") ? norm_failure : 0); }
    Json loss(double total) const;                 // trace and norm, divided by total
    Json report(double total, int64_t kept) const; // of the first, divided by total
};
// What `auto` knows already when the lift begins.
struct Findings {
    Projection projection;
    Proof proof;
};
// What the lift takes, with `drawn` rows of its evidence for so many directions: for the projection once it is there, for the
// factor as long as it lives and while it grows, to project, for evidence and what follows from it beside the projection.
struct SpanBytes {
    int64_t held, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, int64_t drawn, int64_t width);

// Of k(C, C), in the centres' order.
template <class T>
std::shared_ptr<PartialCholesky<T>> factor_of_centres(const LiftTask &task);

template <class T>
Proof prove(Run &run, const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span,
            const Projection &projection, const double *weights, int64_t r);

} // namespace mercer
