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
// Makes the columns of X orthonormal, and orthogonal to the orthonormal Q. Numerically dependent
// columns are dropped; an orthonormal basis of the span of the others replaces the first columns of
// X, and its size is returned. A column is dropped if its part outside the span of Q is at most
// 1e-13 of its length (f32: 1e-6). The remaining columns are scaled to length 1, and their singular
// directions are dropped if the singular value is at most sqrt(1e-14 p) of the largest one (f32: at
// least 1e-6), which is the resolution of a Gram matrix of order p. The iteration ends after four
// rounds, or earlier, when two conditions are met: no entry of X^T X - I exceeds 1e-14 (f32:
// 2^-22), so that its norm is at most p times this, and the projection has shortened no column to
// less than half.
int64_t orthonormalise(Run &run, Columns x, Columns q);

} // namespace mercer
