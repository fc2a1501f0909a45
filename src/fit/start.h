// Where iterations begin (start.cpp).
#pragma once
#include "../core/block.h"
#include "pivots.h"

namespace mercer {

// The problem of a weighted operator: rows with weights (nullptr: 1).
struct StartTask {
    const PivotRows &rows;
    const double *weights;
    bool centred;
    int64_t m; // pivots
    Random random;
};
// Leading vectors of a Nystrom approximation in `to`, whose last columns stay as they are where it has no more rank. Returns the
// kernel values that it took.
int64_t start_vectors(Run &run, const StartTask &task, Columns to);
// Kernel values that it takes for n rows and m pivots.
mercer_figure start_evaluations(int64_t n, int64_t m);
// What it holds for p vectors.
Bytes start_bytes(const Run &run, int64_t n, int64_t m, int64_t p, const TileBytes &tiles);

} // namespace mercer
