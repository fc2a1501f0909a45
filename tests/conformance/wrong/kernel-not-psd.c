/* kernel-not-psd.c - must fail: tanh(x.y - 1) is not positive semi-definite, but declares
 * MERCER_PSD. */
#include <math.h>
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    for (int64_t i = 0; i < count; i++)
        if (dtype == MERCER_F32)
            ((float *)values)[i] = tanhf(((float *)values)[i] - 1);
        else
            ((double *)values)[i] = tanh(((double *)values)[i] - 1);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = NAN;
    out->lo = -1;
    out->hi = 1;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "not-psd", MERCER_VERSION, "tanh(x.y - 1)", "", ops)
