/* farthest.c - m rows, each the farthest from those before it (k-centre)
 *
 * Gonzalez, Theoretical Computer Science 38 (1985). The first centre is drawn at random. Each
 * further centre is the row whose distance to the nearest centre so far is largest; ties go to the
 * lowest row. The radius within which the m centres cover all rows is at most twice the smallest
 * possible. The weight of a centre is the sum of the sample weights of the rows nearest to it; ties
 * go to the earliest centre. Selection stops early if every row equals a centre, so there are fewer
 * than m centres if fewer rows are distinct.
 *
 * A distance to the nearest centre can only fall when a centre is added, so distances computed
 * earlier are upper bounds. Each sweep brings the distances of all rows up to date. Between sweeps,
 * only the 256 rows that were farthest at the last sweep (the pool) are kept up to date: the
 * farthest of them is the next centre as long as it is at least as far as every other row was at
 * the last sweep. The choices are those of the plain loop, because squared distances are summed in
 * double, in the order of the columns.
 *
 * Cost: n m distances in tiles, in about m/20 sweeps, and no kernel value. Memory: 32 n bytes and
 * 256 rows. Error: the covering radius, which is reported. In feature space
 * |phi(x) - phi(c)|^2 <= 2 (f(0) - f(radius)) for a kernel f(|x - y|) that decreases with the
 * distance.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct farthest {
    int64_t m;
} farthest;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(farthest, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of centres; 0: min(n, 1000)"),
};

enum { POOL = 256 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const farthest *p = params;
    const int64_t n = shape->n, m = p->m > 0 ? p->m : least(n, 1000), pool = least(n, POOL + 1);
    if (m > n) return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)m, (long long)n);
    out->m = m;
    out->bytes = 8 * (4 * n + 2 * m + pool * (shape->d + 2));
    out->flops = 2 * (double)n * (double)m * (double)shape->d;
    return MERCER_OK;
}

typedef struct search {
    const mercer_host *host;
    mercer_task *task;
    /* chosen: number of centres so far; swept: number of those that `square` and `nearest` take
     * into account */
    int64_t n, d, m, chosen, swept;
    /* Of all n rows: weight: sample weight; square: squared distance to the nearest swept centre;
     * nearest: number of this centre; number: the nearest of the centres that the last sweep added,
     * counted from 0, or -1 if no such centre is nearer than the earlier ones. */
    double *weight, *square;
    int64_t *nearest, *number;
    int64_t *centre; /* m: the rows that are centres */
    /* pool: the rows of the pool, a heap with the row to be chosen last on top; pooled: their
     * number */
    int64_t pooled, *pool;
    /* x: coordinates of the rows of the pool; now: their squared distances to the nearest centre */
    double *x, *now;
} search;

/* Returns true if row a, at squared distance square_a, is to be chosen before row b, at
 * square_b. */
static int before(double square_a, int64_t a, double square_b, int64_t b) {
    return square_a > square_b || (square_a == square_b && a < b);
}

/* Compares two rows as before() does, by their distances at the last sweep. */
static int stood_before(const search *s, int64_t a, int64_t b) { return before(s->square[a], a, s->square[b], b); }

/* Moves entry k of the heap to where it belongs: up, then down. */
static void sift(search *s, int64_t k) {
    int64_t *pool = s->pool;
    const int64_t row = pool[k];
    for (; k > 0 && stood_before(s, pool[(k - 1) / 2], row); k = (k - 1) / 2) pool[k] = pool[(k - 1) / 2];
    for (int64_t child; (child = 2 * k + 1) < s->pooled; k = child) {
        if (child + 1 < s->pooled && stood_before(s, pool[child], pool[child + 1])) child++;
        if (!stood_before(s, row, pool[child])) break;
        pool[k] = pool[child];
    }
    pool[k] = row;
}

/* Fills the pool with the farthest rows of positive weight. Returns the row that comes next after
 * them, or -1 if the pool holds all rows of positive weight. */
static int64_t fill_pool(search *s) {
    s->pooled = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (!(s->weight[i] > 0)) continue;
        if (s->pooled <= POOL) {
            s->pool[s->pooled++] = i;
            sift(s, s->pooled - 1);
        } else if (stood_before(s, i, s->pool[0])) {
            s->pool[0] = i;
            sift(s, 0);
        }
    }
    if (s->pooled <= POOL) return -1;
    const int64_t next = s->pool[0];
    s->pool[0] = s->pool[--s->pooled]; /* from here on the pool is no heap */
    return next;
}

/* Chooses centres from the pool, as long as its farthest row is to be chosen before all rows
 * outside the pool. */
