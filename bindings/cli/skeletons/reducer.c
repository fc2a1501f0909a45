/* reducer-example.c - selects m rows: every s-th one, s = floor(n / m).  Cost: no kernel value.
 * Source: ... For rows whose order is random.
 *
 * A reducer selects the landmarks and passes them to host->give. host->visit and host->columns
 * provide kernel values and distances, a tile at a time; host->gram provides the kernel matrix as
 * an operator. If yours is a rule for the pivots of a partial Cholesky factor, begin with
 * mercer/pivots.h, which leaves only the rule to write. */
#include <mercer/plugin.h>

typedef struct example_params {
    int64_t m;
} example_params;

/* One row for each parameter: field, default, group, flags, range, meaning. It becomes a flag and a
 * line of help. */
static const mercer_param rows[] = {
    MERCER_PARAM_INT(example_params, m, "1", "", MERCER_SHORT | MERCER_CENTRES, 1, 9e15, "number of centres"),
};

/* Says before reduce runs what it will need: out->m is the number of centres; bytes, kernel
 * evaluations and flops are 0 here. */
static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const int64_t m = ((const example_params *)params)->m, n = shape->n;
    if (m > n) return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)n);
    out->m = m;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    for (int64_t i = 0; i < cost.m && !status; i++) {
        const int64_t row = i * (shape->n / cost.m);
        status = host->give(task, 1, &row, NULL, NULL);
    }
    return status;
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "example", "0.1", "every s-th row", "", rows, example_params, ops)
