/* herding.c - rows drawn so that their mean element follows that of all rows: kernel herding
 *
 * Chen, Welling & Smola, Super-samples from kernel herding, UAI 2010; Bach, Lacoste-Julien &
 * Obozinski, ICML 2012. Let mu(x) = sum_i w_i k(x_i, x) / n, where w_i are the sample weights, and
 * let S(x) be the sum of k(x, c) over the t draws c made so far. Draw t + 1 is the row with the
 * largest mu(x) - S(x)/(t + 1); ties go to the lowest index. A row may be drawn more than once and
 * is then one centre; every draw weighs n/m. With `optimal`, the drawn rows are kept but receive
 * the weights n p, where p >= 0, sum p = 1, minimises MMD^2 = mean mu - 2 p.mu + p.K p. The weights
 * are computed by the active set method of Lawson & Hanson (Solving least squares problems, 1974),
 * after 4 m u max K_jj has been added to the diagonal of K (u: unit roundoff of the tiles' type).
 * Rows that receive weight 0 are dropped.
 *
 * Cost: n^2 kernel values for mu, in one visit; then O(n) per draw. If no value of that visit was
 * negative, S can only grow, so mu - S/(t + 1) with an S of earlier draws is an upper bound. The
 * next draw is then sought among the hot rows, at most HOT rows of largest mu - S/(t + 1), whose S
 * is kept up to date. When the bound of some other row reaches the best value of a hot row, S of
 * all rows is brought up to date, with n kernel values for each draw since the last time. Memory:
 * 32 n bytes; with `optimal`, 16 m^2 more. Error: the reported mmd. It falls as O(1/m) in a feature
 * space of finite dimension that has the mean well inside the convex hull of the rows, otherwise as
 * O(1/sqrt m).
 */
#include <math.h>
#include <mercer/plugin.h>
#include <string.h>

typedef struct herding {
    int64_t m;
    int32_t optimal;
} herding;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(herding, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of draws; 0: min(n, 1000); a row drawn more than once is one centre"),
    MERCER_PARAM_BOOL(
        herding, optimal, "false", "", 0,
        "choose weights >= 0 that bring the drawn rows nearest to the mean of all rows; false: n/m for each draw"),
};

enum { HOT = 1024 };

typedef struct work {
    const mercer_host *host;
    mercer_task *task;
    int64_t n, m;
    /* Of all n rows: weight: sample weight; mean: mu; sum: S of the first `known` draws. */
    double *weight, *mean, *sum;
    int64_t *draws, *hot; /* draws: the rows drawn (m); hot: the hot rows, ascending (HOT) */
    double *hot_sum;      /* S of the hot rows, including all draws (HOT) */
    /* hots: number of hot rows; known: number of draws that `sum` includes; done: of all draws */
    int64_t hots, known, done;
    /* centre: the distinct rows drawn (m); number: for each row, 1 + its place in `centre`, or 0 if
     * it was not drawn (n) */
    int64_t *centre, *number;
    /* Of the centres: share: p; slope: K p. */
    double *share, *slope;
    int64_t count; /* number of centres */
} work;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- sums over tiles: out_i += sum_j factor_j k(x_i, y_j) */

typedef struct summing {
    const double *factor; /* NULL: all 1 */
    double *out;
    double lowest; /* the smallest value seen, 0 if no value was negative */
} summing;

#define SUM_ROWS(real)                                                                                                 \
    for (int64_t i = 0; i < tile->rows; i++) {                                                                         \
        const real *v = (const real *)tile->values + i * tile->stride;                                                 \
        double lane[8] = {0}, rest = 0;                                                                                \
        real low[8] = {0};                                                                                             \
        int64_t j = 0;                                                                                                 \
        for (; j + 8 <= tile->cols; j += 8)                                                                            \
            for (int64_t l = 0; l < 8; l++) {                                                                          \
                lane[l] += (f ? f[j + l] : 1) * (double)v[j + l];                                                      \
                low[l] = v[j + l] < low[l] ? v[j + l] : low[l];                                                        \
            }                                                                                                          \
        for (; j < tile->cols; j++) {                                                                                  \
            rest += (f ? f[j] : 1) * (double)v[j];                                                                     \
            low[0] = v[j] < low[0] ? v[j] : low[0];                                                                    \
        }                                                                                                              \
        for (int64_t l = 0; l < 8; l++) {                                                                              \
            rest += lane[l];                                                                                           \
            if (low[l] < *lowest) *lowest = low[l];                                                                    \
        }                                                                                                              \
        sums[i] += rest;                                                                                               \
    }