static int32_t choose(search *s) {
    const int64_t next = fill_pool(s), d = s->d;
    const int32_t status = s->host->rows(s->task, s->pool, s->pooled, s->x);
    if (status) return status;
    for (int64_t k = 0; k < s->pooled; k++) s->now[k] = s->square[s->pool[k]];
    while (s->chosen < s->m) {
        int64_t best = 0;
        for (int64_t k = 1; k < s->pooled; k++)
            if (before(s->now[k], s->pool[k], s->now[best], s->pool[best])) best = k;
        if (s->now[best] == 0 || (next >= 0 && before(s->square[next], next, s->now[best], s->pool[best])))
            return MERCER_OK;
        s->centre[s->chosen++] = s->pool[best];
        for (int64_t k = 0; k < s->pooled; k++) {
            const double *x = s->x + k * d, *c = s->x + best * d;
            double sum = 0;
            for (int64_t j = 0; j < d; j++) sum += (x[j] - c[j]) * (x[j] - c[j]);
            s->now[k] = fmin(s->now[k], sum);
        }
    }
    return MERCER_OK;
}

static int32_t sweep(search *s) {
    const mercer_visit to = {.struct_size = sizeof to, .index = s->centre + s->swept, .count = s->chosen - s->swept};
    for (int64_t i = 0; i < s->n; i++) s->number[i] = -1;
    const int32_t status = s->host->nearest(s->task, &to, s->square, s->number);
    for (int64_t i = 0; i < s->n; i++)
        if (s->number[i] >= 0) s->nearest[i] = s->swept + s->number[i];
    s->swept = s->chosen;
    return status ? status : s->host->progress(s->task, (double)s->chosen / (double)s->m);
}

static int32_t prepare(search *s) {
    const int64_t n = s->n, pool = least(n, POOL + 1);
    s->weight = s->host->alloc(s->task, 8 * n);
    s->square = s->host->alloc(s->task, 8 * n);
    s->nearest = s->host->alloc(s->task, 8 * n);
    s->number = s->host->alloc(s->task, 8 * n);
    s->centre = s->host->alloc(s->task, 8 * s->m);
    s->pool = s->host->alloc(s->task, 8 * pool);
    s->now = s->host->alloc(s->task, 8 * pool);
    s->x = s->host->alloc(s->task, 8 * pool * s->d);
    if (!s->weight || !s->square || !s->nearest || !s->number || !s->centre || !s->pool || !s->now || !s->x)
        return MERCER_E_MEMORY;
    for (int64_t i = 0; i < n; i++) s->square[i] = INFINITY;
    const int32_t status = s->host->weights(s->task, s->weight);
    return status ? status : s->host->progress(s->task, 0);
}

/* Draws one of the rows of positive weight at random. */
static int64_t first_row(const search *s) {
    int64_t count = 0, row = 0;
    for (int64_t i = 0; i < s->n; i++) count += s->weight[i] > 0;
    for (int64_t skip = (int64_t)(s->host->uniform(s->task, 0, 0) * (double)count);; row++)
        if (s->weight[row] > 0 && skip-- == 0) return row;
}

static int32_t give(search *s, int64_t sweeps, int64_t *assignment) {
    double *weight = s->host->alloc(s->task, 8 * s->chosen), farthest_square = 0;
    if (!weight) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < s->n; i++) {
        weight[s->nearest[i]] += s->weight[i];
        if (s->weight[i] > 0) farthest_square = fmax(farthest_square, s->square[i]);
        if (assignment) assignment[i] = s->nearest[i];
    }
    int32_t status = s->host->report(s->task, "radius", sqrt(farthest_square));
    if (!status) status = s->host->report(s->task, "sweeps", (double)sweeps);
    return status ? status : s->host->give(s->task, s->chosen, s->centre, NULL, weight);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    search s = {.host = host, .task = task, .n = shape->n, .d = shape->d, .m = cost.m};
    if ((status = prepare(&s))) return status;
    s.centre[s.chosen++] = first_row(&s);
    int64_t sweeps = 0;
    while (s.swept < s.chosen) {
        if ((status = sweep(&s)) || (s.chosen < s.m && (status = choose(&s)))) return status;
        sweeps++;
    }
    return give(&s, sweeps, want->assignment);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .flags = MERCER_NEEDS_VECTORS | MERCER_GIVES_ASSIGNMENT,
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "farthest", MERCER_VERSION, "rows farthest from each other (k-centre)",
              "Gonzalez, Theoretical Computer Science 38 (1985)", rows, farthest, ops)
