/* matern.c - k(x, y) = p(t) exp(-t), t = sqrt(2 nu) r / sigma, r = |x - y|
 *
 * p = 1, 1 + t, 1 + t + t^2/3 for nu = 0.5, 1.5, 2.5: Matern, Spatial Variation (1960); Rasmussen &
 * Williams, Gaussian Processes for Machine Learning (2006), (4.17); scikit-learn's Matern with
 * length_scale sigma. h = sigma. Cost: a root, an exp and a polynomial per value. Positive definite
 * for every sigma > 0 (its Fourier transform is a Student density). Largest slope, in 1/sigma, for
 * these three nu: 1 at r = 0; sqrt(3)/e at t = 1; sqrt(5)/3 g^3 e^-g at t = g, the golden ratio.
 * Error: relative 3 u t + 6 u + 2 ulp (u: unit roundoff). nu = 0.5 has a cusp, the others are
 * smooth in r^2.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct matern {
    int32_t nu, bandwidth;
    double sigma;
    double rate; /* derived: 2 nu / sigma^2, t = sqrt(rate r^2) */
} matern;

enum { HALF, THREE_HALVES, FIVE_HALVES }; /* choices of the parameter nu */

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(matern, nu, "1.5", "0.5|1.5|2.5", "", 0, "smoothness: nu - 1/2 mean-square derivatives"),
    MERCER_PARAM_REAL(matern, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "length: k = p(t) exp(-t), t = sqrt(2 nu) r / sigma"),
    MERCER_PARAM_CHOICE(matern, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: sqrt(d var)"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    matern *p = params;
    p->sigma = mercer_width(p->sigma, input);
    p->rate = fmin((1 + 2 * p->nu) / p->sigma / p->sigma, DBL_MAX);
    return MERCER_OK;
}

/* Replaces t by (c0 + c1 t + c2 t^2) exp(-t). t is limited to 10^4, where the result is 0 anyway.
 * exp(-t/2) is multiplied in twice, because exp(-t) alone would underflow to 0 for some t at which
 * the result does not. */
enum { BATCH = 128 };
#define TIMES_EXP(NAME, REAL, EXP)                                                                                     \
    static void NAME(const mercer_host *host, REAL *t, int64_t count, const double *factors) {                         \
        const REAL c0 = (REAL)factors[0], c1 = (REAL)factors[1], c2 = (REAL)factors[2];                                \
        REAL e[BATCH];                                                                                                 \
        for (int64_t at = 0; at < count; at += BATCH, t += BATCH) {                                                    \
            const int64_t m = count - at < BATCH ? count - at : BATCH;                                                 \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                t[i] = t[i] > 10000 ? 10000 : t[i];                                                                    \
                e[i] = -t[i] / 2;                                                                                      \
            }                                                                                                          \
            host->EXP(e, m);                                                                                           \
            for (int64_t i = 0; i < m; i++) t[i] = (c0 + t[i] * (c1 + t[i] * c2)) * e[i] * e[i];                       \
        }                                                                                                              \
    }
TIMES_EXP(times_exp_f32, float, exp_f32)
TIMES_EXP(times_exp_f64, double, exp_f64)

static void roots(const matern *p, int32_t dtype, void *values, int64_t count) {
    mercer_scale(dtype, values, count, p->rate);
    MERCER_EACH(dtype, values, count, v, (real)sqrt(v));
}

static void times_exp(const mercer_host *host, const matern *p, int32_t dtype, void *values, int64_t count,
                      const double factors[3]) {
    roots(p, dtype, values, count);
    if (dtype == MERCER_F32)
        times_exp_f32(host, values, count, factors);
    else
        times_exp_f64(host, values, count, factors);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    static const double factors[][3] = {{1, 0, 0}, {1, 1, 0}, {1, 1, 1. / 3}};
    const matern *p = params;
    times_exp(host, p, dtype, values, count, factors[p->nu]);
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const matern *p = params;
    roots(p, dtype, values, count);
    if (p->nu == HALF)
        MERCER_EACH(dtype, values, count, t, -t);
    else if (p->nu == THREE_HALVES)
        MERCER_EACH(dtype, values, count, t, (real)log1p(t) - t);
    else
        MERCER_EACH(dtype, values, count, t, (real)log1p(t + t * t / 3) - t);
}

/* The derivative with respect to v = r^2 = t^2 / rate. nu = 0.5: -rate exp(-t)/(2 t), but 0 at the
 * cusp. nu = 1.5: -rate exp(-t)/2. nu = 2.5: -rate (1 + t) exp(-t)/6. */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    static const double factors[][3] = {{1, 0, 0}, {1, 0, 0}, {1, 1, 0}};
    const matern *p = params;
    if (p->nu == HALF) {
        roots(p, dtype, values, count);
        MERCER_EACH(dtype, values, count, t, t == 0 ? -(real)INFINITY : -(t + (real)log(t)));
        mercer_exp(host, dtype, values, count);
    } else {
        times_exp(host, p, dtype, values, count, factors[p->nu]);
    }
    mercer_scale(dtype, values, count, p->nu == FIVE_HALVES ? -p->rate / 6 : -p->rate / 2);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const matern *p = params;
    const double golden = (1 + sqrt(5)) / 2,
                 slope[] = {1, sqrt(3) / exp(1), sqrt(5) / 3 * golden * golden * golden * exp(-golden)};
    out->h = p->sigma;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = slope[p->nu] / p->sigma;
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

MERCER_PLUGIN(MERCER_KIND_KERNEL, "matern", MERCER_VERSION, "Matern kernel with nu = 0.5, 1.5 or 2.5 and length sigma",
              "Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), section 4.2.1", rows, matern, ops)
