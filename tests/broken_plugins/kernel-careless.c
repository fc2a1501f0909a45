/* kernel-careless.c - exp(-r^2), or the fault that its parameter selects. It always declares that
 * it is positive semi-definite. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct careless {
    int32_t fault;
} careless;

enum { NONE, NUMBER, DEFINITE };

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(careless, fault, "none", "none|number|definite", "", 0, "what is wrong"),
};

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const int32_t fault = ((const careless *)params)->fault;
    if (fault == NONE) MERCER_EACH(dtype, values, count, v, (real)exp(-v));
    if (fault == NUMBER) MERCER_EACH(dtype, values, count, v, (real)(v > 9 ? NAN : exp(-v)));
    if (fault == DEFINITE) MERCER_EACH(dtype, values, count, v, 1 + v);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "careless", "1.0", "exp(-r^2), or something wrong", "", rows, careless, ops)
