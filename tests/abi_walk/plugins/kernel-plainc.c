/* kernel-plainc.c - k(x, y) = 1 / (1 + r^2/h^2), a kernel in plain C with no more functions than a
 * kernel must have
 *
 * Cauchy kernel (Student's with one degree of freedom). It is positive definite, because it is a
 * mixture of Gaussians of all rates. Its largest slope is 9/(8 sqrt(3) h), at r = h/sqrt(3). */
#include <math.h>
#include <mercer/plugin.h>

typedef struct plainc {
    double h;
} plainc;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(plainc, h, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY, "distance at which k = 1/2"),
};

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    double h = ((const plainc *)params)->h;
    float *f = values;
    double *v = values;
    if (dtype == MERCER_F32)
        for (int64_t i = 0; i < count; i++) f[i] = (float)(1 / (1 + f[i] / h / h));
    else
        for (int64_t i = 0; i < count; i++) v[i] = 1 / (1 + v[i] / h / h);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    out->h = ((const plainc *)params)->h;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = 9 / (8 * sqrt(3) * out->h);
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_SQDIST,
    .map = map,
    .facts = facts,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "plainc", MERCER_VERSION, "1 / (1 + r^2/h^2)", "", rows, plainc, ops)
