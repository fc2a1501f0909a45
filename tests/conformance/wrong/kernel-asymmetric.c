/* kernel-asymmetric.c - must fail: k(x, y) = exp(-sum max(x - y, 0)) is not symmetric. */
#include <math.h>
#include <mercer/plugin.h>

static double one(const double *x, const double *y, int64_t d) {
    double sum = 0;
    for (int64_t c = 0; c < d; c++) sum += fmax(x[c] - y[c], 0);
    return exp(-sum);
}

static int32_t block(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k) {
    (void)host, (void)task, (void)params;
    double a[64], b[64];
    for (int64_t i = 0; i < k->rows; i++)
        for (int64_t j = 0; j < k->cols; j++) {
            for (int64_t c = 0; c < x->cols && c < 64; c++) {
                int64_t at = i * x->row_stride + c, bt = j * y->row_stride + c;
                a[c] = x->dtype == MERCER_F32 ? ((const float *)x->data)[at] : ((const double *)x->data)[at];
                b[c] = x->dtype == MERCER_F32 ? ((const float *)y->data)[bt] : ((const double *)y->data)[bt];
            }
            double value = one(a, b, x->cols < 64 ? x->cols : 64);
            if (k->dtype == MERCER_F32)
                ((float *)k->data)[i * k->row_stride + j] = (float)value;
            else
                ((double *)k->data)[i * k->row_stride + j] = value;
        }
    return MERCER_OK;
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
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_BLOCK, .block = block, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "asymmetric", MERCER_VERSION, "exp(-sum max(x - y, 0))", "", ops)
