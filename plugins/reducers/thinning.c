/* thinning.c - rows whose mean element is within about 1/m of that of all rows: kernel thinning
 *
 * Dwivedi & Mackey, Kernel thinning, JMLR 25 (2024); Shetty, Dwivedi & Mackey, Compress++, ICLR
 * 2022. As many rows as possible, m 2^g of them, are drawn systematically in proportion to their
 * weights, shuffled, and halved g times. A halving walks over pairs (x, x') of rows, each with
 * f = k(x, .) - k(x', .). It keeps x with probability (1 - a/t) / 2, otherwise x', where a is the
 * product of f with the signed sum of the f before it, t = max(b s sqrt(2 log(4 pairs)), b^2),
 * b = |f| and s is a scale that the walk adapts. The signed sum thus stays small, whereas with
 * signs at random it would grow as the root of the number of pairs. Blocks of 4 m rows are halved
 * in pairs, up a binary tree. A halving of the share q of all rows adds an error of q O(1 / 4m);
 * these errors are independent, so that the whole tree adds sqrt 2 times that of its root. The 4 m
 * rows that are left, called the pool, are split into 4 sets of m by further halvings. The set
 * whose mean element is nearest to that of all rows is taken. Then each of its rows in turn is
 * exchanged for the row of the pool that brings the mean element of the set nearest to that of all
 * rows.
 *
 * A row that comes more than once (because of its weight, or by exchanges) is one centre; every
 * draw weighs n/m. Cost: 4 m n to 8 m n kernel values for the tree and 4 m n for the mean elements
 * of the 4 m rows; at most 16 n + 3 KB m bytes. Error: O(1 / m) up to logarithmic factors for
 * smooth kernels of light tails, compared with O(1 / sqrt m) for m rows at random.
 */
#include <math.h>
#include <mercer/plugin.h>
#include <stdlib.h>
#include <string.h>

typedef struct thinning {
    int64_t m;
} thinning;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(thinning, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of draws; 0: min(n, 1000); a row drawn twice is one centre"),
};

/* BLOCK: rows of a walk whose kernel values are held at once. SPLITS: upper limit on the
 * halvings that split the last block. SLOTS: exchanges whose columns are held at once. */
enum { BLOCK = 256, SPLITS = 2, SLOTS = 64 };

typedef struct work {
    const mercer_host *host;
    mercer_task *task;
    /* block: rows that a halving in the tree leaves, m 2^splits. */
    int64_t n, m, block;
    /* splits: halvings that split the last block; halvings: all so far; count: rows in `order` */
    int64_t splits, halvings, count;
    double *weight; /* n: sample weights */
    int64_t *order; /* the rows drawn; later those of them that the halvings keep */
    /* along: product of k(x, .) with the signed sum so far; sign: signs (2 block each) */
    double *along, *sign;
    int64_t *other;           /* 2 block: scratch for reordering */
    double *tile;             /* BLOCK x BLOCK: kernel values of a walk */
    int64_t *pool, pool_size; /* pool: at most 4 m rows that an exchange chooses from, ascending */
    /* One number for each row x of the pool. mean: mu(x), where mu is the mean element of all rows;
     * self: k(x, x); sum, best_sum: sums of k over a set and over the best one; column: k with one
     * row. */
    double *mean, *self, *sum, *best_sum, *column;
    double *columns; /* pool x SLOTS: k with the rows that are next to be exchanged */
    int64_t *chosen; /* m: the set, as places in the pool */
} work;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- visits */

typedef struct gather { /* out_i += sum_j factor_j k(x_i, y_j), or the values themselves, out_ij, if width > 0 */
    const double *factor;
    double *out;
    int64_t width;
} gather;

static int32_t add_tile(void *user, void *state, const mercer_tile *tile) {
    const gather *g = user;
    for (int64_t i = 0; i < tile->rows; i++) {
        double lane[4] = {0, 0, 0, 0};
        for (int64_t j = 0; j < tile->cols; j++) {
            const double v = mercer_value(tile->dtype, tile->values, i * tile->stride + j);
            if (g->width)
                ((double *)state)[i * g->width + tile->col0 + j] = v;
            else
                lane[j & 3] += (g->factor ? g->factor[tile->col0 + j] : 1) * v;
        }
        if (!g->width) ((double *)state)[i] += (lane[0] + lane[1]) + (lane[2] + lane[3]);
    }
    return MERCER_OK;
}

