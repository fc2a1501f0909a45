// What the lift `projected` and the method `auto` share: proofs about a projection.
#pragma once
#include "projected.h"
#include "proof.h"

namespace mercer {

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
