/* leverage.c - rows drawn by their ridge leverage scores, which are estimated by recursive halving
 *
 * Musco & Musco, Recursive sampling for the Nystrom method, NeurIPS 2017 (Algorithm 3). The rows
 * are halved at random down to about m; each of these halves is a level. The levels are then
 * processed from the smallest to all rows. At each level, with S the rows kept at the level below,
 * p the probabilities with which they were kept, and W = diag(p^-1/2), the scores are
 *   l_i = (k_ii - k_iS W (W K_SS W + lambda)^-1 W k_Si) / lambda,   k = ceil(m / (4 log m)),
 *   lambda = sum of the eigenvalues of W K_SS W beyond the k-th, over k;
 * row i is kept with p_i = min(1, l_i max(log 4k, 4 k / sum l)). From all rows, exactly m are drawn
 * without replacement in proportion to l: those with the m smallest -log(u_i) / l_i (Efraimidis &
 * Spirakis, IPL 97, 2006). With sample weights w, k_ij stands for sqrt(w_i w_j) k(x_i, x_j).
 *
 * Cost: about 2 n s kernel values and 2 n s^2 flops for all levels, and s^3 flops for each level,
 * where s, the number of rows kept at a level, is about 2 k log 4k, which is near m / 2. Memory:
 * 48 n bytes and a few arrays of s^2 numbers. At most 2 m + 64 rows are kept, which is at least 3
 * times the expected number. Error: with high probability each l is between the exact
 * diag(K (K + lambda)^-1) and a small multiple of it; m rows drawn in this way give a Nystrom
 * approximation within lambda of K in norm.
 */
#include <math.h>
#include <mercer/plugin.h>
#include <stdlib.h>

typedef struct leverage {
    int64_t m;
} leverage;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(leverage, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of centres; 0: min(n, 1000)"),
};

enum { AT_ONCE = 4096 }; /* rows that a visit scores */

typedef struct work {
    const mercer_host *host;
    mercer_task *task;
    int64_t n, m, most;   /* most: largest number of rows that are kept */
    double *weight;       /* n: sample weights */
    int64_t *order;       /* rows of weight > 0, shuffled; a level consists of its first entries */
    double *score, *self; /* score: l; self: k(x, x) times weight (n each, in the order of `order`) */
    int64_t *kept;        /* most: numbers of the rows in S */
    double *scale;        /* most: sqrt(w / p) of the rows in S */
    int64_t count;        /* number of rows in S */
    /* k: W K_SS W, later the Cholesky factor of W K_SS W + lambda (most x most); values, vectors:
     * the leading eigenpairs of W K_SS W */
    double *k, *values, *vectors;
    double lambda, rounding;
    int64_t rank; /* k in the head of this file */
} work;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t rank_of(int64_t m) { return m < 3 ? 1 : (int64_t)ceil((double)m / (4 * log((double)m))); }

/* ---- K of the kept rows S, with W and the root of the sample weights on both sides; lambda */

static int32_t keep_tile(void *user, void *state, const mercer_tile *tile) {
    const work *w = user;
    for (int64_t i = 0; i < tile->rows; i++)
        for (int64_t j = 0; j < tile->cols; j++)
            ((double *)state)[i * w->count + tile->col0 + j] =
                w->scale[tile->row0 + i] * w->scale[tile->col0 + j] *
                mercer_value(tile->dtype, tile->values, i * tile->stride + j);
    return MERCER_OK;
}

static int32_t keep_slab(void *user, void *state, int64_t row0, int64_t count) {
    work *w = user;
    for (int64_t k = 0; k < count * w->count; k++) w->k[row0 * w->count + k] = ((const double *)state)[k];
    return MERCER_OK;
}

static int32_t gram_of_kept(work *w) {
    mercer_visit visit = {
        .struct_size = sizeof visit, .list = w->kept, .listed = w->count, .index = w->kept, .count = w->count};
    mercer_consumer consumer = {
        .struct_size = sizeof consumer, .row_size = 8 * w->count, .user = w, .tile = keep_tile, .combine = keep_slab};
    return w->host->visit(w->task, &visit, &consumer);
}

