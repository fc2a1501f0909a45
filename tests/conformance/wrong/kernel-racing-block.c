/* kernel-racing-block.c - must fail: its operation `block` sums in a static variable, which all
 * threads share. */
#include <math.h>
#include <mercer/plugin.h>

static double entry(const mercer_view *v, int64_t i, int64_t k) {
    return mercer_value(v->dtype, v->data, i * v->row_stride + k * v->col_stride);
}

static int32_t block(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k) {
    (void)host, (void)task, (void)params;
    static volatile double sum;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) {
            sum = 0;
            for (int64_t c = 0; c < x->cols; c++) sum += entry(x, i, c) * entry(y, j, c);
            const int64_t at = i * k->row_stride + j * k->col_stride;
            if (k->dtype == MERCER_F32)
                ((float *)k->data)[at] = (float)sum;
            else
                ((double *)k->data)[at] = sum;
        }
    return MERCER_OK;
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->flags = MERCER_PSD;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops), .form = MERCER_BLOCK, .block = block, .facts = facts};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "racing-block", MERCER_VERSION, "x.y", "", ops)
