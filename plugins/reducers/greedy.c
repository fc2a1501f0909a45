/* greedy.c - rows by largest residual: pivoted partial Cholesky K ~ L L^T
 *
 * Franc & Hlavac, Greedy algorithm for a training set reduction in the kernel methods, CAIP 2003 (greedy kernel PCA);
 * Fine & Scheinberg, JMLR 2 (2001). Each step takes the row furthest from the span of those chosen, j = argmax R_jj, R
 * = K - L L^T, in feature space the farthest-point rule. Stops at m rows, at mean R_jj <= mse, at max R_jj <= maxerr,
 * or at full rank. Cost: n m kernel values, n m^2 flops, 8 n m bytes. Needs a positive semidefinite kernel. Error:
 * reducer.mse = mean R_jj is exactly the mean squared feature-space distance of the rows to the span of the chosen
 * ones, and bounds what projected kernel PCA loses: 0 <= sum_i (lambda_i - lambda_i') <= mse (eigenvalues over n).
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct greedy {
    int64_t m;
    double mse, maxerr;
} greedy;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(greedy, m, "0", "", MERCER_AUTO | MERCER_SHORT, 0, 9e15,
                     "number of centres at most, 0: min(n, 1000)"),
    MERCER_PARAM_REAL(greedy, mse, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the mean squared residual is at most this"),
    MERCER_PARAM_REAL(greedy, maxerr, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the largest squared residual is at most this"),
};

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const greedy *p = params;
    int64_t n = shape->n, m = p->m > 0 ? p->m : n < 1000 ? n : 1000;
    if (m > n) return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)n);
    out->bytes = 8 * n * (m + 3) + 8 * m;
    out->kernel_evaluations = n * (m + 1);
    out->flops = (double)n * (double)m * (double)m;
    out->m = m;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const greedy *p = params;
    mercer_cost cost = {.struct_size = sizeof cost};
    mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_BOUND};
    mercer_pivots pivots = {.struct_size = sizeof pivots};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    mercer_pivot_stop stop = {.struct_size = sizeof stop, .m = cost.m, .mse = p->mse, .maxerr = p->maxerr};
    if ((status = host->pivot_cholesky(task, &rule, &stop, &pivots)) ||
        (status = host->report(task, "mse", pivots.mse)))
        return status;
    return host->give(task, pivots.count, pivots.index, NULL, NULL);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "greedy", MERCER_VERSION, "rows of largest residual (pivoted Cholesky)",
              "Franc & Hlavac, CAIP (2003)", rows, greedy, ops)