static int32_t add_tile(void *user, void *state, const mercer_tile *tile) {
    const summing *s = user;
    const double *f = s->factor ? s->factor + tile->col0 : NULL;
    double *lowest = state, *sums = lowest + 1;
    if (tile->dtype == MERCER_F32) {
        SUM_ROWS(float)
    } else {
        SUM_ROWS(double)
    }
    return MERCER_OK;
}

static int32_t add_slab(void *user, void *state, int64_t row0, int64_t count) {
    summing *s = user;
    const double *lowest = state, *sums = lowest + 1;
    for (int64_t i = 0; i < count; i++) s->out[row0 + i] += sums[i];
    if (*lowest < s->lowest) s->lowest = *lowest;
    return MERCER_OK;
}

/* For each row x_i in list (NULL: all), adds to out_i the sum of factor_j k(x_i, y_j) over the rows
 * y_j in index (NULL: all). */
static int32_t add(work *w, const int64_t *list, int64_t listed, const int64_t *index, int64_t count, summing *s) {
    mercer_visit visit = {.struct_size = sizeof visit, .list = list, .listed = listed, .index = index, .count = count};
    mercer_consumer consumer = {.struct_size = sizeof consumer,
                                .state_size = sizeof(double),
                                .row_size = sizeof(double),
                                .user = s,
                                .tile = add_tile,
                                .combine = add_slab};
    return w->host->visit(w->task, &visit, &consumer);
}

/* ---- draws */

/* Selects the hot rows, in ascending order: at most HOT rows whose mu - S / (done + 1) exceeds a
 * threshold, or all rows if n <= HOT. Bisection on a sample of the rows finds a threshold that
 * about HOT rows exceed. */
static void heat(work *w) {
    const double over = 1 / (double)(w->done + 1);
    const int64_t stride = w->n > 8 * HOT ? w->n / (8 * HOT) : 1, most = HOT / stride;
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < w->n; i += stride) {
        const double v = w->mean[i] - w->sum[i] * over;
        lo = fmin(lo, v), hi = fmax(hi, v);
    }
    for (int step = 0; step < 30 && w->n > HOT; step++) {
        const double middle = lo + (hi - lo) / 2;
        int64_t above = 0;
        for (int64_t i = 0; i < w->n; i += stride) above += w->mean[i] - w->sum[i] * over > middle;
        *(above > most ? &lo : &hi) = middle;
        if (above <= most && 2 * above >= most) break;
    }
    w->hots = 0;
    for (int64_t i = 0; i < w->n && w->hots < HOT; i++)
        if (w->n <= HOT || w->mean[i] - w->sum[i] * over > hi) {
            w->hot_sum[w->hots] = w->sum[i];
            w->hot[w->hots++] = i;
        }
}

typedef struct best {
    double value;
    int64_t row;
} best;

static void offer(best *b, double v, int64_t row) {
    if (v > b->value || (v == b->value && row < b->row)) b->value = v, b->row = row;
}

/* Returns the best row of positive weight. hot_only: among the hot rows, whose S includes all
 * draws; otherwise among all other rows, whose S includes only the first `known` draws. */
static best best_of(const work *w, int hot_only) {
    const double over = 1 / (double)(w->done + 1);
    best out = {-INFINITY, w->n};
    for (int64_t k = 0; hot_only && k < w->hots; k++)
        if (w->weight[w->hot[k]] > 0) offer(&out, w->mean[w->hot[k]] - w->hot_sum[k] * over, w->hot[k]);
    for (int64_t i = 0, k = 0; !hot_only && i < w->n; i++)
        if (k < w->hots && w->hot[k] == i)
            k++;
        else if (w->weight[i] > 0)
            offer(&out, w->mean[i] - w->sum[i] * over, i);
    return out;
}