static int32_t add_slab(void *user, void *state, int64_t row0, int64_t count) {
    const gather *g = user;
    if (g->width) memcpy(g->out + row0 * g->width, state, (size_t)(8 * count * g->width));
    for (int64_t i = 0; !g->width && i < count; i++) g->out[row0 + i] += ((const double *)state)[i];
    return MERCER_OK;
}

static int32_t visit(work *w, const int64_t *list, int64_t listed, const int64_t *index, int64_t count, gather g) {
    mercer_visit which = {.struct_size = sizeof which, .list = list, .listed = listed, .index = index, .count = count};
    mercer_consumer consumer = {.struct_size = sizeof consumer,
                                .row_size = 8 * (g.width ? g.width : 1),
                                .user = &g,
                                .tile = add_tile,
                                .combine = add_slab};
    return listed > 0 ? w->host->visit(w->task, &which, &consumer) : MERCER_OK;
}

/* ---- halving */

typedef struct walk {
    double scale, spread; /* scale: s^2; spread: 2 log(4 pairs) */
} walk;

/* Returns the sign of the next pair. square: |f|^2; along: the product of f with the signed sum so
 * far; u: a random number. */
static double next_sign(walk *s, double along, double square, double u) {
    if (!(square > 0)) return u < 0.5 ? 1 : -1;
    const double step = fmax(sqrt(square * s->scale * s->spread), square);
    const double grown = 1 + (square - 2 * step) * s->scale / (step * step);
    if (grown > 0) s->scale += square * grown;
    return u < 0.5 * (1 - along / step) ? 1 : -1;
}

/* Chooses the signs of the pairs among `count` rows from row `from` on, and adds each pair to the
 * products of the pairs after it. */
static void walk_block(work *w, walk *s, int64_t from, int64_t count) {
    const double *k = w->tile;
    double *along = w->along + from, *sign = w->sign + from;
    for (int64_t x = 0; x + 1 < count; x += 2) {
        const int64_t y = x + 1;
        const double square = k[x * count + x] + k[y * count + y] - 2 * k[x * count + y];
        const double u = w->host->uniform(w->task, w->halvings, from + x);
        sign[x] = next_sign(s, along[x] - along[y], square, u);
        sign[y] = -sign[x];
        for (int64_t l = x + 2; l < count; l++) along[l] += sign[x] * (k[l * count + x] - k[l * count + y]);
    }
}

/* Halves 2 * half rows: moves the rows that are kept to the front, the others behind them. */
static int32_t halve(work *w, int64_t *points, int64_t half) {
    const int64_t size = 2 * half;
    walk s = {0, 2 * log(4 * (double)half)};
    memset(w->along, 0, (size_t)(8 * size));
    w->halvings++;
    for (int64_t from = 0; from < size; from += BLOCK) {
        const int64_t count = least(BLOCK, size - from), next = from + count, rest = size - next;
        int32_t status = visit(w, points + from, count, points + from, count, (gather){NULL, w->tile, count});
        if (status) return status;
        walk_block(w, &s, from, count);
        status = visit(w, points + next, rest, points + from, count, (gather){w->sign + from, w->along + next, 0});
        if (status) return status;
    }
    for (int64_t i = 0; i < half; i++) {
        const int64_t keep = w->sign[2 * i] > 0 ? 2 * i : 2 * i + 1;
        w->other[i] = points[keep];
        w->other[half + i] = points[4 * i + 1 - keep];
    }
    memcpy(points, w->other, (size_t)(8 * size));
    return MERCER_OK;
}

/* Draws `count` rows in proportion to their weights, at equal steps of the cumulated weight, and
 * shuffles them. */
static void sample(work *w) {
    double sum = 0, total = 0;
    for (int64_t i = 0; i < w->n; i++) total += w->weight[i];
    const double step = total / (double)w->count, start = w->host->uniform(w->task, 0, 0);
    int64_t drawn = 0, last = 0;
    for (int64_t i = 0; i < w->n && drawn < w->count; i++) {
        sum += w->weight[i];
        if (w->weight[i] > 0) last = i;
        while (drawn < w->count && ((double)drawn + start) * step < sum) w->order[drawn++] = i;
    }
    while (drawn < w->count) w->order[drawn++] = last; /* if rounding made the sum too small */
    mercer_shuffle(w->host, w->task, -1, w->order, w->count, w->count);
}

/* Halves blocks in pairs until one is left, and splits that one into sets of m. */
static int32_t thin(work *w) {
    const double all = (double)(w->count / w->block);
    for (; w->count > w->block; w->count /= 2)
        for (int64_t from = 0; from < w->count; from += 2 * w->block) {
            int32_t status = w->host->progress(w->task, 0.5 * (double)w->halvings / all);
            if (status || (status = halve(w, w->order + from, w->block))) return status;
            memmove(w->order + from / 2, w->order + from, (size_t)(8 * w->block));
        }
    for (int64_t size = w->block; size > w->m; size /= 2)
        for (int64_t from = 0; from < w->block; from += size) {
            int32_t status = halve(w, w->order + from, size / 2);
            if (status) return status;
        }
    return MERCER_OK;
}

