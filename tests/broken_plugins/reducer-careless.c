/* reducer-careless.c - the first 10 rows, or what its parameter says. */
#include <mercer/plugin.h>

typedef struct careless {
    int32_t fault;
} careless;

enum { NONE, TWICE, MORE, UNASSIGNED, RADIUS, EPSILON, WIDE };

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(careless, fault, "none", "none|twice|more|unassigned|radius|epsilon|wide", "", 0,
                        "what is wrong"),
};

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    (void)host, (void)task, (void)params, (void)shape;
    out->m = 10;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    const int32_t fault = ((const careless *)params)->fault;
    int32_t status = MERCER_OK;
    for (int64_t i = 0; i < (fault == MORE ? 30 : 10) && !status; i++) {
        const int64_t row = fault == TWICE && i == 9 ? 4 : i;
        const double rows_of_centre = (double)((shape->n - i + 9) / 10); /* those assigned to it below */
        status = host->give(task, 1, &row, NULL, fault >= RADIUS ? &rows_of_centre : NULL);
    }
    /* No row is farther from its centre: false, unless the radius is wide. */
    if (fault >= RADIUS && !status)
        status = host->report(task, fault == EPSILON ? "epsilon" : "radius", fault == WIDE ? 1e3 : 1e-3);
    for (int64_t i = 0; want->assignment && i < shape->n; i++)
        want->assignment[i] = fault == UNASSIGNED && i == 7 ? -1 : i % 10;
    return status;
}

static const mercer_reducer_ops ops = {.struct_size = sizeof(mercer_reducer_ops),
                                       .flags = MERCER_GIVES_ASSIGNMENT,
                                       .forecast = forecast,
                                       .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "careless", "1.0", "the first 10 rows, or something wrong", "", rows, careless, ops)
