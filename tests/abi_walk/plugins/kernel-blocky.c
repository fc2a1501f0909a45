/* kernel-blocky.c - k(x, y) = (sum_c exp(-gamma (x_c - y_c)^2))^2, a kernel that computes whole
 * tiles itself
 *
 * ANOVA kernel of degree 2. It is positive definite, because it is the square of a sum of kernels,
 * one for each column. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct blocky {
    double gamma;
} blocky;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(blocky, gamma, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY, "rate in each column"),
};

static double at(const mercer_view *view, int64_t row, int64_t column) {
    int64_t k = row * view->row_stride + column;
    return view->dtype == MERCER_F32 ? (double)((const float *)view->data)[k] : ((const double *)view->data)[k];
}

static double pair(const mercer_host *host, double gamma, const mercer_view *x, int64_t i, const mercer_view *y,
                   int64_t j) {
    double sum = 0, terms[256]; /* 256 columns at a time, because exp_f64 works on arrays */
    for (int64_t c0 = 0; c0 < x->cols; c0 += 256) {
        int64_t count = x->cols - c0 < 256 ? x->cols - c0 : 256;
        for (int64_t c = 0; c < count; c++) {
            double e = at(x, i, c0 + c) - at(y, j, c0 + c);
            terms[c] = -gamma * e * e;
        }
        host->exp_f64(terms, count);
        for (int64_t c = 0; c < count; c++) sum += terms[c];
    }
    return sum * sum;
}

static int32_t block(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k) {
    (void)task;
    double gamma = ((const blocky *)params)->gamma;
    for (int64_t i = 0; i < k->rows; i++)
        for (int64_t j = 0; j < k->cols; j++) {
            double value = pair(host, gamma, x, i, y, j);
            if (k->dtype == MERCER_F32)
                ((float *)k->data)[i * k->row_stride + j] = (float)value;
            else
                ((double *)k->data)[i * k->row_stride + j] = value;
        }
    return MERCER_OK;
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params;
    /* On the diagonal each of the d columns contributes exp(0) = 1 to the sum, which is squared. */
    double largest = (double)d * (double)d;
    out->h = NAN;
    out->kappa = d > 0 ? largest : NAN;
    out->lo = 0;
    out->hi = d > 0 ? largest : INFINITY;
    out->lipschitz = NAN;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_BLOCK,
    .block = block,
    .facts = facts,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "blocky", MERCER_VERSION, "(sum exp(-gamma (x - y)^2))^2", "", rows, blocky, ops)