/* Computes lambda, and the Cholesky factor of K + lambda in w->k. */
static int32_t factorise(work *w) {
    /* With few rows, the smaller half of the eigenvalues counts as the tail. */
    const int64_t s = w->count, rank = least(w->rank, s / 2);
    double trace = 0, top = 0;
    int64_t info = 0;
    int32_t status = gram_of_kept(w);
    if (status) return status;
    for (int64_t i = 0; i < s; i++) trace += w->k[i * s + i];
    if (rank > 0 &&
        ((status = w->host->eigh(w->task, s, w->k, s, rank, w->values, w->vectors, s)) || (status = gram_of_kept(w))))
        return status;
    for (int64_t i = 0; i < rank; i++) top += w->values[i];
    /* A tail that is smaller than the rounding errors of the two sums is not resolved, so lambda is
     * at least the bound of these errors, divided by k. */
    w->lambda = fmax((trace - top) / (double)w->rank, 64 * (double)s * w->rounding * trace / (double)w->rank);
    if (!(w->lambda > 0)) return w->host->fail(w->task, MERCER_E_DATA, "all kernel values of the rows are 0");
    for (int64_t i = 0; i < s; i++) w->k[i * s + i] += w->lambda;
    if ((status = w->host->potrf(w->task, s, w->k, s, &info))) return status;
    return info ? w->host->fail(w->task, MERCER_E_NUMERICAL,
                                "the kernel matrix of %lld rows is not positive semidefinite", (long long)s)
                : MERCER_OK;
}

/* ---- scores: each slab collects its rows of k(x, S), and solves when they are complete */

static int32_t score_tile(void *user, void *state, const mercer_tile *tile) {
    const work *w = user;
    double *x = state; /* tile->rows x w->count, column-major */
    const int64_t stride = tile->rows;
    for (int64_t i = 0; i < tile->rows; i++) {
        const double root = sqrt(w->weight[w->order[tile->row0 + i]]);
        for (int64_t j = 0; j < tile->cols; j++)
            x[(tile->col0 + j) * stride + i] =
                root * w->scale[tile->col0 + j] * mercer_value(tile->dtype, tile->values, i * tile->stride + j);
    }
    if (tile->col0 + tile->cols < w->count) return MERCER_OK;
    int32_t status = w->host->trsm(w->task, 'T', tile->rows, w->count, w->k, w->count, x, stride);
    for (int64_t i = 0; i < tile->rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < w->count; j++) sum += x[j * stride + i] * x[j * stride + i];
        x[i] = sum; /* overwrites column 0, which has been read */
    }
    return status;
}

static int32_t score_slab(void *user, void *state, int64_t row0, int64_t count) {
    work *w = user;
    const double *sums = state;
    for (int64_t i = 0; i < count; i++) w->score[row0 + i] = fmax((w->self[row0 + i] - sums[i]) / w->lambda, DBL_MIN);
    return MERCER_OK;
}

/* Computes l of the first `size` rows of the order, AT_ONCE at a time, so that the states of a
 * visit stay small. */
static int32_t score(work *w, int64_t size) {
    int32_t status = factorise(w);
    mercer_consumer consumer = {
        .struct_size = sizeof consumer, .row_size = 8 * w->count, .user = w, .tile = score_tile, .combine = score_slab};
    for (int64_t from = 0; from < size && !status; from += AT_ONCE) {
        mercer_visit visit = {.struct_size = sizeof visit,
                              .row0 = from,
                              .rows = least(AT_ONCE, size - from),
                              .list = w->order,
                              .listed = size,
                              .index = w->kept,
                              .count = w->count};
        status = w->host->visit(w->task, &visit, &consumer);
    }
    return status;
}

/* ---- levels */

static void keep(work *w, int64_t level, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < size; i++) sum += w->score[i];
    const double many = fmax(log(4 * (double)w->rank), 4 * (double)w->rank / sum); /* keeps about 4 k rows at least */
    w->count = 0;
    for (int64_t i = 0; i < size && w->count < w->most; i++) {
        const double p = fmin(1, w->score[i] * many);
        if (w->host->uniform(w->task, level, i) >= p) continue;
        w->scale[w->count] = sqrt(w->weight[w->order[i]] / p);
        w->kept[w->count++] = w->order[i];
    }
    if (w->count > 0) return; /* in the rare case that no row was kept, the first row is */
    w->scale[0] = sqrt(w->weight[w->order[0]]);
    w->kept[w->count++] = w->order[0];
}

typedef struct key {
    double value;
    int64_t row;
} key;

static int by_value(const void *a, const void *b) {
    const key *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->row > y->row) - (x->row < y->row);
}

