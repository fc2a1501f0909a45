// Blocks of tall columns (n x p, f64, column-major), the currency of reducers and solvers. Parallel over slabs of fixed
// rows whose partial results are added in order: the same bits for any number of threads.
#pragma once
#include "run.h"

namespace mercer {

// C (p x q) = A^T B.
void tall_dot(Run &run, int64_t n, int64_t p, const double *a, int64_t lda, int64_t q, const double *b, int64_t ldb,
              double *c, int64_t ldc);
// Y (n x q) = beta Y + A S, S p x q.
void tall_times(Run &run, int64_t n, int64_t p, const double *a, int64_t lda, int64_t q, const double *s, int64_t lds,
                double beta, double *y, int64_t ldy);
// Makes the columns of X (n x p) orthonormal and orthogonal to the orthonormal Q (n x q, may be nullptr); those that are
// left stand in front, their number is returned. Columns that lie in the span of Q to 1e-13 of their length, or of each
// other to sqrt(1e-14 p) (what a Gram matrix can see), are dropped. |X^T X - 1| <= 1e-14 p.
int64_t orthonormalise(Run &run, int64_t n, int64_t p, double *x, int64_t ldx, int64_t q, const double *against,
                       int64_t lda);

} // namespace mercer
