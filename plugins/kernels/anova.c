/* anova.c - k(x, y) = (sum_k exp(-gamma (x_k - y_k)^2))^degree
 *
 * Hofmann, Schoelkopf & Smola, Annals of Statistics 36 (2008), section 2.2; kernlab's anovadot with
 * sigma = gamma. The core has no form for this sum, so the plugin computes whole tiles. Cost: d
 * exps and degree - 1 products per value. Positive semidefinite, because sums and products of
 * kernels are kernels. k(x, x) = d^degree. Error: relative degree (d + 4) u (u: unit roundoff), and
 * degree times the error of exp; all terms are positive, so nothing cancels.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct anova {
    double gamma;
    int64_t degree;
} anova;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(anova, gamma, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "rate of each column: exp(-gamma (x - y)^2)"),
    MERCER_PARAM_INT(anova, degree, "2", "", 0, 1, 16, "exponent of the sum"),
};

enum { BATCH = 128 };
#define BLOCK(NAME, REAL, DTYPE)                                                                                       \
    static void NAME(const mercer_host *host, const anova *p, const mercer_view *x, const mercer_view *y,              \
                     const mercer_view *k) {                                                                           \
        REAL sum[BATCH], term[BATCH];                                                                                  \
        for (int64_t i = 0; i < k->rows; i++)                                                                          \
            for (int64_t at = 0; at < k->cols; at += BATCH) {                                                          \
                const REAL *a = (const REAL *)x->data + i * x->row_stride;                                             \
                REAL *out = (REAL *)k->data + i * k->row_stride + at;                                                  \
                const int64_t m = k->cols - at < BATCH ? k->cols - at : BATCH;                                         \
                for (int64_t j = 0; j < m; j++) sum[j] = 0;                                                            \
                for (int64_t c = 0; c < x->cols; c++) {                                                                \
                    const REAL *b = (const REAL *)y->data + at * y->row_stride + c;                                    \
                    for (int64_t j = 0; j < m; j++) {                                                                  \
                        const REAL apart = a[c] - b[j * y->row_stride];                                                \
                        term[j] = apart * apart;                                                                       \
                    }                                                                                                  \
                    mercer_scale(DTYPE, term, m, -p->gamma);                                                           \
                    mercer_exp(host, DTYPE, term, m);                                                                  \
                    for (int64_t j = 0; j < m; j++) sum[j] += term[j];                                                 \
                }                                                                                                      \
                for (int64_t j = 0; j < m; j++) out[j] = sum[j];                                                       \
                for (int64_t power = 1; power < p->degree; power++)                                                    \
                    for (int64_t j = 0; j < m; j++) out[j] *= sum[j];                                                  \
            }                                                                                                          \
    }
BLOCK(block_f32, float, MERCER_F32)
BLOCK(block_f64, double, MERCER_F64)

static int32_t block(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k) {
    (void)task;
    if (k->dtype == MERCER_F32)
        block_f32(host, params, x, y, k);
    else
        block_f64(host, params, x, y, k);
    return MERCER_OK;
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host;
    out->h = NAN;
    out->kappa = pow((double)d, (double)((const anova *)params)->degree);
    out->lo = 0;
    out->hi = out->kappa;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_BLOCK,
    .block = block,
    .facts = facts,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "anova", MERCER_VERSION, "(sum_k exp(-gamma (x_k - y_k)^2))^degree",
              "Hofmann, Schoelkopf & Smola, Annals of Statistics 36 (2008)", rows, anova, ops)
