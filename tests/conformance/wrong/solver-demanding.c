/* solver-demanding.c - must fail: it reports convergence only if the residuals are below tol, which
 * f32 blocks cannot resolve. */
#include <math.h>
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->bytes = 8 * (n * n + n * request->r + request->r * request->r + n);
    out->blocks = request->r;
    out->columns = out->first_columns = request->r;
    out->passes = 2;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r;
    double *a = host->alloc(task, 8 * n * n), *s = host->alloc(task, 8 * n * r), *theta = host->alloc(task, 8 * r * r);
    mercer_range image = {host->block(task, op, r), 0, r};
    int32_t status;
    if (!a || !s || !theta || !image.block) return MERCER_E_MEMORY;
    if ((status = op->dense(op, task, a, n)) || (status = host->progress(task, 0.5)) ||
        (status = host->eigh(task, n, a, n, r, out->values, s, n)) || (status = host->put(task, out->vectors, s, n)) ||
        (status = op->apply(op, task, out->vectors, image)))
        return status;
    for (int64_t j = 0; j < r; j++) theta[j + r * j] = -out->values[j];
    if ((status = host->times(task, out->vectors, theta, r, 1, image)) ||
        (status = host->norms(task, image, out->residuals)))
        return status;
    out->converged = 1;
    for (int64_t j = 0; j < r; j++) out->converged &= out->residuals[j] <= request->tol * fabs(out->values[0]);
    out->most_negative = out->values[r - 1];
    out->passes = 2;
    out->applies = r;
    return MERCER_OK;
}

static const mercer_solver_ops ops = {.struct_size = sizeof(mercer_solver_ops), .forecast = forecast, .solve = solve};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "demanding", MERCER_VERSION, "tol, even below what is stored", "", ops)
