/* kernel-example.c - k(x, y) = exp(-r / sigma), r = |x - y|.  Positive definite: it is a mixture of
 * Gaussians.
 * Source: ... Cost: a square root and an exponential for each value. Error: a few ulp.
 *
 * The engine computes the form (here the squared distance); map turns form values into kernel
 * values, in place. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct example_params {
    double sigma;
} example_params;

/* One row for each parameter: field, default, group, flags, range, meaning. It becomes a flag and a
 * line of help. */
static const mercer_param rows[] = {
    MERCER_PARAM_REAL(example_params, sigma, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY, "length"),
};

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    const double rate = -1 / ((const example_params *)params)->sigma;
    MERCER_EACH(dtype, values, count, v, (real)(rate * sqrt(v)));
    mercer_exp(host, dtype, values, count);
}

/* Facts that hold for all values of the kernel. `mercer plugin-check` checks them. */
static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    out->h = ((const example_params *)params)->sigma; /* k is a function of r / h */
    out->kappa = out->hi = 1;                         /* kappa: k(x, x); hi: the largest value */
    out->lo = 0;
    out->lipschitz = 1 / out->h; /* the largest |dk/dr| */
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "example", "0.1", "exp(-r / sigma)", "", rows, example_params, ops)
