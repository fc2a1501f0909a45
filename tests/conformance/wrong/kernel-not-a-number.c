/* kernel-not-a-number.c - must fail: its map takes the square root of a negative number if two rows
 * are far apart. */
#include <math.h>
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    MERCER_EACH(dtype, values, count, v, (real)(v > 4 ? sqrt(4 - v) : exp(-v)));
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = 1;
    out->kappa = out->hi = 1;
    out->lo = 0;
    out->lipschitz = 1;
    out->flags = MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "not-a-number", MERCER_VERSION, "exp(-r^2), wrongly", "", ops)
