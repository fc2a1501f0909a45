/* kernel-remembering.c - must fail: its values grow from call to call. */
#include <mercer/plugin.h>

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    static double calls;
    calls += 1;
    MERCER_EACH(dtype, values, count, v, (real)(v * (1 + calls / 1024)));
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "remembering", MERCER_VERSION, "x.y, growing", "", ops)
