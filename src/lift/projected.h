// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// The evidence for which memory is planned: sampled rows of the residual, projected on `width`
// directions, and the norm of the residual, from sampled pairs or from all entries.
struct PlannedEvidence {
    int64_t rows = 0, width = 0;
    bool norm = true, all_entries = false;
};
// The memory of the lift. stored: the finished projection; factor: the complete factor; growing:
// memory to build the factor, in addition; project: memory to compute the projection; evidence: what
// certificates and later steps need in addition to the finished projection.
struct SpanBytes {
    int64_t stored, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, const PlannedEvidence &planned);

} // namespace mercer
