/* cauchy.c - k(x, y) = 1 / (1 + r^2 / sigma^2), r = |x - y|
 *
 * Basak, IJCNN 2008. It is the rational quadratic kernel with alpha = 1 and the width
 * sigma / sqrt(2). h = sigma. Cost: a product and a quotient per value. Positive definite for every
 * sigma > 0: k is the integral of exp(-s (1 + r^2/sigma^2)) over s > 0, which is a mixture of
 * Gaussians. Largest slope sqrt(27)/8 / sigma, at r = sigma / sqrt(3). Error: relative 4 u (u: unit
 * roundoff).
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct cauchy {
    double sigma;
    int32_t bandwidth;
    double rate; /* derived: 1 / sigma^2 */
} cauchy;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(cauchy, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "width: k = 1 / (1 + r^2 / sigma^2)"),
    MERCER_PARAM_CHOICE(cauchy, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: sqrt(d var)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    cauchy *p = params;
    p->sigma = mercer_width(p->sigma, input);
    p->rate = fmin(1 / p->sigma / p->sigma, DBL_MAX);
    return MERCER_OK;
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    mercer_scale(dtype, values, count, ((const cauchy *)params)->rate);
    MERCER_EACH(dtype, values, count, v, 1 / (1 + v));
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    mercer_scale(dtype, values, count, ((const cauchy *)params)->rate);
    MERCER_EACH(dtype, values, count, v, (real)-log1p(v));
}

/* The derivative with respect to v = r^2: -rate k^2. */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    map(host, params, dtype, values, count);
    MERCER_EACH(dtype, values, count, k, k * k);
    mercer_scale(dtype, values, count, -((const cauchy *)params)->rate);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const cauchy *p = params;
    out->h = p->sigma;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = sqrt(27) / 8 / p->sigma;
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_SQDIST,
    .finish = finish,
    .map = map,
    .facts = facts,
    .log_map = log_map,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "cauchy", MERCER_VERSION, "1 / (1 + r^2 / sigma^2)", "Basak, IJCNN (2008)", rows,
              cauchy, ops)
