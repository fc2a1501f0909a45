// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// Memory of the lift, with `drawn` rows of evidence for a number of directions: of the finished projection, of the factor while
// it lives and while it grows, of the projection itself, and of the evidence next to the projection.
struct SpanBytes {
    int64_t held, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, int64_t drawn, int64_t width);

} // namespace mercer
