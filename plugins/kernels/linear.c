/* linear.c - k(x, y) = x . y
 *
 * Kernel PCA with this kernel is linear PCA (Schoelkopf, Smola & Mueller, Neural Computation 10,
 * 1998). Cost: none beyond the dot product, which the core computes. It is always positive
 * semidefinite, and the Gram matrix has rank <= d. Error: that of a dot product, d u |x| |y| (u:
 * unit roundoff).
 */
#include <math.h>
#include <mercer/plugin.h>

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = NAN;
    out->lo = -INFINITY;
    out->hi = INFINITY;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_DOT,
    .facts = facts,
};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "linear", MERCER_VERSION, "x.y: kernel PCA becomes linear PCA",
                   "Schoelkopf, Smola & Mueller, Neural Computation 10 (1998)", ops)
