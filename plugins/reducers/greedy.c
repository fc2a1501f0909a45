/* greedy.c - rows by largest residual: pivoted partial Cholesky K ~ L L^T
 *
 * Franc & Hlavac, Greedy algorithm for a training set reduction in the kernel methods, CAIP 2003 (greedy kernel PCA);
 * Fine & Scheinberg, JMLR 2 (2001). Each step takes the row furthest from the span of those chosen, j = argmax R_jj, R
 * = K - L L^T, in feature space the farthest-point rule. Stops at m rows, at mean R_jj <= mse, at max R_jj <= maxerr,
 * at sum R_jj <= trace sum K_jj, or at full rank. Cost: n m kernel values, n m^2 flops in about m/35 sweeps, n m
 * numbers of the tiles' type (a budget too small for them: m^2, for m/70 times the kernel values and m/105 times the
 * flops more). Needs a positive semidefinite kernel. Error: reducer.mse = mean R_jj is exactly the mean squared
 * feature-space distance of the rows to the span of the chosen ones, and bounds what projected kernel PCA loses: 0 <=
 * sum_i (lambda_i - lambda_i') <= mse (eigenvalues over n). At equal m it is 20 to 27 % above that of rpcholesky on
 * clustered data; its largest residual is smaller.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct greedy {
    int64_t m;
    double mse, maxerr, trace;
} greedy;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(greedy, m, "0", "", MERCER_AUTO | MERCER_SHORT, 0, 9e15,
                     "largest number of centres; 0: min(n, 1000)"),
    MERCER_PARAM_REAL(greedy, mse, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the mean squared residual is at most this"),
    MERCER_PARAM_REAL(greedy, maxerr, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the largest squared residual is at most this"),
    MERCER_PARAM_REAL(greedy, trace, "0", "", MERCER_HI_OPEN, 0, 1,
                      "stop when the sum of the residuals is at most this share of the trace"),
};

static mercer_pivot_stop stop_of(const greedy *p, int64_t n) {
    mercer_pivot_stop stop = {.struct_size = sizeof stop, .mse = p->mse, .maxerr = p->maxerr, .trace = p->trace};
    stop.m = p->m > 0 ? p->m : n < 1000 ? n : 1000;
    return stop;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    mercer_pivot_stop stop = stop_of(params, shape->n);
    return host->pivot_cost(task, shape, &stop, out);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_BOUND};
    mercer_pivot_stop stop = stop_of(params, shape->n);
    mercer_pivots pivots = {.struct_size = sizeof pivots};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status || (status = host->pivot_cholesky(task, &rule, &stop, &pivots)) ||
        (status = host->report(task, "mse", pivots.mse)) || (status = host->report(task, "trace", pivots.trace)) ||
        (status = host->report(task, "sweeps", (double)pivots.sweeps)))
        return status;
    return host->give(task, pivots.count, pivots.index, NULL, NULL);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "greedy", MERCER_VERSION,
              "rows of largest residual, one after another (pivoted Cholesky)", "Franc & Hlavac, CAIP (2003)", rows,
              greedy, ops)
