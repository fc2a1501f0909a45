/* solver-slanted.c - must fail: its eigenvalues are right, but its last eigenvector is not
 * orthogonal to the first. */
#include <math.h>
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->bytes = 8 * n * (n + request->r);
    out->passes = 1;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r;
    double *a = host->alloc(task, 8 * n * n), *vectors = host->alloc(task, 8 * n * r), *last = vectors + n * (r - 1);
    int32_t status;
    if (!a || !vectors) return MERCER_E_MEMORY;
    if ((status = op->dense(op, task, a, n)) || (status = host->progress(task, 0.5)) ||
        (status = host->eigh(task, n, a, n, r, out->values, vectors, n)))
        return status;
    for (int64_t i = 0; i < n && r > 1; i++) last[i] = (last[i] + 1e-6 * vectors[i]) / sqrt(1 + 1e-12);
    for (int64_t j = 0; j < r; j++) out->residuals[j] = 0;
    out->most_negative = out->values[r - 1];
    out->passes = 1;
    out->converged = 1;
    return host->put(task, out->vectors, vectors, n);
}

static const mercer_solver_ops ops = {.struct_size = sizeof(mercer_solver_ops), .forecast = forecast, .solve = solve};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "slanted", MERCER_VERSION, "vectors that are not orthonormal", "", ops)
