// The interface of blas.cpp, the only file that includes cblas and lapacke. Matrices are
// column-major, sizes are int64, and each call runs on one BLAS thread. Each call needs one buffer
// of OpenBLAS. If all buffers are in use and OpenBLAS cannot map another one, the call waits until
// one is free; if OpenBLAS cannot even map its first one, the call fails with E_MEMORY. LAPACK
// receives finite numbers only, and the results of eigendecompositions are checked, because LAPACK
// does not report Inf and NaN: with an Inf, dsyevd returns NaN with info = 0.
#pragma once
#include "error.h"

#include <vector>

namespace mercer {

// While a BlasScope lives, BLAS calls made by libmercer in this process use one thread each.
// OpenBLAS on pthreads has one setting for the whole process: the first scope saves it and sets it
// to 1, and the last scope restores it. OpenBLAS on OpenMP has one setting for each thread, so each
// scope saves and restores that of its own thread.
class BlasScope {
  public:
    BlasScope();
    ~BlasScope();
    BlasScope(const BlasScope &) = delete;

  private:
    int saved_;
};

// Returns true if OpenBLAS holds a buffer, so that at least one call at a time gets the memory that
// it needs. If OpenBLAS holds no buffer yet, this function first lets it map one, if the system
// grants the memory.
bool blas_has_room();

// Returns, for example, "OpenBLAS 0.3.21 on pthreads, SkylakeX kernels, at most 64 threads".
std::string blas_description();

// C = alpha op(A) op(B) + beta C.
void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
          const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
          const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
// X <- X op(L)^-1, where L is lower triangular (n x n) and X is m x n.
void trsm(char trans, int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx);
// X <- L^-1 X, where L is lower triangular (m x m) and X is m x n.
void solve_lower(int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx);
void solve_lower(int64_t m, int64_t n, const float *l, int64_t ldl, float *x, int64_t ldx);
// Factors A = L L^T in place, in the lower triangle. Returns 0, or the order of the first leading
// minor that is not positive.
int64_t potrf(int64_t n, double *a, int64_t lda);
// Factors the largest leading block of A that is positive definite, and returns its order.
int64_t potrf_leading(int64_t n, std::vector<double> &a, int64_t lda);
// Factors the n x n matrix A = Q R. R replaces the upper triangle of A, and has a diagonal >= 0; Q
// is n x n. A call takes about 8 n^3 / 3 flops.
void qr(int64_t n, double *a, int64_t lda, double *q, int64_t ldq);
// Computes the r largest eigenpairs of the symmetric matrix a, in descending order; vectors is n x
// r. Only the lower triangle of a is read, but both triangles are overwritten. The workspace is
// about n r numbers, or 2 n^2 if r = n or if some eigenvalues are equal within rounding. A call of
// order n takes about 10 n^3 / 3 flops and cannot be interrupted.
void eigh_top(int64_t n, double *a, int64_t lda, int64_t r, double *values, double *vectors, int64_t ldv);

} // namespace mercer
