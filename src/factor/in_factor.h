// Selection of pivots by energies in the span of random pivots, without a pass over all kernel
// values.
#pragma once
#include "column_energy.h"

namespace mercer {

// Returns the selected rows in order of selection. rank: the number of random pivots; 0: 4 stop.m.
// stored: their factor, n x rank, is kept in memory; otherwise its rows are recomputed.
// evaluations: is increased by the kernel values. rank_reached: whether no candidate was left.
template <class T>
CountedVector<int64_t> select_in_factor(Run &run, const mercer_task &task, const KernelRows &rows,
                                        const mercer_pivot_rule &rule, const PivotStop &stop,
                                        const EnergySelection &selection, int64_t rank, bool stored,
                                        int64_t *evaluations, bool *rank_reached);

// The rank that 0 stands for, limited to n.
int64_t in_factor_rank(int64_t rank, int64_t m, int64_t n);
// The memory and the kernel values of a selection.
template <class T>
Bytes in_factor_bytes(const Run &run, int64_t n, int64_t m, int64_t rank, bool stored, const TileBytes &tiles);
template <class T>
mercer_figure in_factor_evaluations(int64_t n, int64_t rank, bool stored);

} // namespace mercer
