// The lift `projected` for few components and no proofs: pairs by passes over k(X, B), not from all entries (iterated.cpp).
#pragma once
#include "projected.h"

namespace mercer {

// Passes take fewer flops: few of many directions are wanted, and nothing that takes rows of L.
bool goes_by_passes(const PlanTask &task);
// made_again: what it takes where passes do not get there, bytes and kernel values.
Plan plan_iterated(const PlanTask &task, const TileBytes &tiles, const Bytes &made_again, const mercer_figure &values);

// The first `count` pairs by the plan's solver. No row's distance to the span is known then, nor what the span leaves of the
// variance in all. false: passes do not get there, and nothing is changed but what they cost.
template <class T>
bool iterate(const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span, int64_t count, Projection &found,
             Lifted &out);

} // namespace mercer
