/* reducer-careless.c - gives the first 10 rows, or makes the mistake that its parameter selects. */
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
        const double rows_of_centre = (double)((shape->n - i + 9) / 10); /* rows assigned to centre i below */
        status = host->give(task, 1, &row, NULL, fault >= RADIUS ? &rows_of_centre : NULL);
    }
    /* Reports that no row is farther from its centre than 1e-3, which is false, or than 1e3 if the
     * fault is `wide`, which is true. */
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
