/* histogram-intersection.c - k(x, y) = sum_k min(x_k, y_k), x, y >= 0
 *
 * Swain & Ballard, IJCV 7 (1991); as a kernel: Barla, Odone & Verri, ICIP 2003. Cost: none beyond
 * the sum, which the core computes. Positive semidefinite on x >= 0: min(x, y) is the inner product
 * of the indicators of [0, x] and [0, y]. k(x, x) = sum_k x_k, which is 1 for all x only if
 * histograms are normalised. Error: relative d u (u: unit roundoff); no term is negative, so
 * nothing cancels.
 */
#include <math.h>
#include <mercer/plugin.h>

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = NAN;
    out->lo = 0;
    out->hi = INFINITY;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD | MERCER_NONNEGATIVE;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_MIN,
    .facts = facts,
};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "histogram-intersection", MERCER_VERSION, "sum min(x, y), x, y >= 0",
                   "Barla, Odone & Verri, ICIP (2003)", ops)
