/* reducer-lloyd.c - k-means++ and Lloyd's iteration: centroids as new points, cluster sizes as
 * weights
 *
 * The seeding and Lloyd's iteration share one consumer. The state of a slab of rows holds the sums
 * of the rows of every cluster and, behind them, the nearest point of each row. combine merges the
 * states into the arrays of `work`. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct kmeans {
    int64_t m, iterations;
} kmeans;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(kmeans, m, "10", "", MERCER_SHORT | MERCER_CENTRES, 1, 9e15, "number of clusters"),
    MERCER_PARAM_INT(kmeans, iterations, "100", "", 0, 1, 9e15, "largest number of iterations of Lloyd's algorithm"),
};

typedef struct work {
    int64_t n, d, m;
    int64_t first;    /* index of the first point of the current visit */
    int32_t summing;  /* 0: seeding; 1: all points are visited, and states hold sums */
    int64_t *nearest; /* n: index of the nearest point of each row */
    double *distance; /* n: squared distance of each row from that point */
    double *weight;   /* n: weight of each row */
    double *sums;     /* m x (d + 1): for each cluster the sums of its rows and of their weights */
} work;

/* The nearest point of a row so far, as a state holds it. All bytes are 0 if there is none yet. */
typedef struct found {
    double distance;
    int64_t nearest; /* index among the points visited, counted from 1; 0: none */
} found;

/* The number of doubles in the sums of a state: none while seeding. */
static int64_t sums_of(const work *w) { return w->summing ? w->m * (w->d + 1) : 0; }

static int32_t see(void *user, void *state, const mercer_tile *tile) {
    const work *w = user;
    double *sums = state;
    found *best = (found *)(sums + sums_of(w));
    for (int64_t i = 0; i < tile->rows; i++) {
        for (int64_t j = 0; j < tile->cols; j++) {
            double distance = mercer_value(tile->dtype, tile->values, i * tile->stride + j);
            if (!best[i].nearest || distance < best[i].distance) best[i] = (found){distance, tile->col0 + j + 1};
        }
        /* Seeding needs no sums; otherwise a row is added once it has been compared with all
         * points. */
        if (!w->summing || tile->col0 + tile->cols < w->m) continue;
        double *sum = sums + (best[i].nearest - 1) * (w->d + 1), weight = w->weight[tile->row0 + i];
        for (int64_t c = 0; c < w->d; c++) sum[c] += weight * mercer_value(tile->dtype, tile->x, i * w->d + c);
        sum[w->d] += weight;
    }
    return MERCER_OK;
}

static int32_t combine(void *user, void *state, int64_t row0, int64_t count) {
    work *w = user;
    const double *sums = state;
    const found *best = (const found *)(sums + sums_of(w));
    for (int64_t k = 0; k < sums_of(w); k++) w->sums[k] += sums[k];
    for (int64_t i = 0; i < count; i++)
        if (best[i].distance < w->distance[row0 + i]) {
            w->distance[row0 + i] = best[i].distance;
            w->nearest[row0 + i] = w->first + best[i].nearest - 1;
        }
    return MERCER_OK;
}

/* k-means++: chooses each next row with a probability proportional to its weight times its squared
 * distance from the rows chosen before. */
static int32_t seed(const mercer_host *host, mercer_task *task, work *w, int64_t *chosen) {
    mercer_consumer consumer = {
        .struct_size = sizeof consumer, .row_size = sizeof(found), .user = w, .tile = see, .combine = combine};
    for (w->first = 0; w->first < w->m; w->first++) {
        double total = 0, sum = 0;
        for (int64_t i = 0; i < w->n; i++) total += w->weight[i] * (w->first ? w->distance[i] : 1);
        double target = host->uniform(task, w->first, 0) * total;
        int64_t row = 0;
        for (int64_t i = 0; i < w->n; i++) {
            double step = w->weight[i] * (w->first ? w->distance[i] : 1);
            if (step > 0 && sum <= target) row = i;
            sum += step;
        }
        mercer_visit visit = {
            .struct_size = sizeof visit, .rows = w->n, .index = &row, .count = 1, .measure = MERCER_SQDIST};
        chosen[w->first] = row;
        int32_t status = host->visit(task, &visit, &consumer);
        if (status) return status;
    }
    w->first = 0;
    w->summing = 1;
    return MERCER_OK;
}

