/* reducer-duplicates.c - must fail: it draws n rows with replacement, so it gives some rows
 * twice. */
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->m = shape->n;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)params, (void)want;
    int32_t status = MERCER_OK;
    for (int64_t k = 0; k < shape->n && !status; k++) {
        int64_t row = (int64_t)(host->uniform(task, k, 0) * (double)shape->n);
        status = host->give(task, 1, &row, NULL, NULL);
    }
    return status;
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN_BARE(MERCER_KIND_REDUCER, "duplicates", MERCER_VERSION, "rows with replacement", "", ops)
