/* cosine.c - k(x, y) = x.y / (|x| |y|), 0 where x or y is 0
 *
 * Salton, Wong & Yang, Communications of the ACM 18 (1975); scikit-learn's cosine_similarity. Cost:
 * none beyond the dot product of rows of length 1, which the core computes. Positive semidefinite,
 * because it is the linear kernel of x / |x|. k(x, x) = 1, but 0 for a row of zeros. Error: the
 * errors of the dot product and of the two lengths, (d + 6) u in all (u: unit roundoff).
 */
#include <math.h>
#include <mercer/plugin.h>

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params;
    const double above = 1 + (double)(d + 6) * 0x1p-24; /* the largest value to which rounding in f32 can raise 1 */
    out->h = NAN;
    out->kappa = NAN;
    out->lo = -above;
    out->hi = above;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_COSINE,
    .facts = facts,
};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "cosine", MERCER_VERSION, "x.y / (|x| |y|), 0 for a row of zeros",
                   "Salton, Wong & Yang, Communications of the ACM 18 (1975)", ops)
