// Operations on columns of blocks (block.h). They run in parallel over slabs of a fixed number of
// rows, and the partial results are added in order, so that they are bit-identical for any number
// of threads. Sums and products are computed in f64 whatever the storage type is.
#pragma once
#include "block.h"
#include "rng.h"

namespace mercer {

// C (a.count x b.count) = A^T B.
void tall_dot(Run &run, Columns a, Columns b, double *c, int64_t ldc);
// Y = beta Y + A S, where S is a.count x y.count. Y may overlap A.
void tall_times(Run &run, Columns a, const double *s, int64_t lds, double beta, Columns y);
// from and to have the same number of columns and may overlap.
void tall_copy(Run &run, Columns from, Columns to);
// out[j] = |x_j|.
void tall_norms(Run &run, Columns x, double *out);
// Column j = uniform(row, stream + j) - 0.5.
void tall_random(Run &run, Columns x, const Random &random, int64_t stream);
// Makes the columns of X orthonormal, and orthogonal to the orthonormal Q. Columns that are
// numerically dependent are dropped; the others are moved to the front, and their number is
// returned. A column is dropped if it lies in the span of Q to 1e-13 of its length (f32: 1e-6), or
// in that of the other columns to sqrt(1e-14 p) (f32: at least 1e-6), which is the resolution of a
// Gram matrix of order p. The iteration ends when no entry of X^T X - 1 exceeds 1e-14 (f32: 4
// u_32), so that its norm is at most p times this, and the projection shortens no column to less
// than half, or after four rounds.
int64_t orthonormalise(Run &run, Columns x, Columns q);

} // namespace mercer
