/* One call of OpenBLAS and nothing else, with which limits_test.py compares the command. */
#include <cblas.h>
#include <stdlib.h>

int main(void) {
    enum { N = 256 };
    double *a = calloc((size_t)N * N, sizeof *a), *c = calloc((size_t)N * N, sizeof *c);
    if (!a || !c) return 1;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a, N, 0, c, N);
    return c[0] != 0;
}
