/* kmeans.c - centroids of k-means: new points, each with the weight of its cluster
 *
 * Lloyd's iteration (IEEE Trans. IT 28, 1982) starts from k-means++ (Arthur & Vassilvitskii, SODA
 * 2007: each seed is a row drawn with probability proportional to its weight times its squared
 * distance to the nearest seed before it) or from the caller's landmarks. A row belongs to the
 * centre of least sum (x - c)^2, which is computed in this form in double; ties go to the lowest
 * index. Every iteration moves the centres to the weighted means of their rows and assigns the rows
 * again, until the assignment repeats. An empty cluster keeps its centre and is dropped at the end.
 * If fewer than m rows are distinct, there are fewer seeds.
 *
 * Distances that cannot change the assignment are not computed. (1) For each row,
 * above >= |x - c_own| and below <= |x - c| for all other centres are kept, and are adjusted by the
 * steps of the centres (Hamerly, SDM 2010): if above < below, the row stays in its cluster. (2) The
 * other rows are processed cluster by cluster: only centres within a distance of 2 above from the
 * own centre can be nearer. (3) The distances to these centres come from a matrix product, |x|^2 -
 * 2 x.c + |c|^2 on rows less their mean, with an error of at most tau = 4 (d + 8) e (|x| + |c|)^2,
 * e = DBL_EPSILON. Centres whose distance is within tau of the best one are compared by the sum
 * above. Bounds are widened by their own rounding, so the result is the same as if all distances
 * were computed by the sum.
 *
 * Cost: at most n m d multiply-adds per iteration. Memory: 32 n bytes, and up to 128 MiB for the
 * rows as doubles. If the rows take more, they are read again in each iteration, and the seeds are
 * drawn from an evenly spread sample that fits. Error: the reported inertia = sum w |x - c|^2,
 * whose expectation over seeds is at most 8 (log m + 2) times the smallest possible inertia.
 */
#include <math.h>
#include <mercer/plugin.h>
#include <string.h>

typedef struct kmeans {
    int64_t m, iterations;
    int32_t start;
} kmeans;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(kmeans, m, "0", "", MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,
                     "number of clusters; 0: min(n, 1000), or the number of landmarks to start from"),
    MERCER_PARAM_INT(kmeans, iterations, "100", "", 0, 0, 9e15, "largest number of iterations of Lloyd's algorithm"),
    MERCER_PARAM_CHOICE(kmeans, start, "plusplus", "plusplus|landmarks", "", 0,
                        "first centres: drawn by k-means++, or the landmarks attached to the data"),
};

enum { LANDMARKS = 1 };
/* CHUNK: rows that a thread processes at a time. GROUP: most rows of a search. PANEL: centres that
 * a search compares at a time. SLOTS: most searches that run at the same time. */
enum { CHUNK = 1024, GROUP = 64, PANEL = 128, SLOTS = 16 };
/* Most bytes of rows that are held in memory. */
static const int64_t held_bytes = (int64_t)128 << 20;

typedef struct job { /* one search: for rows order[from] ... order[to - 1], all of one cluster */
    int64_t cluster, from, to;
} job;

/* Memory of one search. x, panel: GROUP rows and PANEL centres, both less the mean; dots: their
 * products; gap: for each centre, a lower bound of its distance from the centre of the cluster that
 * is searched; near: the centres that may be nearer to one of its rows than that centre. */
typedef struct slot {
    double *x, *panel, *dots, *gap;
    int64_t *near;
} slot;

