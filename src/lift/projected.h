// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// The evidence for which memory is planned: sampled rows of the residual for some directions, and its
// norm, from sampled pairs or from all entries.
struct PlannedEvidence {
    int64_t rows = 0, width = 0;
    bool norm = true, all_entries = false;
};
// Memory of the lift. stored: the finished projection; factor: the complete factor; growing:
// building the factor; project: computing the projection; evidence: all that is needed next to the
// finished projection.
struct SpanBytes {
    int64_t stored, factor;
    Bytes growing, project, evidence;
    TileBytes tiles;
};
SpanBytes span_bytes(const PlanTask &task, const PlannedEvidence &planned);

} // namespace mercer
