/* given.c - the centres that the caller gave: numbers of rows, or points
 *
 * This reducer serves to use landmarks that were chosen elsewhere, and to compare lifts on the same
 * centres. Rows have their sample weights, points have equal weights. The order is kept, and no
 * kernel value is computed. Cost: O(m). Error: none of its own; a model is as good as these centres
 * allow.
 */
#include <mercer/plugin.h>

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    (void)params;
    if (shape->landmarks == 0)
        return host->fail(
            task, MERCER_E_VALUE,
            "reducer = given, but the data have no landmarks: attach row numbers or points as \"landmarks\"");
    out->bytes = 0;
    out->kernel_evaluations = 0;
    out->flops = 0;
    out->m = shape->landmarks;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    const int64_t *index = NULL;
    const void *points = NULL;
    int32_t status = forecast(host, task, params, shape, &cost);
    if (!status) status = host->landmarks(task, &index, &points);
    return status ? status : host->give(task, cost.m, index, points, NULL);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .flags = MERCER_GIVES_POINTS,
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN_BARE(MERCER_KIND_REDUCER, "given", MERCER_VERSION, "the landmarks attached to the data", "", ops)