typedef struct work {
    const mercer_host *host;
    mercer_task *task;
    int64_t n, d, m, held;
    int64_t first, count; /* x holds `count` rows of the data from row `first` on */
    double *x;            /* held x d, row-major */
    /* index: the rows in x; order: rows to be searched, sorted by cluster (held each) */
    int64_t *index, *order;
    /* weight: sample weights; above, below: the two bounds in the head of this file (n each) */
    double *weight, *above, *below;
    int64_t *own; /* n: cluster of each row */
    /* centre: the centres; sum: weighted sums of their rows (m x d each) */
    double *centre, *sum;
    double *origin; /* d: mean of the rows */
    /* moved: length of the last step; mass: weight of the cluster; apart: squared distance from the
     * newest seed (m each) */
    double *moved, *mass, *apart;
    /* dirty: 1 if rows of the cluster have changed (m); begin: where its rows begin in `order` */
    int64_t *dirty, *begin;
    double *totals; /* for each chunk: sum of weight times squared distance */
    void *typed;    /* m x d: the centres in the tile's type */
    job *jobs;
    slot slots[SLOTS];
    double most, second; /* largest and second largest step of a centre */
    int64_t furthest;    /* cluster with the largest step */
    double norm;         /* largest |centre - mean| */
    double sure;         /* 1 + several times the relative error of a computed distance */
} work;

static void *part(char *base, int64_t *used, int64_t bytes) {
    char *out = base ? base + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return out;
}

/* Lays the arrays out from `base` on, and returns their bytes. If base is NULL, only counts the
 * bytes. */
static int64_t lay(work *w, char *base) {
    const int64_t d = w->d, m = w->m, n = w->n, row = 8 * (d > 0 ? d : 1);
    int64_t used = 0;
    w->held = held_bytes / row < CHUNK ? CHUNK : held_bytes / row;
    if (w->held > n) w->held = n;
    const int64_t jobs = w->held / GROUP + m + 1;
    w->x = part(base, &used, row * w->held);
    w->index = part(base, &used, 8 * w->held);
    w->order = part(base, &used, 8 * w->held);
    w->weight = part(base, &used, 8 * n);
    w->above = part(base, &used, 8 * n);
    w->below = part(base, &used, 8 * n);
    w->own = part(base, &used, 8 * n);
    w->centre = part(base, &used, row * m);
    w->sum = part(base, &used, row * m);
    w->typed = part(base, &used, row * m);
    w->origin = part(base, &used, row);
    w->moved = part(base, &used, 8 * m);
    w->mass = part(base, &used, 8 * m);
    w->apart = part(base, &used, 8 * m);
    w->dirty = part(base, &used, 8 * m);
    w->begin = part(base, &used, 8 * (m + 1));
    w->totals = part(base, &used, 8 * (w->held / CHUNK + 1));
    w->jobs = part(base, &used, jobs * (int64_t)sizeof *w->jobs);
    for (int k = 0; k < SLOTS; k++) {
        slot *s = &w->slots[k];
        s->x = part(base, &used, row * GROUP);
        s->panel = part(base, &used, row * PANEL);
        s->dots = part(base, &used, 8 * GROUP * PANEL);
        s->gap = part(base, &used, 8 * m);
        s->near = part(base, &used, 8 * m);
    }
    return used;
}

