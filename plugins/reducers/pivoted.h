/* pivoted.h - what reducers by partial Cholesky share: when they stop, and what is said of it. Their own is the rule. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct pivoted {
    int64_t m;
    double mse, maxerr, trace;
} pivoted;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(pivoted, m, "0", "", MERCER_AUTO | MERCER_SHORT, 0, 9e15,
                     "number of centres at most, 0: min(n, 1000)"),
    MERCER_PARAM_REAL(pivoted, mse, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the mean squared residual is at most this"),
    MERCER_PARAM_REAL(pivoted, maxerr, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "stop when the largest squared residual is at most this"),
    MERCER_PARAM_REAL(pivoted, trace, "0", "", MERCER_HI_OPEN, 0, 1,
                      "stop when the residuals sum to at most this share of the trace"),
};

static mercer_pivot_stop stop_of(const pivoted *p, int64_t n) {
    mercer_pivot_stop stop = {.struct_size = sizeof stop, .mse = p->mse, .maxerr = p->maxerr, .trace = p->trace};
    stop.m = p->m > 0 ? p->m : n < 1000 ? n : 1000;
    return stop;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    mercer_pivot_stop stop = stop_of(params, shape->n);
    return host->pivot_cost(task, shape, &stop, out);
}

static int32_t reduce_by(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                         const mercer_pivot_rule *rule) {
    mercer_cost cost = {.struct_size = sizeof cost};
    mercer_pivot_stop stop = stop_of(params, shape->n);
    mercer_pivots pivots = {.struct_size = sizeof pivots};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status || (status = host->pivot_cholesky(task, rule, &stop, &pivots)) ||
        (status = host->report(task, "mse", pivots.mse)) || (status = host->report(task, "trace", pivots.trace)) ||
        (status = host->report(task, "sweeps", (double)pivots.sweeps)))
        return status;
    return host->give(task, pivots.count, pivots.index, NULL, NULL);
}
