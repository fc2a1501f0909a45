/* gaussian.c - k(x, y) = exp(-r^2 / (2 sigma^2)) = exp(-gamma r^2) = exp(-r^2 / h^2), r = |x - y|
 *
 * Schoelkopf, Smola & Mueller, Neural Computation 10 (1998). gamma = 1/(2 sigma^2), h = sqrt(2)
 * sigma. Cost: one product and one exp per value. Positive definite for every sigma > 0 on distinct
 * points of any dimension (Bochner: its Fourier transform is a Gaussian). Largest slope
 * sqrt(2/e)/h, at r = h/sqrt(2). Error: relative 2 u r^2/h^2 (u: unit roundoff) from the rounding
 * of the exponent, and 1 ulp from exp. If gamma overflows the tile's type, the largest number of
 * the type replaces it: k is then 1 at r = 0 and practically 0 elsewhere, and never NaN from 0 *
 * inf.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct gaussian {
    double sigma, gamma;
    int32_t bandwidth;
    double rate; /* derived: gamma as set, or computed from sigma */
} gaussian;

enum { MEDIAN, MEAN, SCALE }; /* choices of the parameter bandwidth */

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(gaussian, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "width: k = exp(-r^2 / (2 sigma^2))"),
    MERCER_PARAM_REAL(gaussian, gamma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "the same as a rate: k = exp(-gamma r^2)"),
    MERCER_PARAM_CHOICE(gaussian, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: gamma = 1/(d var)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    gaussian *p = params;
    if (isnan(p->sigma) && isnan(p->gamma)) {
        double length = input->bandwidth;
        if (!(length > 0)) /* all points are equal: any width does */
            p->sigma = 1;
        else
            p->sigma = p->bandwidth == SCALE ? length / sqrt(2) : length;
    }
    p->rate = fmin(isnan(p->sigma) ? p->gamma : 0.5 / p->sigma / p->sigma, DBL_MAX);
    return MERCER_OK;
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    mercer_scale(dtype, values, count, -((const gaussian *)params)->rate);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    log_map(host, params, dtype, values, count);
    mercer_exp(host, dtype, values, count);
}

static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    map(host, params, dtype, values, count);
    log_map(host, params, dtype, values, count); /* multiplies by -rate */
}

static double profile(const void *params) { return -((const gaussian *)params)->rate; }

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const gaussian *p = params;
    out->h = isnan(p->sigma) ? 1 / sqrt(p->gamma) : sqrt(2) * p->sigma;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = sqrt(2 / exp(1)) / out->h;
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_SQDIST,
    .finish = finish,
    .map = map,
    .facts = facts,
    .log_map = log_map,
    .profile = profile,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "gaussian", MERCER_VERSION, "exp(-r^2 / (2 sigma^2)) = exp(-gamma r^2)",
              "Schoelkopf, Smola & Mueller, Neural Computation 10 (1998)", rows, gaussian, ops)
