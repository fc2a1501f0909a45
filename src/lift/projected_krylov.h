// The lift `projected` for few components without certificates. Eigenpairs are computed by passes
// over k(X, B) instead of from the dense problem (projected_krylov.cpp).
#pragma once
#include "lift.h"

namespace mercer {

// True if eigenpairs are computed by passes: passes take fewer flops than the dense problem,
// because a fixed number of components is requested, which is small compared with m; kernel values
// are cheap to recompute; the reducer hands over no factor; and no certificate or error bar needs
// rows of L.
bool goes_by_passes(const PlanTask &task);
// Plans a lift by passes. made_again, values: bytes and kernel values of the dense problem, to
// which the lift falls back if passes do not converge.
Plan plan_iterated(const PlanTask &task, const TileBytes &tiles, const Bytes &made_again, const mercer_figure &values);

// Computes the first `count` eigenpairs by the plan's solver. The distances of the rows to the
// span, and the variance lost by the span, remain unknown. Returns false if the centres are too
// close to linear dependence or the passes did not converge; `out` then has only the cost of the
// passes.
template <class T>
bool iterate(const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span, int64_t count, Projection &found,
             Lifted &out);

} // namespace mercer