/* Finds the nearest point of every row, and the sums over the rows of every cluster. */
static int32_t assign(const mercer_host *host, mercer_task *task, work *w, int32_t dtype, const double *points,
                      void *typed) {
    mercer_consumer consumer = {.struct_size = sizeof consumer,
                                .state_size = 8 * sums_of(w),
                                .row_size = sizeof(found),
                                .user = w,
                                .tile = see,
                                .combine = combine};
    mercer_visit visit = {
        .struct_size = sizeof visit, .rows = w->n, .points = typed, .count = w->m, .measure = MERCER_SQDIST};
    for (int64_t k = 0; k < w->m * w->d; k++)
        if (dtype == MERCER_F32)
            ((float *)typed)[k] = (float)points[k];
        else
            ((double *)typed)[k] = points[k];
    for (int64_t k = 0; k < w->m * (w->d + 1); k++) w->sums[k] = 0;
    for (int64_t i = 0; i < w->n; i++) w->distance[i] = INFINITY;
    return host->visit(task, &visit, &consumer);
}

/* Gives the clusters that are not empty: their centroids (in `typed`), weights and assignment. */
static int32_t give(const mercer_host *host, mercer_task *task, const work *w, int32_t dtype, void *typed,
                    int64_t *assignment) {
    double *weights = host->alloc(task, 8 * w->m);
    int64_t *number = host->alloc(task, 8 * w->m), count = 0;
    if (!weights || !number) return MERCER_E_MEMORY;
    for (int64_t j = 0; j < w->m; j++) {
        const double *sum = w->sums + j * (w->d + 1);
        if (!(sum[w->d] > 0)) continue;
        for (int64_t c = 0; c < w->d; c++)
            if (dtype == MERCER_F32)
                ((float *)typed)[count * w->d + c] = (float)(sum[c] / sum[w->d]);
            else
                ((double *)typed)[count * w->d + c] = sum[c] / sum[w->d];
        weights[count] = sum[w->d];
        number[j] = count++;
    }
    /* A cluster whose rows all have weight 0 is not given; its rows may be assigned to any other. */
    for (int64_t i = 0; assignment && i < w->n; i++) assignment[i] = number[w->nearest[i]];
    return host->give(task, count, NULL, typed, weights);
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const kmeans *p = params;
    if (p->m > shape->n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)shape->n);
    out->m = p->m;
    out->bytes = 8 * (4 * shape->n + p->m * (3 * shape->d + 5));
    out->kernel_evaluations = 0;
    out->flops = 2. * (double)p->iterations * (double)shape->n * (double)p->m * (double)shape->d;
    return MERCER_OK;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    const kmeans *p = params;
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    work w = {.n = shape->n, .d = shape->d, .m = p->m};
    int64_t *chosen = host->alloc(task, 8 * w.m), *before = host->alloc(task, 8 * w.n);
    double *points = host->alloc(task, 8 * w.m * w.d), *typed = host->alloc(task, 8 * w.m * w.d);
    w.nearest = host->alloc(task, 8 * w.n);
    w.distance = host->alloc(task, 8 * w.n);
    w.weight = host->alloc(task, 8 * w.n);
    w.sums = host->alloc(task, 8 * w.m * (w.d + 1));
    if (!chosen || !before || !points || !typed || !w.nearest || !w.distance || !w.weight || !w.sums)
        return MERCER_E_MEMORY;
    for (int64_t i = 0; i < w.n; i++) w.distance[i] = INFINITY;
    if ((status = host->weights(task, w.weight)) || (status = seed(host, task, &w, chosen)) ||
        (status = host->rows(task, chosen, w.m, points)))
        return status;
    for (int64_t t = 0, moved = 1; t < p->iterations && moved; t++) {
        if ((status = host->progress(task, (double)t / (double)p->iterations)) ||
            (status = assign(host, task, &w, shape->dtype, points, typed)))
            return status;
        moved = t == 0;
        for (int64_t i = 0; i < w.n; i++) {
            moved |= before[i] != w.nearest[i];
            before[i] = w.nearest[i];
        }
        for (int64_t j = 0; j < w.m; j++) /* the point of an empty cluster stays where it is */
            for (int64_t c = 0; c < w.d && w.sums[j * (w.d + 1) + w.d] > 0; c++)
                points[j * w.d + c] = w.sums[j * (w.d + 1) + c] / w.sums[j * (w.d + 1) + w.d];
    }
    return give(host, task, &w, shape->dtype, typed, want ? want->assignment : NULL);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .flags = MERCER_NEEDS_VECTORS | MERCER_GIVES_POINTS | MERCER_GIVES_ASSIGNMENT,
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "lloyd", MERCER_VERSION, "centroids of k-means",
              "Arthur & Vassilvitskii, SODA (2007)", rows, kmeans, ops)