/* Brings S of all rows up to date. No row is hot afterwards. */
static int32_t tell(work *w) {
    summing s = {NULL, w->sum, 0};
    int32_t status = MERCER_OK;
    if (w->done > w->known) status = add(w, NULL, 0, w->draws + w->known, w->done - w->known, &s);
    w->known = w->done;
    w->hots = 0;
    return status;
}

static int32_t draw(work *w, int lazy) {
    int32_t status = MERCER_OK;
    while (w->done < w->m && !status) {
        best next = best_of(w, 1);
        const best other = best_of(w, 0); /* an upper bound if known < done */
        if (w->known == w->done)
            offer(&next, other.value, other.row);
        else if (other.value > next.value || (other.value == next.value && other.row < next.row)) {
            status = tell(w);
            continue;
        }
        if (w->known == w->done && lazy) heat(w);
        w->draws[w->done++] = next.row;
        if ((status = w->host->progress(w->task, 0.5 + 0.5 * (double)w->done / (double)w->m))) break;
        summing s = {NULL, w->hot_sum, 0};
        status = lazy ? add(w, w->hot, w->hots, &next.row, 1, &s) : tell(w);
    }
    return status;
}

/* Makes each distinct drawn row one centre, in the order in which they were first drawn. Its share
 * is the share of draws that chose it. */
static void merge(work *w) {
    w->count = 0;
    for (int64_t t = 0; t < w->m; t++) {
        int64_t *number = w->number + w->draws[t];
        if (*number == 0) {
            w->centre[w->count] = w->draws[t];
            w->share[w->count++] = 0;
            *number = w->count;
        }
        w->share[*number - 1] += 1 / (double)w->m;
    }
}

/* ---- optimal weights */

/* The problem of the optimal weights: minimise p.K p / 2 - b.p over p >= 0, sum p = 1, where b is
 * mu at the centres. Active entries may be positive; all others are 0. */
typedef struct quadratic {
    work *w;
    /* k: K; part: its submatrix of active entries, factorised; y, z: solutions; p: the weights */
    double *k, *part, *y, *z, *p;
    int64_t *used; /* the active entries, ascending */
    int64_t count;
    double ridge;
} quadratic;

static int32_t keep_tile(void *user, void *state, const mercer_tile *tile) {
    const quadratic *q = user;
    const int64_t m = q->w->count;
    for (int64_t i = 0; i < tile->rows; i++)
        for (int64_t j = 0; j < tile->cols; j++)
            ((double *)state)[i * m + tile->col0 + j] = mercer_value(tile->dtype, tile->values, i * tile->stride + j);
    return MERCER_OK;
}

static int32_t keep_slab(void *user, void *state, int64_t row0, int64_t count) {
    const quadratic *q = user;
    memcpy(q->k + row0 * q->w->count, state, (size_t)(8 * count * q->w->count));
    return MERCER_OK;
}

/* Solves the problem for the active entries without p >= 0. The solution is y; *level is the
 * multiplier of sum p = 1. */
static int32_t solve(quadratic *q, double *level) {
    work *w = q->w;
    const int64_t m = w->count, c = q->count;
    int64_t info = 1;
    for (; info; q->ridge *= 10) { /* rounding may make K + ridge indefinite; then the ridge grows */
        for (int64_t i = 0; i < c; i++)
            for (int64_t j = 0; j < c; j++)
                q->part[i * c + j] = q->k[q->used[i] * m + q->used[j]] + (i == j ? q->ridge : 0);
        int32_t status = w->host->potrf(w->task, c, q->part, c, &info);
        if (status) return status;
        if (!info) break;
    }
    double y_sum = 0, z_sum = 0;
    for (int64_t i = 0; i < c; i++) q->y[i] = w->mean[w->centre[q->used[i]]], q->z[i] = 1;
    int32_t status = MERCER_OK; /* multiplies the rows y and z by L^-T, then by L^-1: K = L L^T */
    for (int step = 0; step < 2 && !status; step++) {
        status = w->host->trsm(w->task, step ? 'N' : 'T', 1, c, q->part, c, q->y, 1);
        if (!status) status = w->host->trsm(w->task, step ? 'N' : 'T', 1, c, q->part, c, q->z, 1);
    }
    for (int64_t i = 0; i < c; i++) y_sum += q->y[i], z_sum += q->z[i];
    *level = (1 - y_sum) / z_sum;
    for (int64_t i = 0; i < c; i++) q->y[i] += *level * q->z[i];
    return status;
}

