// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// The memory of the lift if its certificates draw `drawn` rows of the residual and project them on
// `width` directions. stored: the finished projection; factor: the complete factor; growing: memory
// to build the factor, in addition; project: memory to compute the projection; evidence: what
// certificates and later steps need in addition to the finished projection.
struct SpanBytes {
    int64_t stored, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, int64_t drawn, int64_t width);

} // namespace mercer
