// Start vectors for iterative solvers; the method is explained in nystrom_start.cpp.
#pragma once
#include "../core/block.h"
#include "partial_cholesky.h"

namespace mercer {

// The eigenproblem of a weighted operator (operator/weighted.h) for which start vectors are needed.
struct StartTask {
    const KernelRows &rows;
    const double *weights; // one for each row; nullptr: all 1
    bool centred;
    int64_t m; // the number of points of the Nystrom approximation
    Random random;
};
// Writes the leading eigenvectors of a Nystrom approximation to `to`. If the approximation has
// fewer of them than `to` has columns, the last columns remain unchanged. Returns the number of
// kernel values used.
int64_t start_vectors(Run &run, const StartTask &task, Columns to);
// Returns the likely and the largest number of kernel values that start_vectors uses for n rows and
// m pivots.
mercer_figure start_evaluations(int64_t n, int64_t m);
// Draws a random row from the s-th of `parts` equal parts of n rows.
inline int64_t row_of_part(const Random &random, int64_t s, int64_t parts, int64_t n) {
    const int64_t first = s * n / parts, end = (s + 1) * n / parts;
    return first + static_cast<int64_t>(random.uniform(s, -1) * static_cast<double>(end - first));
}
// Returns the bytes that start_vectors needs for p vectors.
Bytes start_bytes(const Run &run, int64_t n, int64_t m, int64_t p, const TileBytes &tiles);

} // namespace mercer
