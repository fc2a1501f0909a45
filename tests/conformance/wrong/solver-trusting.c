/* solver-trusting.c - must fail: it takes products of apply_rough for exact ones, and computes
 * residuals with them instead of with the matrix. */
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->bytes = 8 * n * (3 * n + request->r);
    out->blocks = 2 * n + request->r;
    out->passes = 1;
    out->columns = n;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r;
    double *one = host->alloc(task, 8 * n * n), *a = host->alloc(task, 8 * n * n), *s = host->alloc(task, 8 * n * r);
    mercer_range in = {host->block(task, op, n), 0, n}, image = {host->block(task, op, n), 0, n};
    mercer_range y = {host->block(task, op, r), 0, r};
    int32_t status;
    if (!one || !a || !s || !in.block || !image.block || !y.block) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < n; i++) one[i + n * i] = 1;
    if ((status = host->put(task, in, one, n)) ||
        (status = (op->apply_rough ? op->apply_rough : op->apply)(op, task, in, image)) ||
        (status = host->dot(task, in, image, a, n)) || (status = host->eigh(task, n, a, n, r, out->values, s, n)) ||
        (status = host->times(task, in, s, n, 0, out->vectors)) || (status = host->times(task, image, s, n, 0, y)))
        return status;
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = 0; i < n; i++) s[i + n * j] *= -out->values[j];
    if ((status = host->times(task, in, s, n, 1, y)) || (status = host->norms(task, y, out->residuals))) return status;
    out->most_negative = out->values[r - 1];
    out->passes = 1;
    out->applies = n;
    out->converged = 1;
    return MERCER_OK;
}

static const mercer_solver_ops ops = {.struct_size = sizeof(mercer_solver_ops), .forecast = forecast, .solve = solve};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "trusting", MERCER_VERSION, "rough products taken for exact ones", "", ops)
