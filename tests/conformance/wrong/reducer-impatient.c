/* reducer-impatient.c - must fail: its forecast asks for the kernel matrix, which is available only
 * in the reduction. */
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    (void)params;
    mercer_gram gram = {.struct_size = sizeof gram};
    out->m = shape->n;
    return host->gram(task, 0, &gram);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)params, (void)want;
    int32_t status = MERCER_OK;
    for (int64_t i = 0; i < shape->n && !status; i++) status = host->give(task, 1, &i, NULL, NULL);
    return status;
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN_BARE(MERCER_KIND_REDUCER, "impatient", MERCER_VERSION, "all rows", "", ops)
