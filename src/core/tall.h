// What is done with columns of blocks (block.h). Parallel over slabs of fixed rows whose partial results are added in order: the
// same bits for any number of threads. Sums and products are made in f64 whatever is stored.
#pragma once
#include "block.h"
#include "rng.h"

namespace mercer {

// C (a.count x b.count) = A^T B.
void tall_dot(Run &run, Columns a, Columns b, double *c, int64_t ldc);
// Y = beta Y + A S, S a.count x y.count; Y may overlap A.
void tall_times(Run &run, Columns a, const double *s, int64_t lds, double beta, Columns y);
// As many columns; they may overlap.
void tall_copy(Run &run, Columns from, Columns to);
// |x_j|
void tall_norms(Run &run, Columns x, double *out);
// Column j = uniform(row, stream + j) - 0.5.
void tall_random(Run &run, Columns x, const Random &random, int64_t stream);
// Makes the columns of X orthonormal and orthogonal to the orthonormal Q; those that are left stand in front, their number is
// returned. Columns that lie in the span of Q to 1e-13 of their length (f32: 1e-6), or of each other to sqrt(1e-14 p) (what a
// Gram matrix can see; f32: 1e-6), are dropped. |X^T X - 1| <= 1e-14 p (f32: 4 u_32).
int64_t orthonormalise(Run &run, Columns x, Columns q);

} // namespace mercer
