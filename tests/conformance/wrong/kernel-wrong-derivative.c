/* kernel-wrong-derivative.c - must fail: its derivative is taken with respect to r^2 / 2, not
 * r^2. */
#include <math.h>
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)params;
    mercer_scale(dtype, values, count, -0.5);
    mercer_exp(host, dtype, values, count);
}

static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    map(host, params, dtype, values, count);
    mercer_scale(dtype, values, count, -1);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = sqrt(2);
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = exp(-0.5);
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {.struct_size = sizeof(mercer_kernel_ops),
                                      .form = MERCER_SQDIST,
                                      .map = map,
                                      .facts = facts,
                                      .derivative = derivative};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "wrong-derivative", MERCER_VERSION, "exp(-r^2 / 2)", "", ops)
