/* kernel-racing.c - must fail: its map computes in a static array, which all threads share. */
#include <mercer/plugin.h>

enum { PIECE = 64 };

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host, (void)params;
    static double scratch[PIECE];
    volatile double *shared = scratch;
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t length = count - first < PIECE ? count - first : PIECE;
        for (int64_t i = 0; i < length; i++) shared[i] = 1 + mercer_value(dtype, values, first + i);
        for (int64_t i = 0; i < length; i++)
            if (dtype == MERCER_F32)
                ((float *)values)[first + i] = (float)(1 / shared[i]);
            else
                ((double *)values)[first + i] = 1 / shared[i];
    }
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = 1;
    out->kappa = out->hi = 1;
    out->lo = 0;
    out->lipschitz = 0.65;
    out->flags = MERCER_PSD | MERCER_RADIAL;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_SQDIST, .map = map, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "racing", MERCER_VERSION, "1 / (1 + r^2)", "", ops)