/* Draws m of the rows in proportion to their scores. */
static int32_t draw(work *w, int64_t present) {
    key *keys = w->host->alloc(w->task, present * (int64_t)sizeof *keys);
    if (!keys) return MERCER_E_MEMORY;
    double sum = 0;
    for (int64_t i = 0; i < present; i++) {
        sum += w->score[i];
        keys[i] = (key){-log1p(-w->host->uniform(w->task, 0, i)) / w->score[i], w->order[i]};
    }
    qsort(keys, (size_t)present, sizeof *keys, by_value);
    for (int64_t j = 0; j < w->m; j++) w->order[j] = keys[j].row;
    qsort(w->order, (size_t)w->m, sizeof *w->order, mercer_ascending);
    int32_t status = w->host->report(w->task, "lambda", w->lambda);
    if (!status) status = w->host->report(w->task, "dimension", sum);
    return status ? status : w->host->give(w->task, w->m, w->order, NULL, NULL);
}

/* Puts the rows of weight > 0 into a random order, and returns their number. */
static int64_t shuffle(work *w) {
    int64_t count = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (w->weight[i] > 0) w->order[count++] = i;
    mercer_shuffle(w->host, w->task, -1, w->order, count, count);
    return count;
}

static int32_t climb(work *w) {
    const int64_t present = shuffle(w);
    w->m = least(w->m, present);
    w->rank = rank_of(w->m);
    int32_t status = w->host->pairs(w->task, w->order, w->order, present, w->self);
    for (int64_t i = 0; i < present; i++) w->self[i] *= w->weight[w->order[i]];
    int64_t level = 0;
    while (present >> level > w->m) level++;
    for (int64_t i = 0; i < present >> level; i++) w->score[i] = 1;
    for (keep(w, level + 2, present >> level); !status;) {
        if ((status = w->host->progress(w->task, 1 / (double)((int64_t)1 << level)))) return status;
        if (level > 0) level--;
        if ((status = score(w, present >> level)) || level == 0) break;
        keep(w, level + 2, present >> level);
    }
    return status ? status : draw(w, present);
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const leverage *p = params;
    const int64_t n = shape->n, m = out->m = p->m > 0 ? p->m : least(n, 1000);
    if (m > n) return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)n);
    const int64_t s = least(2 * m + 64, n), rank = rank_of(m);
    const double likely = fmin((double)s, 3 * (double)rank * log(4 * (double)rank) + 4);
    int64_t levels = 1;
    while (n >> levels > m) levels++;
    out->bytes = 48 * n + 8 * s * (s + 3 + rank) + 8 * s * (rank + 80) + 16 * s * (s + 12) +
                 8 * s * (s > AT_ONCE ? s : AT_ONCE) + 8 * s * 256 + 1024; /* this line: states of visits */
    out->likely_bytes = 48 * n + (int64_t)(8 * likely * (AT_ONCE + 3 * likely)) + 24 * m * m;
    out->kernel_evaluations = n + 2 * n * s + 2 * (levels + 1) * s * s;
    out->likely_evaluations = (double)n * (1 + 2 * likely) + 2 * (double)(m * m);
    out->flops = 2 * (double)n * (double)s * (double)s;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    if (!(shape->flags & MERCER_PSD)) /* the flag is not known in a forecast */
        return host->fail(task, MERCER_E_VALUE, "leverage scores need a positive semidefinite kernel");
    const int64_t n = shape->n;
    work w = {.host = host, .task = task, .n = n, .m = cost.m, .most = least(2 * cost.m + 64, n)};
    w.rounding = shape->dtype == MERCER_F32 ? FLT_EPSILON : DBL_EPSILON;
    double *of_rows = host->alloc(task, 24 * n), *of_kept = host->alloc(task, 16 * w.most);
    w.order = host->alloc(task, 8 * n);
    w.kept = host->alloc(task, 8 * w.most);
    w.k = host->alloc(task, 8 * w.most * w.most);
    w.vectors = host->alloc(task, 8 * w.most * rank_of(cost.m));
    if (!of_rows || !of_kept || !w.order || !w.kept || !w.k || !w.vectors) return MERCER_E_MEMORY;
    w.weight = of_rows, w.score = of_rows + n, w.self = of_rows + 2 * n;
    w.scale = of_kept, w.values = of_kept + w.most;
    status = host->weights(task, w.weight);
    return status ? status : climb(&w);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "leverage", MERCER_VERSION,
              "rows drawn with probability proportional to ridge leverage scores, computed recursively",
              "Musco & Musco, NeurIPS (2017)", rows, leverage, ops)
