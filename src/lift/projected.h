// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// Memory of the lift, with `drawn` rows of evidence for `width` directions. stored: the finished
// projection; factor: the complete factor; growing: building the factor; project: computing the
// projection; evidence: all that is needed next to the finished projection.
struct SpanBytes {
    int64_t stored, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, int64_t drawn, int64_t width);

} // namespace mercer