/* ---- exchanges */

/* Fills the pool with the rows that are left, or with all rows if there are at most 4 m, and
 * computes mu(x) and k(x, x) for them. */
static int32_t fill_pool(work *w, int64_t present) {
    int64_t count = 0;
    if (present <= 4 * w->m) {
        for (int64_t i = 0; i < w->n; i++)
            if (w->weight[i] > 0) w->pool[count++] = i;
    } else {
        memcpy(w->pool, w->order, (size_t)(8 * w->block));
        qsort(w->pool, (size_t)w->block, sizeof *w->pool, mercer_ascending);
        for (int64_t i = 0; i < w->block; i++)
            if (count == 0 || w->pool[i] != w->pool[count - 1]) w->pool[count++] = w->pool[i];
    }
    w->pool_size = count;
    int32_t status = visit(w, w->pool, count, NULL, 0, (gather){w->weight, w->mean, 0});
    for (int64_t i = 0; i < count; i++) w->mean[i] /= (double)w->n;
    return status ? status : w->host->pairs(w->task, w->pool, w->pool, count, w->self);
}

static int64_t in_pool(const work *w, int64_t row) {
    const int64_t *at = bsearch(&row, w->pool, (size_t)w->pool_size, sizeof row, mercer_ascending);
    return at - w->pool;
}

/* Chooses the set of least distance to the mean, that is, of least p.K p - 2 p.mu. */
static int32_t choose(work *w) {
    double least_square = INFINITY;
    for (int64_t from = 0; from < w->block; from += w->m) {
        double square = 0;
        memset(w->sum, 0, (size_t)(8 * w->pool_size));
        int32_t status = visit(w, w->pool, w->pool_size, w->order + from, w->m, (gather){NULL, w->sum, 0});
        if (status) return status;
        for (int64_t j = 0; j < w->m; j++) {
            const int64_t at = in_pool(w, w->order[from + j]);
            square += w->sum[at] / (double)w->m - 2 * w->mean[at];
        }
        if (!(square < least_square)) continue;
        least_square = square;
        memcpy(w->best_sum, w->sum, (size_t)(8 * w->pool_size));
        for (int64_t j = 0; j < w->m; j++) w->chosen[j] = in_pool(w, w->order[from + j]);
    }
    return MERCER_OK;
}

/* Exchanges member j of the set for the row of the pool that brings the mean of the set nearest to
 * that of all rows. Another row must be better than the member itself by more than rounding. */
static int32_t exchange(work *w, int64_t j, int64_t slot, int64_t slots, double rounding, int64_t *swapped) {
    int64_t best = w->chosen[j];
    double least_value = INFINITY;
    for (int64_t l = 0; l < w->pool_size; l++) {
        const double without = w->best_sum[l] - w->columns[l * slots + slot];
        w->best_sum[l] = without;
        const double v =
            (2 * without + w->self[l]) / (double)w->m - 2 * w->mean[l] - (l == w->chosen[j] ? rounding : 0);
        if (v < least_value) least_value = v, best = l;
    }
    const int stays = best == w->chosen[j];
    int32_t status = MERCER_OK;
    if (!stays) {
        memset(w->column, 0, (size_t)(8 * w->pool_size));
        status = visit(w, w->pool, w->pool_size, w->pool + best, 1, (gather){NULL, w->column, 0});
        w->chosen[j] = best;
        ++*swapped;
    }
    for (int64_t l = 0; l < w->pool_size; l++) w->best_sum[l] += stays ? w->columns[l * slots + slot] : w->column[l];
    return status;
}

static int32_t exchange_all(work *w, int32_t dtype) {
    double largest = 0;
    int64_t swapped = 0, *block = w->other;
    for (int64_t l = 0; l < w->pool_size; l++) largest = fmax(largest, fabs(w->self[l]));
    const double rounding = 8 * (dtype == MERCER_F32 ? FLT_EPSILON : DBL_EPSILON) * largest;
    for (int64_t from = 0; from < w->m; from += SLOTS) {
        const int64_t slots = least(SLOTS, w->m - from);
        for (int64_t k = 0; k < slots; k++) block[k] = w->pool[w->chosen[from + k]];
        int32_t status = visit(w, w->pool, w->pool_size, block, slots, (gather){NULL, w->columns, slots});
        for (int64_t k = 0; k < slots && !status; k++) status = exchange(w, from + k, k, slots, rounding, &swapped);
        if (status || (status = w->host->progress(w->task, 0.8 + 0.2 * (double)from / (double)w->m))) return status;
    }
    return w->host->report(w->task, "exchanged", (double)swapped);
}

