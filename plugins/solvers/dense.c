/* dense.c - the top r eigenpairs of the operator as a full matrix
 *
 * LAPACK's tridiagonal reduction and MRRR (Dhillon, Parlett & Voemel, ACM TOMS 32, 2006), through
 * host->eigh. Locked vectors Q, orthonormal, are deflated: A <- P A P - c Q Q^T with P = I - Q Q^T
 * and c = twice the largest column sum of |A|, so that Q gets the eigenvalue -c, below every other
 * one. Both changes are made by one update, A - W Q^T - Q W^T with W = A Q - Q (Q^T A Q - c)/2.
 * Cost: 4/3 n^3 flops and O(n^2 r), 8 n^2 bytes; the matrix is computed once, and the operator is
 * applied once to r columns for the residuals. most_negative is exact for n <= 512, where all
 * eigenvalues are computed (in less than 0.1 s), and for r = n; otherwise it is the smallest of the
 * r. Error: |lambda - theta| <= |residual| for each pair. The residuals are those of P A P; they
 * are measured, and are a few n u |A|.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

enum { ALL_BELOW = 512 };

static int64_t computed(int64_t n, int64_t r) { return n <= ALL_BELOW ? n : r; } /* how many eigenpairs are computed */

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params;
    const int64_t r = request->r, l = request->locked.count, got = computed(n, r);
    const int64_t likely_eigh = n * (got == n ? 2 * n + 12 : r + 80),
                  eigh = n * (2 * n + 12 > r + 80 ? 2 * n + 12 : r + 80);
    double columns = (double)got, size = (double)n;
    out->bytes = 8 * (n * n + (n + 1) * got + eigh + l * (2 * n + l + r) + r * r);
    out->likely_bytes = out->bytes - 8 * (eigh - likely_eigh); /* more if eigenvalues are equal up to rounding */
    /* A fit may have fewer points than forecast, and then computes all pairs. */
    const int64_t fewer = n > ALL_BELOW ? 8 * ALL_BELOW * (4 * ALL_BELOW + 13) : 0;
    if (out->bytes < fewer) out->bytes = fewer;
    out->blocks = r;
    out->passes = 2;
    out->columns = r;
    out->flops = 4. / 3 * size * size * size + 4 * size * size * columns;
    return MERCER_OK;
}

static double column_norm(int64_t n, const double *a) {
    double largest = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += fabs(a[i + j * n]);
        largest = isnan(sum) ? INFINITY : fmax(largest, sum);
    }
    return largest;
}

static int32_t deflate(const mercer_host *host, mercer_task *task, int64_t n, double *a, double norm, int64_t l,
                       const double *q) {
    double c = norm > 0 ? 2 * norm : DBL_MIN, *w = host->alloc(task, 8 * n * l), *small = host->alloc(task, 8 * l * l);
    int32_t status;
    if (!w || !small) return MERCER_E_MEMORY;
    if ((status = host->gemm(task, 'N', 'N', n, l, n, 1, a, n, q, n, 0, w, n)) ||
        (status = host->gemm(task, 'T', 'N', l, l, n, -0.5, q, n, w, n, 0, small, l)))
        return status;
    for (int64_t i = 0; i < l; i++) small[i + i * l] += c / 2;
    if ((status = host->gemm(task, 'N', 'N', n, l, l, 1, q, n, small, l, 1, w, n)) ||
        (status = host->gemm(task, 'N', 'T', n, n, l, -1, w, n, q, n, 1, a, n)))
        return status;
    return host->gemm(task, 'N', 'T', n, n, l, -1, q, n, w, n, 1, a, n);
}

/* Computes the norms of P A v - lambda v by one application of the operator. Norms below 64 u |A|,
 * or 4 u_32 |A| if v is stored in f32, are rounding and count as converged. */
static int32_t residuals(const mercer_host *host, mercer_task *task, const mercer_operator *op, double norm,
                         const mercer_eigen_request *request, mercer_eigen_result *out) {
    double rounding = op->dtype == MERCER_F32 ? 4 * (FLT_EPSILON / 2) : 64 * (DBL_EPSILON / 2);
    double limit = fmax(request->tol * fabs(out->values[0]), rounding * norm + DBL_MIN);
    int64_t r = request->r, l = request->locked.count;
    double *small = host->alloc(task, 8 * l * r), *theta = host->alloc(task, 8 * r * r);
    mercer_range y = {host->block(task, op, r), 0, r};
    int32_t status;
    if (!y.block || !small || !theta) return MERCER_E_MEMORY;
    if ((status = op->apply(op, task, out->vectors, y))) return status;
    if (l > 0) {
        if ((status = host->dot(task, request->locked, y, small, l))) return status;
        for (int64_t i = 0; i < l * r; i++) small[i] = -small[i];
        if ((status = host->times(task, request->locked, small, l, 1, y))) return status;
    }
    for (int64_t j = 0; j < r; j++) theta[j + r * j] = -out->values[j];
    if ((status = host->times(task, out->vectors, theta, r, 1, y)) || (status = host->norms(task, y, out->residuals)))
        return status;
    for (int64_t j = 0; j < r; j++)
        if (!(out->residuals[j] <= limit)) out->converged = 0;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r, l = request->locked.count, got = computed(n, r);
    double *a = host->alloc(task, 8 * n * n), *values = host->alloc(task, 8 * got),
           *vectors = host->alloc(task, 8 * n * got), *q = host->alloc(task, 8 * n * l);
    int32_t status;
    if (!op->dense)
        return host->fail(task, MERCER_E_UNSUPPORTED,
                          "solver = dense, but this operator stores no matrix: use block-krylov");
    if (!a || !values || !vectors || !q) return MERCER_E_MEMORY;
    if ((status = op->dense(op, task, a, n))) return status;
    double norm = column_norm(n, a);
    if (!isfinite(norm)) return host->fail(task, MERCER_E_NUMERICAL, "dense: the matrix contains NaN or Inf");
    if (l > 0 &&
        ((status = host->get(task, request->locked, q, n)) || (status = deflate(host, task, n, a, norm, l, q))))
        return status;
    if ((status = host->progress(task, 0.1)) || (status = host->eigh(task, n, a, n, got, values, vectors, n)) ||
        (status = host->progress(task, 0.9)) || (status = host->put(task, out->vectors, vectors, n)))
        return status;
    for (int64_t j = 0; j < r; j++) out->values[j] = values[j];
    out->most_negative = values[got < n - l ? got - 1 : n - l - 1]; /* the locked vectors follow it, at -c */
    out->applies = r;
    out->passes = 2;
    out->converged = 1;
    return residuals(host, task, op, norm, request, out);
}

static const mercer_solver_ops ops = {
    .struct_size = sizeof(mercer_solver_ops),
    .flags = MERCER_DIRECT,
    .forecast = forecast,
    .solve = solve,
};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "dense", MERCER_VERSION, "LAPACK on the stored kernel matrix",
                   "Dhillon, Parlett & Voemel, ACM TOMS 32 (2006)", ops)
