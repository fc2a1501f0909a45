/* kernel-wrong-kappa.c - must fail: k(x, x) = 2, but its facts say kappa = 1 and the range [0,
 * 4]. */
#include <math.h>
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    for (int64_t i = 0; i < count; i++)
        if (dtype == MERCER_F32)
            ((float *)values)[i] = 2 / (1 + ((float *)values)[i]);
        else
            ((double *)values)[i] = 2 / (1 + ((double *)values)[i]);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = 1;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 4;
    out->lipschitz = 2;
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "wrong-kappa", MERCER_VERSION, "2 / (1 + r^2)", "", ops)
