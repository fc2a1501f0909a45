/* uniform.c - m of the n rows, all sets of m equally likely, with their sample weights
 *
 * With the weighted lift this is subsampled kernel PCA, and it draws the centres of Freedman &
 * Kisilev's paring of a density estimate (KDD 2010). Algorithm: the first m steps of a Fisher-Yates
 * shuffle, in which step t swaps t with t + floor(u_t (n - t)), where u_t is the t-th random
 * number; then the rows are sorted, so that equal sets give equal results. No kernel value is
 * computed. Cost: O(n + m log m), 16 n bytes. Error: floor(u (n - t)) is uniform up to n 2^-53. For
 * a kernel bounded by kappa the sampled covariance operator differs from that of all rows by
 * O(kappa / sqrt(m)) (Hoeffding), whatever n is.
 */
#include <mercer/plugin.h>
#include <stdlib.h>

typedef struct uniform {
    int64_t m;
} uniform;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(uniform, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of centres; 0: min(n, 1000)"),
};

static int32_t size(const mercer_host *host, mercer_task *task, const uniform *p, const mercer_shape *shape,
                    int64_t *m) {
    if (p->m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)shape->n);
    *m = p->m > 0 ? p->m : shape->n < 1000 ? shape->n : 1000;
    return MERCER_OK;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    out->bytes = 16 * shape->n;
    out->kernel_evaluations = 0;
    out->flops = 0;
    return size(host, task, params, shape, &out->m);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    int64_t m = 0, n = shape->n;
    int32_t status = size(host, task, params, shape, &m);
    if (status) return status;
    int64_t *row = host->alloc(task, n * (int64_t)sizeof *row), count = 0;
    double *weight = host->alloc(task, n * (int64_t)sizeof *weight);
    if (!row || !weight) return MERCER_E_MEMORY;
    status = host->weights(task, weight);
    if (status) return status;
    for (int64_t i = 0; i < n; i++)
        if (weight[i] > 0) row[count++] = i; /* rows of weight 0 are never drawn */
    if (m > count) m = count;
    mercer_shuffle(host, task, 0, row, count, m);
    qsort(row, (size_t)m, sizeof *row, mercer_ascending);
    return host->give(task, m, row, NULL, NULL);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "uniform", MERCER_VERSION, "m rows at random, without replacement",
              "Freedman & Kisilev, KDE paring, KDD (2010)", rows, uniform, ops)
