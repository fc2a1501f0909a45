/* solver-trusting.c - must fail: takes rough products for exact ones, and tells residuals of the matrix that they make. */
#include <math.h>
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->bytes = 8 * n * (3 * n + request->r);
    out->passes = 1;
    out->columns = n;
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    (void)params;
    int64_t n = op->n, r = request->r;
    double *one = host->alloc(task, 8 * n * n), *a = host->alloc(task, 8 * n * n), *copy = host->alloc(task, 8 * n * n);
    double *y = host->alloc(task, 8 * n * r);
    int32_t status;
    if (!one || !a || !copy || !y) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < n; i++) one[i + n * i] = 1;
    if ((status = (op->apply_rough ? op->apply_rough : op->apply)(op, task, one, n, n, a, n)) ||
        (status = host->gemm(task, 'N', 'N', n, n, n, 1, a, n, one, n, 0, copy, n)) ||
        (status = host->eigh(task, n, copy, n, r, out->values, out->vectors, n)) ||
        (status = host->gemm(task, 'N', 'N', n, r, n, 1, a, n, out->vectors, n, 0, y, n)))
        return status;
    for (int64_t j = 0; j < r; j++) {
        double sum = 0;
        for (int64_t i = n * j; i < n * (j + 1); i++) sum += pow(y[i] - out->values[j] * out->vectors[i], 2);
        out->residuals[j] = sqrt(sum);
    }
    out->most_negative = out->values[r - 1];
    out->passes = 1;
    out->applies = n;
    out->converged = 1;
    return MERCER_OK;
}

static const mercer_solver_ops ops = {.struct_size = sizeof(mercer_solver_ops), .forecast = forecast, .solve = solve};

MERCER_PLUGIN_BARE(MERCER_KIND_SOLVER, "trusting", MERCER_VERSION, "rough products taken for exact ones", "", ops)
