/* reducer-silent.c - must fail: it fails without a message. */
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    (void)host, (void)task, (void)params;
    out->m = shape->n;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)host, (void)task, (void)params, (void)shape, (void)want;
    return MERCER_E_VALUE;
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN_BARE(MERCER_KIND_REDUCER, "silent", MERCER_VERSION, "no rows", "", ops)