/* Deactivates entries that are not positive in y. Until p is feasible (begun = 0), all such entries
 * go at once, and p becomes y; later p moves towards y until the first entry reaches 0. Returns
 * true if any entry was deactivated. */
static int drop(quadratic *q, int begun) {
    double step = 1;
    int64_t kept = 0;
    for (int64_t i = 0; i < q->count; i++) {
        const double p = q->p[q->used[i]];
        if (begun && q->y[i] <= 0) step = fmin(step, p / (p - q->y[i]));
    }
    for (int64_t i = 0; i < q->count; i++) {
        double *p = &q->p[q->used[i]];
        const double to = begun ? *p + step * (q->y[i] - *p) : q->y[i];
        const int out = q->y[i] <= 0 && (!begun || to <= DBL_EPSILON * *p);
        *p = out || to < 0 ? 0 : to;
        if (!out) q->used[kept++] = q->used[i];
    }
    const int dropped = kept < q->count;
    q->count = kept;
    return dropped;
}

/* Returns the inactive entry whose slope is furthest below the level. If there is none (-1), the
 * Karush-Kuhn-Tucker conditions hold. */
static int64_t missing(const quadratic *q, double level) {
    const work *w = q->w;
    int64_t found = -1;
    double lowest = 0;
    for (int64_t j = 0; j < w->count; j++) {
        if (q->p[j] > 0) continue;
        const double b = w->mean[w->centre[j]];
        double slope = -b - level, size = fabs(b) + fabs(level);
        for (int64_t i = 0; i < w->count; i++) {
            slope += q->k[j * w->count + i] * q->p[i];
            size += fabs(q->k[j * w->count + i]) * q->p[i];
        }
        if (slope < lowest - 1e-12 * size - 4 * q->ridge) lowest = slope, found = j;
    }
    return found;
}

static void insert(quadratic *q, int64_t j) {
    int64_t at = q->count++;
    for (; at > 0 && q->used[at - 1] > j; at--) q->used[at] = q->used[at - 1];
    q->used[at] = j;
}

static int32_t optimise(work *w, int32_t dtype, int32_t flags) {
    const int64_t m = w->count;
    if (!(flags & MERCER_PSD))
        return w->host->fail(w->task, MERCER_E_VALUE,
                             "optimal = true needs a kernel that is known to be positive semidefinite");
    double *squares = w->host->alloc(w->task, 16 * m * m), *vectors = w->host->alloc(w->task, 32 * m);
    if (!squares || !vectors) return MERCER_E_MEMORY;
    quadratic q = {w, squares, squares + m * m, vectors, vectors + m, vectors + 2 * m, (int64_t *)(vectors + 3 * m),
                   m, 0};
    mercer_visit visit = {.struct_size = sizeof visit, .list = w->centre, .listed = m, .index = w->centre, .count = m};
    mercer_consumer consumer = {
        .struct_size = sizeof consumer, .row_size = 8 * m, .user = &q, .tile = keep_tile, .combine = keep_slab};
    int32_t status = w->host->visit(w->task, &visit, &consumer);
    for (int64_t j = 0; j < m; j++) {
        q.ridge = fmax(q.ridge, 4 * (double)m * (dtype == MERCER_F32 ? FLT_EPSILON : DBL_EPSILON) / 2 * q.k[j * m + j]);
        q.used[j] = j;
    }
    if (!(q.ridge > 0)) q.ridge = 1; /* if all of K is 0, all weights serve equally well */
    double level = 0;
    int begun = 0;
    for (int64_t last = -1; !status;) {
        if ((status = w->host->progress(w->task, 1)) || (status = solve(&q, &level))) break;
        if (drop(&q, begun) && q.count > 0) continue;
        begun = 1;
        const int64_t next = missing(&q, level);
        /* next < 0: the weights are optimal. The same entry again: its slope is a rounding
         * error. */
        if (next < 0 || next == last || q.count == m) break;
        insert(&q, last = next);
    }
    w->count = 0;
    for (int64_t j = 0; j < m; j++)
        if (q.p[j] > 0) {
            w->share[w->count] = q.p[j];
            w->centre[w->count++] = w->centre[j];
        }
    return status;
}

