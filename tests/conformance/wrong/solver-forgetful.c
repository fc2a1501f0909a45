/* solver-forgetful.c - must fail: its checkpoint lacks the smallest eigenvalue that it has seen
 * (most_negative). */
#include <mercer/plugin.h>
#include <string.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params, (void)request;
    out->bytes = 8 * n * (2 * n + 1);
    out->passes = 1;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r;
    double *a = host->alloc(task, 8 * n * n), *s = host->alloc(task, 8 * n * n), *all = host->alloc(task, 8 * n);
    int32_t status, found = 0;
    if (!a || !s || !all) return MERCER_E_MEMORY;
    if ((status = host->resume(task, out->values, r, &out->vectors, 1, &found))) return status;
    out->most_negative = out->values[r - 1];
    if (!found) {
        if ((status = op->dense(op, task, a, n)) || (status = host->eigh(task, n, a, n, n, all, s, n)) ||
            (status = host->put(task, out->vectors, s, n)))
            return status;
        memcpy(out->values, all, 8 * (size_t)r);
        out->most_negative = all[n - 1];
        if ((status = host->checkpoint(task, out->values, r, &out->vectors, 1))) return status;
    }
    out->passes = 1;
    out->converged = 1;
    return MERCER_OK;
}

static const mercer_solver_ops ops = {
    .struct_size = sizeof(mercer_solver_ops), .flags = MERCER_KEEPS_STATE, .forecast = forecast, .solve = solve};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "forgetful", MERCER_VERSION, "keeps less than it needs", "", ops)
