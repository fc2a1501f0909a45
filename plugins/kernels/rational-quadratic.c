/* rational-quadratic.c - k(x, y) = (1 + q)^-alpha, q = r^2 / (2 alpha sigma^2), r = |x - y|
 *
 * Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), (4.19); scikit-learn's
 * RationalQuadratic with length_scale sigma. h = sigma. As alpha grows, it tends to the Gaussian
 * kernel of width sigma. Cost: a quotient per value if alpha is 1 or 2, otherwise a logarithm and
 * an exp. Positive definite for every alpha, sigma > 0, because it is a mixture of Gaussians whose
 * rates are Gamma distributed. dk/dr = -r / sigma^2 (1 + q)^(-alpha - 1) is largest in magnitude at
 * q = 1 / (2 alpha + 1). Error: relative 4 alpha u (u: unit roundoff), and (1 + alpha log(1 + q))
 * ulp more if logarithms are used.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct rational_quadratic {
    double alpha, sigma;
    int32_t bandwidth;
    double rate; /* derived: 1 / (2 alpha sigma^2) */
} rational_quadratic;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(rational_quadratic, alpha, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "decay of the tail: k ~ r^(-2 alpha)"),
    MERCER_PARAM_REAL(rational_quadratic, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "width: k = (1 + r^2 / (2 alpha sigma^2))^-alpha"),
    MERCER_PARAM_CHOICE(rational_quadratic, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: sqrt(d var)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    rational_quadratic *p = params;
    p->sigma = mercer_width(p->sigma, input);
    p->rate = fmin(0.5 / p->alpha / p->sigma / p->sigma, DBL_MAX);
    return MERCER_OK;
}

/* Replaces v by (1 + rate v)^-exponent. */
static void power(const mercer_host *host, const rational_quadratic *p, int32_t dtype, void *values, int64_t count,
                  double exponent) {
    mercer_scale(dtype, values, count, p->rate);
    if (exponent == 1) {
        MERCER_EACH(dtype, values, count, v, 1 / (1 + v));
    } else if (exponent == 2) {
        MERCER_EACH(dtype, values, count, v, 1 / ((1 + v) * (1 + v)));
    } else {
        MERCER_EACH(dtype, values, count, v, (real)(-exponent * log1p(v)));
        mercer_exp(host, dtype, values, count);
    }
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    power(host, params, dtype, values, count, ((const rational_quadratic *)params)->alpha);
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const rational_quadratic *p = params;
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, (real)(-p->alpha * log1p(v)));
}

/* The derivative with respect to v = r^2: -alpha rate (1 + rate v)^(-alpha - 1). */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    const rational_quadratic *p = params;
    power(host, p, dtype, values, count, p->alpha + 1);
    mercer_scale(dtype, values, count, -p->alpha * p->rate);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const rational_quadratic *p = params;
    const double odd = 2 * p->alpha + 1;
    out->h = p->sigma;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = sqrt(2 * p->alpha / odd) * exp(-(p->alpha + 1) * log1p(1 / odd)) / p->sigma;
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

MERCER_PLUGIN(MERCER_KIND_KERNEL, "rational-quadratic", MERCER_VERSION, "(1 + r^2 / (2 alpha sigma^2))^-alpha",
              "Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), section 4.2.1", rows,
              rational_quadratic, ops)