/* ---- result */

/* Reports mmd = sqrt(mean mu - 2 p.mu + p.K p). */
static int32_t report_distance(work *w) {
    double square = 0;
    summing s = {w->share, w->slope, 0};
    int32_t status = add(w, w->centre, w->count, w->centre, w->count, &s);
    for (int64_t i = 0; i < w->n; i++) square += w->weight[i] / (double)w->n * w->mean[i];
    for (int64_t j = 0; j < w->count; j++) square += w->share[j] * (w->slope[j] - 2 * w->mean[w->centre[j]]);
    return status ? status : w->host->report(w->task, "mmd", square > 0 ? sqrt(square) : 0);
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const herding *p = params;
    if (p->m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)shape->n);
    const int64_t n = shape->n, m = out->m = p->m > 0 ? p->m : least(n, 1000);
    const int64_t states = 2112 * least(64, n / 256 + 1); /* bytes of the states of visits */
    out->bytes = 32 * n + 32 * m + 16 * HOT + 1024 + states + (p->optimal ? 8 * m * (3 * m + 300) : 0);
    const double values = (double)n * (double)(n + m) + (double)m * (double)(HOT + 2 * m);
    out->kernel_evaluations = values < 9e18 ? (int64_t)values : (int64_t)9e18;
    out->likely_evaluations = (double)n * (double)n + (double)m * (double)(least(HOT, n) + m);
    out->flops = 2 * (double)n * (double)n + (p->optimal ? 4 * pow((double)m, 3) : 0);
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const herding *p = params;
    mercer_cost cost = {.struct_size = sizeof cost};
    work w = {.host = host, .task = task, .n = shape->n};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    w.m = cost.m;
    double *of_rows = host->alloc(task, 24 * w.n), *of_centres = host->alloc(task, 16 * w.m);
    int64_t *numbers = host->alloc(task, 8 * w.n), *rows_drawn = host->alloc(task, 16 * w.m);
    w.hot = host->alloc(task, 8 * HOT);
    w.hot_sum = host->alloc(task, 8 * HOT);
    if (!of_rows || !of_centres || !numbers || !rows_drawn || !w.hot || !w.hot_sum) return MERCER_E_MEMORY;
    w.weight = of_rows, w.mean = of_rows + w.n, w.sum = of_rows + 2 * w.n;
    w.share = of_centres, w.slope = of_centres + w.m;
    w.draws = rows_drawn, w.centre = rows_drawn + w.m, w.number = numbers;
    summing s = {w.weight, w.mean, 0};
    if ((status = host->weights(task, w.weight)) || (status = host->progress(task, 0)) ||
        (status = add(&w, NULL, 0, NULL, 0, &s)))
        return status;
    for (int64_t i = 0; i < w.n; i++) w.mean[i] /= (double)w.n;
    if ((status = draw(&w, s.lowest >= 0))) return status;
    merge(&w);
    if (p->optimal && (status = optimise(&w, shape->dtype, shape->flags))) return status;
    if ((status = report_distance(&w))) return status;
    return host->give(task, w.count, w.centre, NULL, w.share);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "herding", MERCER_VERSION,
              "rows chosen to match the mean in feature space (kernel herding)", "Chen, Welling & Smola, UAI (2010)",
              rows, herding, ops)
