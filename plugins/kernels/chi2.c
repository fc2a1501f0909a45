/* chi2.c - k(x, y) = exp(-gamma sum_k (x_k - y_k)^2 / (x_k + y_k)), x, y >= 0, 0/0 = 0
 *
 * Zhang, Marszalek, Lazebnik & Schmid, IJCV 73 (2007) (theirs has a factor 1/2); scikit-learn's
 * chi2_kernel. Cost: in addition to the sum, which the core computes, a product and an exp per
 * value. Positive definite on x >= 0 for every gamma > 0: (x - y)^2/(x + y) = x + y - 4xy/(x + y),
 * and 2xy/(x + y) is a kernel, so the sum is conditionally negative definite. Error: relative
 * (d + 4) u gamma chi2 + 1 ulp (u: unit roundoff, chi2: the sum); all terms are positive, so
 * nothing cancels.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct chi2 {
    double gamma;
} chi2;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(chi2, gamma, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY, "rate: k = exp(-gamma chi2)"),
};

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    mercer_scale(dtype, values, count, -((const chi2 *)params)->gamma);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    log_map(host, params, dtype, values, count);
    mercer_exp(host, dtype, values, count);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD | MERCER_NONNEGATIVE;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_CHI2,
    .map = map,
    .facts = facts,
    .log_map = log_map,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "chi2", MERCER_VERSION, "exp(-gamma sum (x - y)^2 / (x + y)), x, y >= 0",
              "Zhang, Marszalek, Lazebnik & Schmid, IJCV 73 (2007)", rows, chi2, ops)
