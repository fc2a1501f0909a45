/* additive-chi2.c - k(x, y) = sum_k 2 x_k y_k / (x_k + y_k), x, y >= 0, 0/0 = 0
 *
 * Vedaldi & Zisserman, IEEE PAMI 34 (2012). scikit-learn's additive_chi2_kernel is another
 * function, -sum (x - y)^2/(x + y). The core has no form for this sum, so the plugin computes whole
 * tiles. Cost: one division per column and value. Positive semidefinite on x >= 0: 2xy/(x + y) is
 * the integral of 2 (x e^-tx)(y e^-ty) over t > 0. k(x, x) = sum_k x_k. Error: relative (d + 3) u,
 * where u is the unit roundoff of f64, and one rounding to the tile's type, because terms are
 * positive and summed in f64. A term xy/(x + y) is computed as min (max/2 / (min/2 + max/2)), which
 * gives the same bits for (x, y) and (y, x) and avoids xy and x + y, which could overflow or
 * underflow.
 */
#include <math.h>
#include <mercer/plugin.h>

#define BLOCK(NAME, REAL)                                                                                              \
    static void NAME(const mercer_view *x, const mercer_view *y, const mercer_view *k) {                               \
        for (int64_t i = 0; i < k->rows; i++) {                                                                        \
            const REAL *a = (const REAL *)x->data + i * x->row_stride;                                                 \
            REAL *out = (REAL *)k->data + i * k->row_stride;                                                           \
            for (int64_t j = 0; j < k->cols; j++) {                                                                    \
                const REAL *b = (const REAL *)y->data + j * y->row_stride;                                             \
                double sum = 0;                                                                                        \
                for (int64_t c = 0; c < x->cols; c++) {                                                                \
                    double lo = a[c] < b[c] ? a[c] : b[c], hi = a[c] < b[c] ? b[c] : a[c];                             \
                    sum += lo > 0 ? lo * (0.5 * hi / (0.5 * lo + 0.5 * hi)) : 0;                                       \
                }                                                                                                      \
                out[j] = (REAL)(2 * sum);                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
BLOCK(block_f32, float)
BLOCK(block_f64, double)

static int32_t block(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k) {
    (void)host, (void)task, (void)params;
    if (k->dtype == MERCER_F32)
        block_f32(x, y, k);
    else
        block_f64(x, y, k);
    return MERCER_OK;
}

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
    .form = MERCER_BLOCK,
    .block = block,
    .facts = facts,
};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "additive-chi2", MERCER_VERSION, "sum 2xy / (x + y), x, y >= 0",
                   "Vedaldi & Zisserman, IEEE PAMI 34 (2012)", ops)
