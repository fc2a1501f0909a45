/* kernel-shape-bound.c - must fail: its map divides by the largest value of the array that it is
 * given, so a kernel value depends on the other values in the array. */
#include <math.h>
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    double largest = 1;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, dtype == MERCER_F32 ? ((float *)values)[i] : ((double *)values)[i]);
    for (int64_t i = 0; i < count; i++)
        if (dtype == MERCER_F32)
            ((float *)values)[i] = (float)exp(-((float *)values)[i] / largest);
        else
            ((double *)values)[i] = exp(-((double *)values)[i] / largest);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = NAN;
    out->flags = 0;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "shape-bound", MERCER_VERSION, "exp(-r^2 / max r^2)", "", ops)
