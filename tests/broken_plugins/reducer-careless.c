/* reducer-careless.c - gives the first 10 rows, or makes the mistake that its parameter selects. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct careless {
    int32_t fault;
} careless;

enum { NONE, TWICE, MORE, UNASSIGNED, BYTES, FLOPS, BEYOND, COUNT, NUMBER, RADIUS, EPSILON, WIDE };

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(careless, fault, "none",
                        "none|twice|more|unassigned|bytes|flops|beyond|count|number|radius|epsilon|wide", "", 0,
                        "what is wrong"),
};

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const int32_t fault = ((const careless *)params)->fault;
    (void)host, (void)task, (void)shape;
    out->m = 10;
    if (fault == BYTES) out->bytes = INT64_MAX;
    if (fault == FLOPS) out->flops = NAN;
    return MERCER_OK;
}

static int32_t ignore(void *user, void *state, const mercer_tile *tile) {
    (void)user, (void)state, (void)tile;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    const int32_t fault = ((const careless *)params)->fault;
    int32_t status = MERCER_OK;
    if (fault == BEYOND) { /* row0 + rows overflows */
        const mercer_visit visit = {.struct_size = sizeof visit, .row0 = INT64_MAX, .rows = INT64_MAX};
        const mercer_consumer consumer = {.struct_size = sizeof consumer, .tile = ignore};
        status = host->visit(task, &visit, &consumer);
    }
    if (fault == COUNT) status = host->columns(task, NULL, -1, NULL, shape->n);
    if (fault == NUMBER) status = host->report(task, "number", NAN);
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