static int64_t chunks_of(int64_t count) { return (count + CHUNK - 1) / CHUNK; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static double squared(const double *x, const double *y, int64_t d) {
    double lane[4] = {0, 0, 0, 0}, rest = 0;
    int64_t k = 0;
    for (; k + 4 <= d; k += 4)
        for (int64_t l = 0; l < 4; l++) {
            const double e = x[k + l] - y[k + l];
            lane[l] += e * e;
        }
    for (; k < d; k++) rest += (x[k] - y[k]) * (x[k] - y[k]);
    return (lane[0] + lane[1]) + (lane[2] + lane[3]) + rest;
}

/* Reads rows of the data into x, from row `first` on. */
static int32_t load(work *w, int64_t first) {
    if (w->count > 0 && w->first == first) return MERCER_OK;
    w->first = first;
    w->count = least(w->held, w->n - first);
    for (int64_t i = 0; i < w->count; i++) w->index[i] = first + i;
    return w->host->rows(w->task, w->index, w->count, w->x);
}

/* ---- k-means++ (in this part, above holds squared distances; below is a bound as elsewhere) */

typedef struct seeding {
    work *w;
    int64_t newest;
} seeding;

static int32_t meet_seed(void *user, int64_t chunk) {
    const seeding *s = user;
    work *w = s->w;
    const double *seed = w->centre + s->newest * w->d;
    double total = 0;
    for (int64_t i = chunk * CHUNK; i < least(w->count, (chunk + 1) * CHUNK); i++) {
        const double apart = w->apart[w->own[i]], reach = 4 * w->above[i] * w->sure;
        /* If the new seed is at least 2 |x - c| away from the seed c of row x, then |x - seed| >=
         * |c - seed| - |x - c| >= |c - seed| / 2 >= |x - c|: it is no nearer to x than c is. */
        if (s->newest > 0 && apart >= reach) {
            const double half = 0.5 * sqrt(apart) / w->sure;
            if (half < w->below[i]) w->below[i] = half;
        } else {
            const double e = squared(w->x + i * w->d, seed, w->d);
            const int nearer = s->newest == 0 || e < w->above[i];
            const double other = sqrt(nearer ? w->above[i] : e) / w->sure;
            if (s->newest > 0 && other < w->below[i]) w->below[i] = other;
            if (nearer) w->above[i] = e, w->own[i] = s->newest;
        }
        total += w->weight[w->index[i]] * w->above[i];
    }
    w->totals[chunk] = total;
    return MERCER_OK;
}

/* Draws a row with probability proportional to weight times above. Returns -1 if this product is 0
 * for all rows. */
static int64_t draw(const work *w, int64_t step) {
    double total = 0, sum = 0;
    int64_t chunk = 0, row = -1;
    for (int64_t c = 0; c < chunks_of(w->count); c++) total += w->totals[c];
    if (!(total > 0)) return -1;
    const double target = w->host->uniform(w->task, step, 0) * total;
    for (int64_t c = 0; c < chunks_of(w->count); c++) {
        if (w->totals[c] > 0 && sum > target) break;
        if (w->totals[c] > 0) chunk = c;
        if (sum + w->totals[c] > target) break;
        sum += w->totals[c];
    }
    for (int64_t i = chunk * CHUNK; i < least(w->count, (chunk + 1) * CHUNK); i++) {
        const double step_up = w->weight[w->index[i]] * w->above[i];
        if (step_up > 0 && (row < 0 || sum <= target)) row = i;
        sum += step_up;
    }
    return row;
}

/* Loads the rows that seeds are drawn from: all of them, or one at random from each of `held` equal
 * parts of the data. */
static int32_t load_sample(work *w) {
    if (w->held == w->n) return load(w, 0);
    const double stretch = (double)w->n / (double)w->held;
    for (int64_t k = 0; k < w->held; k++)
        w->index[k] = least(w->n - 1, (int64_t)(((double)k + w->host->uniform(w->task, k, 1)) * stretch));
    w->count = w->held;
    return w->host->rows(w->task, w->index, w->held, w->x);
}

static int32_t plusplus(work *w) {
    int32_t status = load_sample(w);
    if (status) return status;
    for (int64_t c = 0; c < chunks_of(w->count); c++) w->totals[c] = 0;
    for (int64_t i = 0; i < w->count; i++) {
        w->above[i] = 1;
        w->below[i] = INFINITY;
        w->totals[i / CHUNK] += w->weight[w->index[i]];
    }
    for (int64_t k = 0; k < w->m; k++) {
        const int64_t row = draw(w, k);
        if (row < 0) w->m = k; /* all other rows equal seeds */
        if (row < 0) break;
        double *seed = memcpy(w->centre + k * w->d, w->x + row * w->d, (size_t)(8 * w->d));
        for (int64_t j = 0; j < k; j++) w->apart[j] = squared(seed, w->centre + j * w->d, w->d);
        seeding step = {w, k};
        if ((status = w->host->progress(w->task, 0.5 * (double)k / (double)w->m)) ||
            (status = w->host->parallel(w->task, chunks_of(w->count), meet_seed, &step)))
            return status;
    }
    for (int64_t i = 0; i < w->n; i++) w->above[i] = w->held == w->n ? sqrt(w->above[i]) * w->sure : INFINITY;
    if (w->held < w->n) { /* the bounds and clusters found are those of the sample, not of the data */
        w->count = 0;
        memset(w->own, 0, (size_t)(8 * w->n));
        memset(w->below, 0, (size_t)(8 * w->n));
    }
    return MERCER_OK;
}

static int32_t from_landmarks(work *w, int32_t dtype) {
    const int64_t *index = NULL;
    const void *points = NULL;
    int32_t status = w->host->landmarks(w->task, &index, &points);
    for (int64_t i = 0; i < w->n; i++) w->above[i] = INFINITY;
    if (status || index) return status ? status : w->host->rows(w->task, index, w->m, w->centre);
    for (int64_t k = 0; k < w->m * w->d; k++)
        w->centre[k] = dtype == MERCER_F32 ? (double)((const float *)points)[k] : ((const double *)points)[k];
    return MERCER_OK;
}

/* ---- assignment */

/* Adjusts the bounds of the rows of a chunk to the last step of the centres. */
static int32_t move_bounds(void *user, int64_t chunk) {
    work *w = user;
    for (int64_t k = chunk * CHUNK; k < least(w->count, (chunk + 1) * CHUNK); k++) {
        const int64_t i = w->first + k, a = w->own[i];
        const double other = a == w->furthest ? w->second : w->most;
        w->above[i] = (w->above[i] + w->moved[a]) * (1 + 4 * DBL_EPSILON);
        w->below[i] = w->below[i] * (1 - 4 * DBL_EPSILON) - other * (1 + 8 * DBL_EPSILON);
    }
    return MERCER_OK;
}

static int stays(const work *w, double above, double below) { return above * w->sure < below; }

/* The state of a search for the nearest centre of one row. */
typedef struct found {
    int64_t row, cluster;
    double best;      /* squared distance to `cluster`, the nearest so far */
    double far;       /* lower bound of the squared distances to all other centres */
    double size, tau; /* size: |x|^2, x less the mean; tau: error bound of a squared distance by products */
} found;

/* Computes the distances of the rows of a job to their centre. Collects in `out` the rows that may
 * still leave the cluster, and returns their number. *reach: the largest distance of a collected
 * row. apart: the distance from the centre to the nearest other one. */
static int64_t gather(work *w, const job *j, slot *s, double apart, found *out, double *reach) {
    const double *centre = w->centre + j->cluster * w->d;
    int64_t count = 0;
    *reach = 0;
    for (int64_t k = j->from; k < j->to; k++) {
        const int64_t i = w->order[k];
        const double *x = w->x + (i - w->first) * w->d, best = squared(x, centre, w->d), above = sqrt(best) * w->sure;
        w->above[i] = above;
        w->below[i] = fmax(w->below[i], (apart - above) / w->sure);
        if (stays(w, above, w->below[i])) continue;
        double size = 0, *to = s->x + count * w->d;
        for (int64_t c = 0; c < w->d; c++) {
            to[c] = x[c] - w->origin[c];
            size += to[c] * to[c];
        }
        const double length = sqrt(size) + w->norm;
        out[count++] =
            (found){i, j->cluster, best, INFINITY, size, 4 * ((double)w->d + 8) * DBL_EPSILON * length * length};
        if (above > *reach) *reach = above;
    }
    return count;
}

static void decide(const work *w, found *f, int64_t j) {
    const double e = squared(w->x + (f->row - w->first) * w->d, w->centre + j * w->d, w->d);
    const int nearer = e < f->best || (e == f->best && j < f->cluster);
    const double loser = nearer ? f->best : e;
    if (loser < f->far) f->far = loser;
    if (nearer) f->best = e, f->cluster = j;
}

/* Compares n rows with the centres near[0 ... count - 1]. half: |c|^2 / 2. */
static int32_t compare(work *w, slot *s, const int64_t *near, int64_t count, found *rows_found, int64_t n) {
    double half[PANEL];
    for (int64_t c = 0; c < count; c++) {
        const double *centre = w->centre + near[c] * w->d;
        double *to = s->panel + c * w->d, sum = 0;
        for (int64_t k = 0; k < w->d; k++) {
            to[k] = centre[k] - w->origin[k];
            sum += to[k] * to[k];
        }
        half[c] = sum / 2;
    }
    int32_t status =
        w->host->gemm(w->task, 'T', 'N', count, n, w->d, -1, s->panel, w->d, s->x, w->d, 0, s->dots, PANEL);
    if (status) return status;
    for (int64_t i = 0; i < n; i++) {
        found *f = rows_found + i;
        const double *dots = s->dots + i * PANEL, shift = f->size - f->tau;
        double limit = ((f->far > f->best ? f->far : f->best) - shift) / 2;
        for (int64_t c = 0; c < count; c++) {
            if (dots[c] + half[c] > limit) continue;
            const double low = shift + 2 * (dots[c] + half[c]); /* at most the squared distance */
            if (low <= f->best)
                decide(w, f, near[c]);
            else if (low < f->far)
                f->far = low;
            limit = ((f->far > f->best ? f->far : f->best) - shift) / 2;
        }
    }
    return MERCER_OK;
}

static int32_t search(work *w, const job *j, slot *s) {
    const double *centre = w->centre + j->cluster * w->d;
    double apart = INFINITY, out = INFINITY, reach;
    for (int64_t k = 0; k < w->m; k++) {
        s->gap[k] = k == j->cluster ? INFINITY : sqrt(squared(centre, w->centre + k * w->d, w->d)) / w->sure;
        if (s->gap[k] < apart) apart = s->gap[k];
    }
    found rows_found[GROUP];
    const int64_t n = gather(w, j, s, apart, rows_found, &reach);
    int64_t count = 0;
    for (int64_t k = 0; k < w->m; k++) {
        if (k == j->cluster) continue;
        if (s->gap[k] <= 2 * reach * w->sure)
            s->near[count++] = k;
        else if (s->gap[k] < out)
            out = s->gap[k];
    }
    for (int64_t i = 0; i < n && out < INFINITY; i++) {
        const double left = (out - w->above[rows_found[i].row]) / w->sure;
        rows_found[i].far = left * left; /* left > 0, because gap > 2 above[row] */
    }
    for (int64_t k = 0; k < count && n > 0; k += PANEL) {
        int32_t status = compare(w, s, s->near + k, least(PANEL, count - k), rows_found, n);
        if (status) return status;
    }
    for (int64_t i = 0; i < n; i++) {
        const found *f = rows_found + i;
        w->own[f->row] = f->cluster;
        w->above[f->row] = sqrt(f->best) * w->sure;
        w->below[f->row] = f->far > 0 ? sqrt(f->far) / w->sure : 0;
    }
    return MERCER_OK;
}

typedef struct searches {
    work *w;
    int64_t count;
} searches;

static int32_t search_some(void *user, int64_t k) {
    const searches *all = user;
    int32_t status = MERCER_OK;
    for (int64_t j = k; j < all->count && !status; j += SLOTS)
        status = search(all->w, all->w->jobs + j, &all->w->slots[k]);
    return status;
}

/* Finds the rows in x that may change their cluster, sorts them into groups by their present
 * cluster, and splits each group into jobs. Returns the number of jobs. */
static int64_t sort_out(work *w) {
    int64_t jobs = 0;
    memset(w->begin, 0, (size_t)(8 * (w->m + 1)));
    for (int64_t i = w->first; i < w->first + w->count; i++)
        if (!stays(w, w->above[i], w->below[i])) w->begin[w->own[i] + 1]++;
    for (int64_t j = 0; j < w->m; j++) w->begin[j + 1] += w->begin[j];
    for (int64_t i = w->first; i < w->first + w->count; i++)
        if (!stays(w, w->above[i], w->below[i])) w->order[w->begin[w->own[i]]++] = i;
    for (int64_t j = 0, from = 0; j < w->m; from = w->begin[j++]) /* begin[j] is now where cluster j ends */
        for (; from < w->begin[j]; from += GROUP) w->jobs[jobs++] = (job){j, from, least(from + GROUP, w->begin[j])};
    return jobs;
}

/* Assigns all rows to their nearest centres. *changed: how many rows have left their cluster. */
static int32_t assign(work *w, int64_t *changed) {
    *changed = 0;
    w->norm = 0;
    for (int64_t j = 0; j < w->m; j++) w->norm = fmax(w->norm, sqrt(squared(w->centre + j * w->d, w->origin, w->d)));
    for (int64_t first = 0; first < w->n; first += w->held) {
        int32_t status = load(w, first);
        if (status || (status = w->host->parallel(w->task, chunks_of(w->count), move_bounds, w))) return status;
        searches all = {w, sort_out(w)};
        if ((status = w->host->parallel(w->task, SLOTS, search_some, &all))) return status;
        for (int64_t k = 0; k < all.count; k++)
            for (int64_t at = w->jobs[k].from; at < w->jobs[k].to; at++) {
                const int64_t now = w->own[w->order[at]], before = w->jobs[k].cluster;
                if (now == before) continue;
                w->dirty[now] = w->dirty[before] = 1;
                ++*changed;
            }
    }
    return MERCER_OK;
}

/* ---- centres */

/* Adds up the rows and weights of the clusters whose rows have changed, in the order of the rows.
 * If inertia is not NULL, also adds up weight times squared distance of all rows. */
static int32_t add_up(work *w, double *inertia) {
    for (int64_t j = 0; j < w->m; j++)
        if (w->dirty[j]) {
            memset(w->sum + j * w->d, 0, (size_t)(8 * w->d));
            w->mass[j] = 0;
        }
    for (int64_t first = 0; first < w->n; first += w->held) {
        int32_t status = load(w, first);
        if (status) return status;
        for (int64_t i = first; i < first + w->count; i++) {
            const int64_t a = w->own[i];
            const double *x = w->x + (i - first) * w->d, weight = w->weight[i];
            if (inertia) *inertia += weight * squared(x, w->centre + a * w->d, w->d);
            if (!w->dirty[a] || !(weight > 0)) continue;
            for (int64_t k = 0; k < w->d; k++) w->sum[a * w->d + k] += weight * x[k];
            w->mass[a] += weight;
        }
    }
    return MERCER_OK;
}

static int32_t move_centres(work *w) {
    int32_t status = add_up(w, NULL);
    if (status) return status;
    w->most = w->second = 0;
    w->furthest = -1;
    for (int64_t j = 0; j < w->m; j++) {
        double *centre = w->centre + j * w->d, step = 0;
        w->moved[j] = 0;
        if (!w->dirty[j] || !(w->mass[j] > 0)) continue;
        for (int64_t k = 0; k < w->d; k++) {
            const double to = w->sum[j * w->d + k] / w->mass[j], by = to - centre[k];
            step += by * by;
            centre[k] = to;
        }
        w->moved[j] = step = sqrt(step) * w->sure;
        if (step > w->most) {
            w->second = w->most;
            w->most = step;
            w->furthest = j;
        } else if (step > w->second) {
            w->second = step;
        }
    }
    memset(w->dirty, 0, (size_t)(8 * w->m));
    return MERCER_OK;
}

static void find_origin(work *w) {
    double total = 0;
    memset(w->origin, 0, (size_t)(8 * w->d));
    for (int64_t i = 0; i < w->count; i++) {
        const double weight = w->weight[w->index[i]];
        total += weight;
        for (int64_t k = 0; k < w->d && weight > 0; k++)
            w->origin[k] += weight / total * (w->x[i * w->d + k] - w->origin[k]);
    }
}

/* ---- result */

/* Writes the assignment. number: for each cluster its number in the result, or -1 if it is left out
 * because all its rows have weight 0. Such rows are assigned to the nearest of the other centres. */
static int32_t find_homes(work *w, const int64_t *number, int64_t *assignment) {
    for (int64_t first = 0; first < w->n; first += w->held) {
        int32_t status = load(w, first);
        if (status) return status;
        for (int64_t i = first; i < first + w->count; i++) {
            double best = INFINITY;
            assignment[i] = number[w->own[i]];
            for (int64_t j = 0; j < w->m && number[w->own[i]] < 0; j++) {
                const double e =
                    number[j] < 0 ? INFINITY : squared(w->x + (i - first) * w->d, w->centre + j * w->d, w->d);
                if (e < best) best = e, assignment[i] = number[j];
            }
        }
    }
    return MERCER_OK;
}

static int32_t give(work *w, int32_t dtype, int64_t *assignment) {
    double inertia = 0;
    int64_t *number = w->begin, count = 0;
    for (int64_t j = 0; j < w->m; j++) w->dirty[j] = 1;
    int32_t status = add_up(w, &inertia);
    if (!status && !isfinite(inertia))
        status =
            w->host->fail(w->task, MERCER_E_DATA, "squared distances of these rows overflow float64: rescale the data");
    if (status || (status = w->host->report(w->task, "inertia", inertia))) return status;
    for (int64_t j = 0; j < w->m; j++) {
        number[j] = w->mass[j] > 0 ? count++ : -1;
        for (int64_t k = 0; k < w->d && number[j] >= 0; k++)
            if (dtype == MERCER_F32)
                ((float *)w->typed)[number[j] * w->d + k] = (float)w->centre[j * w->d + k];
            else
                ((double *)w->typed)[number[j] * w->d + k] = w->centre[j * w->d + k];
        if (number[j] >= 0) w->moved[number[j]] = w->mass[j];
    }
    if (assignment && (status = find_homes(w, number, assignment))) return status;
    return w->host->give(w->task, count, NULL, w->typed, w->moved);
}

static int32_t size(const mercer_host *host, mercer_task *task, const kmeans *p, const mercer_shape *shape,
                    int64_t *m) {
    if (p->m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)shape->n);
    *m = p->m > 0 ? p->m : least(shape->n, 1000);
    if (p->start != LANDMARKS) return MERCER_OK;
    if (shape->landmarks == 0)
        return host->fail(task, MERCER_E_VALUE,
                          "start = landmarks, but the data have none: attach row numbers or points as "
                          "\"landmarks\"");
    if (p->m > 0 && p->m != shape->landmarks)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must equal the number of landmarks to start from, %lld",
                          (long long)p->m, (long long)shape->landmarks);
    *m = shape->landmarks;
    return MERCER_OK;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const kmeans *p = params;
    int32_t status = size(host, task, p, shape, &out->m);
    if (status) return status;
    work w = {.n = shape->n, .d = shape->d, .m = out->m};
    out->bytes = lay(&w, NULL);
    out->kernel_evaluations = 0;
    out->flops = 3 * ((double)p->iterations + 1) * (double)shape->n * (double)out->m * (double)shape->d;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    const kmeans *p = params;
    work w = {.host = host, .task = task, .n = shape->n, .d = shape->d, .furthest = -1};
    int64_t changed = 1, done = 0;
    int32_t status = size(host, task, p, shape, &w.m);
    if (status) return status;
    char *memory = host->alloc(task, lay(&w, NULL));
    if (!memory) return MERCER_E_MEMORY;
    lay(&w, memory);
    w.sure = 1 + 4 * ((double)w.d + 8) * DBL_EPSILON;
    if ((status = host->weights(task, w.weight)) ||
        (status = p->start == LANDMARKS ? from_landmarks(&w, shape->dtype) : plusplus(&w)) ||
        (w.held < w.n || p->start == LANDMARKS ? (status = load(&w, 0)) : 0))
        return status;
    find_origin(&w);
    if ((p->start == LANDMARKS || w.held < w.n) && (status = assign(&w, &changed))) return status;
    for (int64_t j = 0; j < w.m; j++) w.dirty[j] = 1;
    for (changed = 1; done < p->iterations && changed > 0; done++)
        if ((status = host->progress(task, 0.5 + 0.5 * (double)done / (double)p->iterations)) ||
            (status = move_centres(&w)) || (status = assign(&w, &changed)))
            return status;
    status = host->report(task, "iterations", (double)done);
    return status ? status : give(&w, shape->dtype, want->assignment);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .flags = MERCER_NEEDS_VECTORS | MERCER_GIVES_POINTS | MERCER_GIVES_ASSIGNMENT,
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "kmeans", MERCER_VERSION,
              "centroids of k-means, weighted by the sizes of their clusters",
              "Lloyd, IEEE Trans. IT (1982); Arthur & Vassilvitskii, SODA (2007)", rows, kmeans, ops)
