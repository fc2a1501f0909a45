/* wave.c - k(x, y) = sin(t) / t, t = r / sigma, r = |x - y|
 *
 * Genton, Journal of Machine Learning Research 2 (2001), section 3. h = sigma. Cost: a root, a sine
 * and a quotient per value. Positive semidefinite in one, two and three dimensions only, where it
 * is the Fourier transform of an interval, of a weighted disc and of a sphere, respectively. In
 * more dimensions, kernel PCA reports the negative eigenvalues that it finds. Values lie between
 * sin(t)/t at t = 4.4934094579 and 1; the largest slope is at t = 2.0815759778. Error: absolute 4 u
 * (u: unit roundoff), in addition to the error of r.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct wave {
    double sigma;
    int32_t bandwidth;
    double rate; /* derived: 1 / sigma^2 */
} wave;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(wave, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "length: k = sigma / r sin(r / sigma)"),
    MERCER_PARAM_CHOICE(wave, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: sqrt(d var)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    wave *p = params;
    p->sigma = mercer_width(p->sigma, input);
    p->rate = fmin(1 / p->sigma / p->sigma, DBL_MAX);
    return MERCER_OK;
}

static void roots(const wave *p, int32_t dtype, void *values, int64_t count) {
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, (real)sqrt(v));
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    roots(params, dtype, values, count);
    MERCER_EACH(dtype, values, count, t, t == 0 ? 1 : isinf(t) ? 0 : (real)sin(t) / t);
}

/* The derivative with respect to r^2, divided by rate: (cos t - sin t / t) / (2 t^2). For t < 1/2,
 * where the difference cancels, five terms of the series are summed. */
static double slope(double t) {
    const double s = t * t;
    if (isinf(t)) return 0;
    if (t < 0.5) return -1. / 6 + s * (1. / 60 - s * (1. / 1680 - s * (1. / 90720 - s / 7983360)));
    return (cos(t) - sin(t) / t) / (2 * s);
}

static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const wave *p = params;
    roots(p, dtype, values, count);
    MERCER_EACH(dtype, values, count, t, (real)slope(t));
    mercer_scale(dtype, values, count, p->rate);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host;
    const wave *p = params;
    out->h = p->sigma;
    out->kappa = 1;
    out->lo = -0.21723362821122166;
    out->hi = 1;
    out->lipschitz = 0.43618182062715604 / p->sigma;
    out->flags = MERCER_RADIAL | (d >= 1 && d <= 3 ? MERCER_PSD : 0);
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_SQDIST,
    .finish = finish,
    .map = map,
    .facts = facts,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "wave", MERCER_VERSION, "sigma / r sin(r / sigma), indefinite for d > 3",
              "Genton, Journal of Machine Learning Research 2 (2001)", rows, wave, ops)
