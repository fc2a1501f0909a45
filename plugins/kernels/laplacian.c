/* laplacian.c - k(x, y) = exp(-r / sigma) = exp(-gamma r), r = |x - y|_2 (norm l2) or |x - y|_1
 * (l1)
 *
 * l2 is the exponential kernel (Rasmussen & Williams, Gaussian Processes for Machine Learning,
 * 2006, section 4.2.1), radial with h = sigma and slope 1/h at most, at r = 0. l1 is the product of
 * d one-dimensional exponential kernels, scikit-learn's laplacian_kernel. It is no function of the
 * Euclidean distance, so it is not declared radial. Cost: a square root (l2), a product and an exp
 * per value. Positive definite for every sigma > 0 under both norms. Error: relative 3 u r/h + 1
 * ulp (u: unit roundoff; l1: h = sigma). Because of the cusp, an absolute error e in r^2 near r = 0
 * changes k by sqrt(e)/h; therefore the core recomputes small distances from the differences of
 * coordinates.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct laplacian {
    double sigma, gamma;
    int32_t bandwidth, norm;
    double rate; /* derived: gamma as set, or 1 / sigma */
} laplacian;

enum { L2, L1 }; /* choices of the parameter norm */

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(laplacian, norm, "l2", "l2|l1", "", 0, "distance: Euclidean (l2) or sum of differences (l1)"),
    MERCER_PARAM_REAL(laplacian, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "width: k = exp(-r / sigma)"),
    MERCER_PARAM_REAL(laplacian, gamma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "the same as a rate: k = exp(-gamma r)"),
    MERCER_PARAM_CHOICE(laplacian, bandwidth, "median", "median|mean|scale", "scale", 0,
                        "rule for sigma: median or mean distance between rows, or scale: sqrt(d var)"),
};

static int32_t choose_form(const void *params) {
    return ((const laplacian *)params)->norm == L1 ? MERCER_L1 : MERCER_SQDIST;
}

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    laplacian *p = params;
    if (isnan(p->gamma)) p->sigma = mercer_width(p->sigma, input);
    p->rate = fmin(isnan(p->sigma) ? p->gamma : 1 / p->sigma, DBL_MAX);
    return MERCER_OK;
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const laplacian *p = params;
    if (p->norm == L2) MERCER_EACH(dtype, values, count, v, (real)sqrt(v));
    mercer_scale(dtype, values, count, -p->rate);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    log_map(host, params, dtype, values, count);
    mercer_exp(host, dtype, values, count);
}

/* The derivative with respect to the form value v. l2, v = r^2: -rate k / (2 r), which grows
 * without limit towards the cusp, where it counts as 0. l1, v = r: -rate k. */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    const laplacian *p = params;
    double r[128]; /* distances of one batch of values */
    for (int64_t at = 0; at < count; at += 128) {
        const int64_t n = count - at < 128 ? count - at : 128;
        float *f32 = (float *)values + at;
        double *f64 = (double *)values + at;
        for (int64_t i = 0; i < n && p->norm == L2; i++) r[i] = sqrt(dtype == MERCER_F32 ? f32[i] : f64[i]);
        map(host, p, dtype, dtype == MERCER_F32 ? (void *)f32 : f64, n);
        for (int64_t i = 0; i < n; i++) {
            const double k = dtype == MERCER_F32 ? f32[i] : f64[i], by_r = k * -p->rate;
            const double slope = p->norm == L1 ? by_r : r[i] == 0 ? 0 : by_r / (2 * r[i]);
            if (dtype == MERCER_F32)
                f32[i] = (float)slope;
            else
                f64[i] = slope;
        }
    }
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const laplacian *p = params;
    out->h = p->norm == L2 ? 1 / p->rate : NAN;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = p->norm == L2 ? p->rate : NAN;
    out->flags = MERCER_PSD | (p->norm == L2 ? MERCER_RADIAL : 0);
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_SQDIST,
    .choose_form = choose_form,
    .finish = finish,
    .map = map,
    .facts = facts,
    .log_map = log_map,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "laplacian", MERCER_VERSION, "exp(-r / sigma) = exp(-gamma r), r Euclidean or l1",
              "Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), section 4.2.1", rows, laplacian,
              ops)