/* ---- result */

static int32_t give(work *w) {
    int64_t count = 0;
    qsort(w->chosen, (size_t)w->m, sizeof *w->chosen, mercer_ascending);
    for (int64_t j = 0; j < w->m; j++) {
        const int64_t row = w->pool[w->chosen[j]];
        if (count == 0 || w->order[count - 1] != row) {
            w->sum[count] = 0;
            w->order[count++] = row;
        }
        w->sum[count - 1] += 1;
    }
    return w->host->give(w->task, count, w->order, NULL, w->sum);
}

static void *part(char *base, int64_t *used, int64_t bytes) {
    char *out = base ? base + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return out;
}

/* Sets the sizes for `present` rows and returns the bytes of all arrays. Lays them out from `base`
 * on unless it is NULL. */
static int64_t lay(work *w, int64_t present, char *base) {
    int64_t used = 0;
    w->splits = 0;
    for (w->count = w->m; w->count <= present / 2; w->count *= 2)
        if (w->splits < SPLITS) w->splits++;
    w->block = w->m << w->splits;
    const int64_t pool = least(present, 4 * w->m) > w->block ? least(present, 4 * w->m) : w->block;
    const int64_t work_size = 2 * w->block > SLOTS ? 2 * w->block : SLOTS;
    w->order = part(base, &used, 8 * w->count);
    w->along = part(base, &used, 8 * work_size);
    w->sign = part(base, &used, 8 * work_size);
    w->other = part(base, &used, 8 * work_size);
    w->tile = part(base, &used, (int64_t)8 * BLOCK * BLOCK);
    w->pool = part(base, &used, 8 * pool);
    w->mean = part(base, &used, 8 * pool);
    w->self = part(base, &used, 8 * pool);
    w->sum = part(base, &used, 8 * pool);
    w->best_sum = part(base, &used, 8 * pool);
    w->column = part(base, &used, 8 * pool);
    w->columns = part(base, &used, 8 * pool * SLOTS);
    w->chosen = part(base, &used, 8 * w->m);
    return used;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const thinning *p = params;
    if (p->m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)shape->n);
    work w = {.n = shape->n, .m = p->m > 0 ? p->m : least(shape->n, 1000)};
    out->m = w.m;
    out->likely_bytes = lay(&w, shape->n, NULL) + 8 * shape->n + 64;
    out->bytes = out->likely_bytes + 8 * (int64_t)BLOCK * (BLOCK + SLOTS * SLOTS); /* states of visits */
    const int64_t halvings = w.count / w.block - 1, size = 2 * w.block, pool = least(shape->n, 4 * w.m);
    out->kernel_evaluations = halvings * size * (size + BLOCK) / 2 + 2 * w.block * (w.block + BLOCK) +
                              pool * (shape->n + 1 + w.block + 2 * w.m);
    out->likely_evaluations = /* assumes half of the values for choosing a set and for exchanges */
        (double)out->kernel_evaluations - (double)pool * (double)(w.block + 2 * w.m) / 2;
    out->flops = 4 * (double)out->kernel_evaluations;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    mercer_cost cost = {.struct_size = sizeof cost};
    work w = {.host = host, .task = task, .n = shape->n};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    int64_t present = 0;
    w.weight = host->alloc(task, 8 * w.n);
    if (!w.weight) return MERCER_E_MEMORY;
    if ((status = host->weights(task, w.weight))) return status;
    for (int64_t i = 0; i < w.n; i++) present += w.weight[i] > 0;
    w.m = least(cost.m, present);
    char *memory = host->alloc(task, lay(&w, present, NULL));
    if (!memory) return MERCER_E_MEMORY;
    lay(&w, present, memory);
    sample(&w);
    if ((status = thin(&w)) || (status = host->progress(task, 0.5)) || (status = fill_pool(&w, present)) ||
        (status = host->progress(task, 0.8)) || (status = choose(&w)) || (status = exchange_all(&w, shape->dtype)))
        return status;
    return give(&w);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "thinning", MERCER_VERSION,
              "rows left after repeated halving by a balancing walk (kernel thinning)",
              "Dwivedi & Mackey, Kernel thinning, JMLR 25 (2024)", rows, thinning, ops)
