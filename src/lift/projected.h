// What the lifts `projected` and `triangular` and the method `auto` share: the rows of L on the
// span of the centres, and the memory that they take.
#pragma once
#include "../factor/nystrom_span.h"
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

// The plan of a lift on the span of the centres by one dense problem, and parts of it. drawn: the
// number of sampled rows for certificates; beyond: bytes that the lift takes in addition, while L
// is in memory.
struct SpanPlan {
    Plan plan;
    TileBytes tiles;
    Bytes recomputing;    // the memory if L is recomputed slab by slab
    mercer_figure values; // the kernel values of recomputing it
};
SpanPlan plan_on_span(const PlanTask &task, CertificateLevel certificates, int64_t drawn, int64_t beyond);

// Returns the rows of L: those of the reducer's factor if it has one of the same centres, otherwise
// those of a factor that is computed now, which `stored` receives, or rows that are recomputed, as
// the plan says.
template <class T>
std::unique_ptr<SpanRows<T>> span_of(const LiftTask &task, const Points<T> &rows,
                                     std::shared_ptr<PartialCholesky<T>> &stored);
// Returns for each centre its column of L; -1: it lies in the span of others. If several centres
// are the same row, only the first has a column.
template <class T>
CountedVector<int64_t> columns_of(const LiftTask &task, const SpanRows<T> &span);

} // namespace mercer
