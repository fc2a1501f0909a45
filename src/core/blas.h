// The only includer of cblas and lapacke. Column-major, int64 sizes, one BLAS thread a call, no more calls at once than there are
// buffers for (E_MEMORY: for none); LAPACK sees finite numbers only and its results are checked (an Inf makes dgesdd loop for ever, dsyevd return NaN with
// info = 0).
#pragma once
#include "error.h"

#include <vector>

namespace mercer {

// While one lives, BLAS calls made by this process' libmercer calls use one thread each. OpenBLAS on pthreads has one
// process-wide setting: the first scope saves it and sets 1, the last puts it back. On OpenMP the setting is each
// thread's own count, which that thread saves and restores.
class BlasScope {
  public:
    BlasScope();
    ~BlasScope();
    BlasScope(const BlasScope &) = delete;

  private:
    int saved_;
};

// Does OpenBLAS hold a buffer, so that one call at a time is sure of its memory? It gets its first here, if it can.
bool blas_has_room();

// "OpenBLAS 0.3.21 on pthreads, SkylakeX kernels, at most 64 threads".
std::string blas_description();

// C = alpha op(A) op(B) + beta C.
void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
          const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
          const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
// X <- X op(L)^-1, L lower.
void trsm(char trans, int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx);
// X (m x n) <- L^-1 X, L lower.
void solve_lower(int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx);
void solve_lower(int64_t m, int64_t n, const float *l, int64_t ldl, float *x, int64_t ldx);
// A = L L^T in the lower triangle; returns 0 or the order of the first minor that is not positive.
int64_t potrf(int64_t n, double *a, int64_t lda);
// The same of as many leading columns as are positive definite, which it returns.
int64_t potrf_leading(int64_t n, std::vector<double> &a, int64_t lda);
// Top r eigenpairs of symmetric a (its lower triangle; both are overwritten), descending; vectors n x r. Workspace n r; 3 n^2 for
// r = n, and where eigenvalues are equal to rounding. A call of order n takes about 10 n^3/3 flops and cannot be interrupted.
void eigh_top(int64_t n, double *a, int64_t lda, int64_t r, double *values, double *vectors, int64_t ldv);

} // namespace mercer
