// The memory of the lift `projected`, which the method `auto` shares.
#pragma once
#include "lift.h"

namespace mercer {

// The evidence that certificates will use, for which memory is planned.
struct PlannedEvidence {
    int64_t rows = 0,        // number of sampled rows of the residual; 0: none
        width = 0;           // number of directions on which these rows are projected
    bool norm = true,        // the norm of the residual is bounded ...
        all_entries = false; // ... from all its entries; false: from sampled pairs
};
// The memory of the lift, in bytes.
struct SpanBytes {
    int64_t stored,  // the finished projection
        factor;      // the complete factor
    Bytes growing,   // while the factor is built, in addition to it
        project,     // while the projection is computed, in addition to the factor
        evidence;    // for certificates and later steps, in addition to the finished projection
    TileBytes tiles; // tiles of kernel values between rows
};
SpanBytes span_bytes(const PlanTask &task, const PlannedEvidence &planned);

} // namespace mercer
