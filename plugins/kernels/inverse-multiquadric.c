/* inverse-multiquadric.c - k(x, y) = 1 / sqrt(r^2 + c^2), r = |x - y|
 *
 * Hardy, Journal of Geophysical Research 76 (1971). Positive definite (Micchelli, Constructive
 * Approximation 2, 1986), because it is a mixture of Gaussians. h = c, k(x, x) = 1/c. It is
 * computed as 1/c / sqrt(1 + r^2/c^2). Cost: a root and a quotient per value. Largest slope 2 /
 * sqrt(27) / c^2, at r = c / sqrt(2). Error: relative 5 u (u: unit roundoff).
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct inverse_multiquadric {
    double c;
    double rate; /* derived: 1 / c^2 */
} inverse_multiquadric;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(inverse_multiquadric, c, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "length: k = 1 / sqrt(r^2 + c^2)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    inverse_multiquadric *p = params;
    (void)input;
    p->rate = fmin(1 / p->c / p->c, DBL_MAX);
    return MERCER_OK;
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const inverse_multiquadric *p = params;
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, 1 / (real)sqrt(1 + v));
    mercer_scale(dtype, values, count, 1 / p->c);
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const inverse_multiquadric *p = params;
    const double log_c = log(p->c);
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, (real)(-0.5 * log1p(v) - log_c));
}

/* The derivative with respect to v = r^2: -(1 + rate v)^(-3/2) rate / (2 c). */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const inverse_multiquadric *p = params;
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, 1 / ((1 + v) * (real)sqrt(1 + v)));
    mercer_scale(dtype, values, count, -p->rate / p->c / 2);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const inverse_multiquadric *p = params;
    out->h = p->c;
    out->kappa = 1 / p->c;
    out->lo = 0;
    out->hi = 1 / p->c;
    out->lipschitz = 2 / sqrt(27) / p->c / p->c;
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

MERCER_PLUGIN(MERCER_KIND_KERNEL, "inverse-multiquadric", MERCER_VERSION, "1 / sqrt(r^2 + c^2)",
              "Micchelli, Constructive Approximation 2 (1986)", rows, inverse_multiquadric, ops)
