/* reducer-energy.c - a pivot rule of one's own on the host's pivoted Cholesky: the score is the squared residual
 *
 * Residuals only fall, so their squares do: the rule BOUND holds. The pivots are those of the reducer greedy.
 */
#include <mercer/plugin.h>

typedef struct energy {
    int64_t m;
} energy;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(energy, m, "10", "", MERCER_SHORT, 1, 9e15, "number of centres at most"),
};

static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    (void)user;
    for (int64_t i = 0; i < count; i++) scores[i] = state->residual[first + i] * state->residual[first + i];
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    int64_t m = ((const energy *)params)->m;
    if (m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)shape->n);
    out->m = m;
    out->bytes = 8 * shape->n * (m + 3);
    out->kernel_evaluations = shape->n * (m + 1);
    out->flops = (double)shape->n * (double)m * (double)m;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_BOUND, .score = score};
    mercer_pivot_stop stop = {.struct_size = sizeof stop, .m = cost.m};
    mercer_pivots pivots = {.struct_size = sizeof pivots};
    if (status || (status = host->pivot_cholesky(task, &rule, &stop, &pivots))) return status;
    return host->give(task, pivots.count, pivots.index, NULL, NULL);
}

static const mercer_reducer_ops ops = {.struct_size = sizeof ops, .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "energy", MERCER_VERSION, "rows of largest squared residual", "", rows, energy, ops)
