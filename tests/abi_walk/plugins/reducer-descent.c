/* reducer-descent.c - a pivot rule on whole rows of the kernel matrix, built on the service gram:
 * the next pivot is the one that lowers the trace of the residual most (AKFA, accelerated kernel
 * feature analysis, without its safeguards)
 *
 * The score of row j is s_j / d_j, where s_j = sum_t (K - L L^T)_jt^2 and d is the diagonal of the
 * residual K - L L^T. The function row_squares of the service gives the first s. After a pivot with
 * column l, w = K l - L (L^T l) and s += -2 l w + l^2 |l|^2, where L does not contain l yet. */
#include <mercer/plugin.h>

typedef struct descent {
    int64_t m;
} descent;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(descent, m, "10", "", MERCER_SHORT | MERCER_CENTRES, 1, 9e15, "number of centres at most"),
};

typedef struct rule {
    const mercer_host *host;
    mercer_task *task;
    mercer_gram gram;
    mercer_block *block; /* two columns, l and K l */
    /* s and w are those of the formula above, with n values each; l is L so far, n x m. */
    double *s, *w, *l;
} rule;

static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    const rule *r = user;
    for (int64_t i = 0; i < count; i++) {
        const double d = state->residual[first + i];
        scores[i] = d > 0 ? r->s[first + i] / d : -1;
    }
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static int32_t update(void *user, const mercer_pivot_state *state, int64_t pivot, const double *column) {
    (void)pivot;
    const rule *r = user;
    const int64_t n = state->n, before = state->step - 1;
    const mercer_range l = {r->block, 0, 1}, kl = {r->block, 1, 1};
    int32_t status = r->host->put(r->task, l, column, n);
    if (!status) status = r->gram.op->apply(r->gram.op, r->task, l, kl);
    if (!status) status = r->host->get(r->task, kl, r->w, n);
    if (status) return status;
    for (int64_t k = 0; k < before; k++) {
        const double *old = r->l + k * n, along = dot(n, old, column);
        for (int64_t i = 0; i < n; i++) r->w[i] -= along * old[i];
    }
    const double square = dot(n, column, column);
    for (int64_t i = 0; i < n; i++) {
        r->s[i] += column[i] * (column[i] * square - 2 * r->w[i]);
        r->l[before * n + i] = column[i];
    }
    return MERCER_OK;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const int64_t m = ((const descent *)params)->m;
    const mercer_pivot_stop stop = {.struct_size = sizeof stop, .m = m, .factor = 1};
    mercer_cost gram = {.struct_size = sizeof gram};
    int32_t status = host->pivot_cost(task, shape, &stop, out);
    if (!status) status = host->gram_cost(task, shape, 0, 1, &gram);
    if (status) return status;
    out->bytes += gram.bytes + 8 * shape->n * (m + 4);
    out->likely_bytes = 0;
    out->kernel_evaluations += (m + 1) * gram.kernel_evaluations;
    out->likely_evaluations = 0;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const int64_t n = shape->n, m = ((const descent *)params)->m;
    rule r = {.host = host, .task = task, .gram = {.struct_size = sizeof r.gram}};
    if (m > n) return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)n);
    int32_t status = host->gram(task, 0, &r.gram);
    if (status) return status;
    r.block = host->block(task, r.gram.op, 2);
    r.s = host->alloc(task, 8 * n * (m + 2));
    if (!r.block || !r.s) return MERCER_E_MEMORY;
    r.w = r.s + n, r.l = r.w + n;
    if ((status = r.gram.row_squares(&r.gram, task, r.s))) return status;
    const mercer_pivot_rule on = {
        .struct_size = sizeof on, .needs = MERCER_PIVOT_BOUND, .user = &r, .score = score, .update = update};
    const mercer_pivot_stop stop = {.struct_size = sizeof stop, .m = m};
    mercer_pivots pivots = {.struct_size = sizeof pivots};
    if ((status = host->pivot_cholesky(task, &on, &stop, &pivots))) return status;
    return host->give(task, pivots.count, pivots.index, NULL, NULL);
}

static const mercer_reducer_ops ops = {.struct_size = sizeof ops, .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "descent", MERCER_VERSION, "rows that lower the trace of the residual most", "",
              rows, descent, ops)
