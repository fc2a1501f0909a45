// Shared by the lift `projected` and the method `auto`: certificates of a projection.
#pragma once
#include "projected.h"
#include "proof.h"

namespace mercer {

// Results of `auto` that the lift can reuse.
struct Findings {
    Projection projection;
    Proof proof;
};
// Memory of the lift, with `drawn` rows of evidence for a number of directions: of the finished projection, of the factor while
// it lives and while it grows, of the projection itself, and of the evidence next to the projection.
struct SpanBytes {
    int64_t held, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, int64_t drawn, int64_t width);

// The Cholesky factor of k(C, C), in the order of the centres.
template <class T>
std::shared_ptr<PartialCholesky<T>> factor_of_centres(const LiftTask &task);

template <class T>
Proof prove(Run &run, const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span,
            const Projection &projection, const double *weights, int64_t r);

} // namespace mercer
