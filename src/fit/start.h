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
// One row of the s-th of so many equal parts of n.
inline int64_t row_of_part(const Random &random, int64_t s, int64_t parts, int64_t n) {
    const int64_t first = s * n / parts, end = (s + 1) * n / parts;
    return first + static_cast<int64_t>(random.uniform(s, -1) * static_cast<double>(end - first));
}
// What it holds for p vectors.
Bytes start_bytes(const Run &run, int64_t n, int64_t m, int64_t p, const TileBytes &tiles);

} // namespace mercer
