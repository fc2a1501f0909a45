/* hamming.c - k(x, y) = exp(-gamma (number of unequal entries) / d)
 *
 * Kondor & Lafferty, ICML 2002: the diffusion kernel of the hypercube is a power whose exponent is
 * the number of unequal entries. Here the exponent is their share, so that gamma does not depend on
 * d. It accepts vectors only. Cost: in addition to the count, which the core computes, a product
 * and an exp per value. Positive definite for every gamma > 0, because it is the product over
 * columns of a kernel that is 1 on equal and exp(-gamma/d) on unequal entries. Error: relative 2 u
 * gamma + 1 ulp (u: unit roundoff); counts are exact.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct hamming {
    double gamma;
    double rate; /* derived: gamma / d */
} hamming;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(hamming, gamma, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "rate: k = exp(-gamma u), u = share of unequal entries"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    hamming *p = params;
    p->rate = p->gamma / (double)input->d;
    return MERCER_OK;
}

static void log_map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    mercer_scale(dtype, values, count, -((const hamming *)params)->rate);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    log_map(host, params, dtype, values, count);
    mercer_exp(host, dtype, values, count);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host;
    double gamma = ((const hamming *)params)->gamma;
    out->h = NAN;
    out->kappa = 1;
    /* values in f32 may round below the bound: 1e-6 > 8 u_32 allows for this */
    out->lo = d > 0 ? exp(-gamma * (1 + 1e-6)) * (1 - 1e-6) : 0;
    out->hi = 1;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_HAMMING,
    .finish = finish,
    .map = map,
    .facts = facts,
    .log_map = log_map,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "hamming", MERCER_VERSION, "exp(-gamma u), u = share of unequal entries",
              "Kondor & Lafferty, ICML (2002)", rows, hamming, ops)
