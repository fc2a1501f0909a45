/* shadow.c - shadow density estimate: the rows that no earlier centre covers, and what each of them
 * covers
 *
 * This is the reduced set of reduced-set kernel PCA (Algorithm 2), by leader clustering: the rows
 * are visited in their order. Row x joins the earliest centre c with
 * sum_k (x_k - c_k)^2 < epsilon^2, summed in double in the order of the columns; if there is none,
 * x becomes a centre. The weight of a centre is the sum of the sample weights of the rows that it
 * covers. Rows of weight 0 take no part in this; if an assignment is requested, it assigns them to
 * their nearest centre. With epsilon^2 = 0 every row is a centre, also a duplicate; with an
 * infinite epsilon only the first row is. assign = nearest assigns rows to their nearest centre
 * instead, ties to the earliest: the centres are the same, distances smaller.
 *
 * The radius epsilon comes from one of four parameters. epsilon gives it; ell makes it h / ell with
 * the kernel's scale h; similarity makes it the distance with f(epsilon) = similarity f(0), where f
 * is the kernel as a function of distance. If m is given, the epsilon that gives m centres is
 * sought: a first guess from a sample, then interpolation of log m against log epsilon, in
 * at most 8 passes, of which the result nearest to m is taken. The search can give at most as many
 * centres as there are distinct rows; m = n takes all rows.
 *
 * Rows are processed in blocks, which does not change the result, with x' = (x - mean) / epsilon in
 * f32. First, strips of the block are compared with the centres of earlier blocks, some at a time;
 * rows that one of them covers leave the strip, because an earlier centre takes precedence over a
 * later one. The rows left over are compared with each other, then visited in order.
 *
 * The comparison in f32 only selects candidates. x is covered if
 * x'.c' - |c'|^2/2 > t = (|x'|^2 - 1)/2. With u = 2^-24 and N = |x'| + |c'| + 1 the two sides err
 * by at most u N^2 (d/2 + 4): products and their sums (d + 2) u N^2 / 2 (Higham, lemma 3.1, any
 * order), rounded coordinates u N |x' - c'| <= u N^2, t and -|c'|^2/2 in f32 u N^2. Twice that is
 * at most g ((|x'| + 1)^2 + |c'|^2), g = 2 (d + 8) u. So g (|x'| + 1)^2 is subtracted from t, and g
 * |c'|^2 is added on the left: then no covered pair is missed, and values that may overflow always
 * count as candidates. Candidates are decided by the sum in double, the earliest first, so that the
 * centres are those of the plain loop, to the bit.
 *
 * Cost: 2 d flops of f32 per pair, for somewhat more pairs than the plain loop visits (report:
 * pairs), at most n m; memory 12 m d bytes and a block of rows. Error: every row is nearer than
 * epsilon to its centre, and centres are at least that far apart; in feature space
 * |phi(x) - phi(c)|^2 < 2 (f(0) - f(epsilon)).
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>
#include <string.h>

typedef struct shadow {
    double ell, epsilon, similarity;
    int64_t m;
    int32_t assign, shuffle;
} shadow;

enum { EARLIEST, NEAREST }; /* choices of the parameter assign */

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(shadow, ell, "", "radius", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "epsilon = h / ell, where h is the length scale of a radial kernel; 4 if neither epsilon, "
                      "similarity nor m is set"),
    MERCER_PARAM_REAL(shadow, epsilon, "", "radius", MERCER_HI_OPEN, 0, INFINITY,
                      "radius: a centre covers all rows nearer than this"),
    MERCER_PARAM_REAL(shadow, similarity, "", "radius", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, 1,
                      "epsilon = the distance at which a radial kernel falls to this share of k(x, x)"),
    MERCER_PARAM_INT(shadow, m, "", "radius", MERCER_SHORT | MERCER_CENTRES, 1, 9e15,
                     "search for the epsilon that gives about this many centres, in at most 8 passes"),
    MERCER_PARAM_CHOICE(shadow, assign, "earliest", "earliest|nearest", "", 0,
                        "assign rows to the earliest centre that covers them, or to the nearest"),
    MERCER_PARAM_BOOL(shadow, shuffle, "false", "", 0, "visit the rows in a random order, drawn from the seed"),
};

enum {
    CHUNK = 128,   /* centres compared at once, a multiple of 64 */
    STRIPS = 16,   /* upper limit on the strips of a block; a strip has at least CHUNK rows */
    FIRST = 32,    /* the first CHUNK centres are compared this many at once */
    OPEN = 512,    /* upper limit on the left-over rows of a block, and on the rows of a sample */
    WIDEST = 8192, /* upper limit on the rows of a block */
    WORDS = CHUNK / 64,
    PASSES = 8,
    SLACK = 64 /* while m is sought, a pass is given up beyond 2 m + SLACK centres at the latest */
};

/* ---- sizes, the same for a forecast and a run -------------------------------------------------------------------- */

typedef struct sizes {
    /* n: rows; chunk: centres that a chunk holds, CHUNK or fewer if there is only one chunk; open:
     * upper limit on the rows of a block that are left over; block: upper limit on its rows */
    int64_t n, d, chunk, open, block;
    /* chunks: upper limit on their number; panel: columns of the panel of left-over rows, padded;
     * found: length of leaders.found, in words of 64 bits */
    int64_t chunks, panel, found;
} sizes;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t wanted(const shadow *p) { return p->m == INT64_MIN ? 0 : p->m; }
static int64_t most_centres(const shadow *p, int64_t n) {
    return wanted(p) > 0 && wanted(p) < (n - SLACK) / 2 ? 2 * wanted(p) + SLACK : n;
}

static sizes sizes_of(const shadow *p, const mercer_shape *shape, int64_t m) {
    sizes s = {.n = shape->n, .d = shape->d};
    const int64_t wide = most(s.d, 1);
    s.chunk = least(CHUNK, (s.n + 31) / 32 * 32);
    s.open = least(s.n, most(CHUNK / 2, least(OPEN, ((int64_t)1 << 22) / wide)));
    s.block = least(s.n, most(s.open, least(WIDEST, ((int64_t)1 << 19) / wide)));
    /* A pass that is given up finishes its block, so it may exceed m by the rows left over. */
    s.chunks = (least(m + (wanted(p) > 0 ? s.open : 0), s.n) + s.chunk - 1) / s.chunk;
    s.panel = (s.open + 31) / 32 * 32;
    s.found = most(s.block * WORDS, s.open * ((s.open + 63) / 64));
    return s;
}

typedef struct chunk { /* centres, in the order of their creation */
    int64_t count, row[CHUNK];
    double weight[CHUNK];
    double *x;            /* chunk x d, row-major */
    float *scaled, *half; /* scaled: c' (d x chunk); half: (g - 1/2) |c'|^2 */
} chunk;

/* Returns the bytes that are allocated for at most m centres. */
static int64_t bytes_of(const shadow *p, const mercer_shape *shape, int64_t m) {
    const sizes s = sizes_of(p, shape, m);
    const int64_t held = s.chunks * (8 + (int64_t)sizeof(chunk) + s.chunk * (12 * s.d + 4)),
                  block =
                      s.block * (12 * s.d + 28) + 8 * s.found + 4 * s.panel * (s.d + 1) + 16 * STRIPS + s.open / 8 + 8;
    return held + block + 8 * s.d + 16 * s.n + (wanted(p) > 0 ? 8 * s.open * s.open : 0) + 16 * m;
}

/* ---- one pass over the rows -------------------------------------------------------------------------------------- */

typedef struct leaders {
    const mercer_host *host;
    mercer_task *task;
    sizes size;
    const double *weight; /* n: sample weights */
    int64_t *order;       /* rows of positive weight, in the order in which they are visited */
    int64_t count;
    int64_t *assignment; /* n, or NULL if it is not requested */
    double *mean;
    double epsilon, square;
    chunk **chunks;
    int64_t held, m;
    double pairs;
    /* The block. rows: its rows; strip: rows of a strip. For each row: x; norm: |x'|^2; scaled: x';
     * level: t - g (|x'| + 1)^2; centre: -1 if there is none yet. */
    int64_t rows, strip;
    double *x, *norm;
    float *scaled, *level;
    int64_t *centre;
    /* left: how many rows each strip has left (later left[0]: all strips together); open: which
     * rows of the block these are; seen: the pairs that each strip compared. */
    int64_t *left, *open, *seen;
    /* Sets of bits. found: for each row that is compared, the centres or rows that may cover it;
     * born: the left-over rows that became centres. */
    uint64_t *found, *born;
    float *panel, *half; /* the rows left over, laid out as `scaled` and `half` of a chunk */
} leaders;

/* Computes sum (x_k - c_k)^2 in eight partial sums, which compilers vectorise. */
static double quick_square(int64_t d, const double *x, const double *c) {
    double part[8] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + 8 <= d; k += 8)
        for (int64_t l = 0; l < 8; l++) part[l] += (x[k + l] - c[k + l]) * (x[k + l] - c[k + l]);
    for (; k < d; k++) part[0] += (x[k] - c[k]) * (x[k] - c[k]);
    for (int64_t l = 0; l < 8; l++) sum += part[l];
    return sum;
}

/* Returns whether sum (x_k - c_k)^2 < square, summed in order. That sum differs from the quick one
 * by less than (2 d + 16) 2^-53 of it, unless squares underflow, so it is only needed near
 * `square`. */
static int covers(int64_t d, const double *x, const double *c, double square) {
    double sum = quick_square(d, x, c);
    if (sum > 1e-280 && fabs(sum - square) > (double)(2 * d + 16) * DBL_EPSILON * sum) return sum < square;
    sum = 0;
    for (int64_t k = 0; k < d; k++) sum += (x[k] - c[k]) * (x[k] - c[k]);
    return sum < square;
}

/* Compute (g - 1/2) |c'|^2 and t - g (|x'| + 1)^2 from norm = |c'|^2 or |x'|^2. If these may
 * overflow, the infinite values make every pair a candidate. */
static float half_of(const leaders *l, double norm) {
    return norm < 1e36 ? (float)(((double)(l->size.d + 8) * 0x1p-23 - 0.5) * norm) : INFINITY;
}
static float level_of(const leaders *l, double norm) {
    const double length = sqrt(norm) + 1;
    return norm < 1e36 ? (float)((norm - 1) / 2 - (double)(l->size.d + 8) * 0x1p-23 * length * length) : -INFINITY;
}

/* Returns the first of the candidates `found` that covers x, or -1. */
static int64_t first_of(const leaders *l, const double *x, const double *centres, const uint64_t *found,
                        int64_t words) {
    for (int64_t w = 0; w < words; w++)
        for (uint64_t bits = found[w]; bits; bits &= bits - 1) {
            const int64_t k = 64 * w + __builtin_ctzll(bits);
            if (covers(l->size.d, x, centres + k * l->size.d, l->square)) return k;
        }
    return -1;
}

static void scale_strip(leaders *l, int64_t first, int64_t rows_of) {
    const int64_t d = l->size.d;
    const double scale = l->square <= DBL_MAX ? 1 / l->epsilon : 0;
    for (int64_t row = first; row < first + rows_of; row++) {
        float *to = l->scaled + row * d;
        const double *x = l->x + row * d;
        double part[4] = {0};
        int64_t k = 0;
        for (; k + 4 <= d; k += 4)
            for (int64_t j = 0; j < 4; j++) {
                to[k + j] = (float)((x[k + j] - l->mean[k + j]) * scale);
                part[j] += (double)to[k + j] * to[k + j];
            }
        for (; k < d; k++) to[k] = (float)((x[k] - l->mean[k]) * scale), part[0] += (double)to[k] * to[k];
        l->norm[row] = part[0] + part[1] + part[2] + part[3];
        l->level[row] = level_of(l, l->norm[row]);
        l->open[row] = row;
        l->centre[row] = -1;
    }
}

/* Compares a strip of the block with all centres of earlier blocks: at first few at a time, because
 * the first centres cover most rows. */
static int32_t scan_strip(void *user, int64_t strip) {
    leaders *l = user;
    const int64_t first = strip * l->strip, d = l->size.d;
    int64_t left = least(l->strip, l->rows - first), width = 0, *open = l->open + first;
    uint64_t *found = l->found + first * WORDS;
    scale_strip(l, first, left);
    l->seen[strip] = 0;
    for (int64_t at = 0; at < l->m && left > 0; at += width) {
        const chunk *c = l->chunks[at / CHUNK];
        const int64_t from = at % CHUNK;
        int64_t kept = 0;
        width = least(at < CHUNK ? FIRST : CHUNK, c->count - from);
        l->host->reach(left, open, d, l->scaled, l->level, width, c->scaled + from, l->size.chunk, c->half + from,
                       found, WORDS);
        l->seen[strip] += left * width;
        for (int64_t i = 0; i < left; i++) {
            const int64_t row = open[i],
                          k = first_of(l, l->x + row * d, c->x + from * d, found + i * WORDS, (width + 63) / 64);
            if (k >= 0)
                l->centre[row] = at + k;
            else
                open[kept++] = row;
        }
        left = kept;
    }
    l->left[strip] = left;
    return MERCER_OK;
}

/* Moves the rows left over by the strips to the front of `open`. If there are more than size.open,
 * the block ends before the first that does not fit. */
static int64_t gather(leaders *l) {
    int64_t count = 0;
    for (int64_t first = 0, strip = 0; first < l->rows; first += l->strip, strip++)
        for (int64_t i = first; i < first + l->left[strip]; i++) {
            if (count == l->size.open) {
                l->rows = l->open[i];
                return count;
            }
            const int64_t row = l->open[i];
            for (int64_t k = 0; k < l->size.d; k++)
                l->panel[k * l->size.panel + count] = l->scaled[row * l->size.d + k];
            l->half[count] = half_of(l, l->norm[row]);
            l->open[count++] = row;
        }
    return count;
}

/* Compares a strip of the rows left over with those before it and with itself. */
static int32_t compare_strip(void *user, int64_t strip) {
    leaders *l = user;
    const int64_t first = strip * CHUNK, count = least(CHUNK, l->left[0] - first), words = (l->size.open + 63) / 64;
    l->host->reach(count, l->open + first, l->size.d, l->scaled, l->level, first + count, l->panel, l->size.panel,
                   l->half, l->found + first * words, words);
    return MERCER_OK;
}

/* Makes the i-th of the rows left over a centre. number: its row number in the data. */
static int32_t append(leaders *l, int64_t i, int64_t number) {
    const int64_t d = l->size.d, k = l->m / CHUNK, at = l->m % CHUNK, row = l->open[i];
    if (k == l->held) {
        chunk *c = l->host->alloc(l->task, (int64_t)sizeof *c);
        if (!c) return MERCER_E_MEMORY;
        c->x = l->host->alloc(l->task, 8 * l->size.chunk * d);
        c->scaled = l->host->alloc(l->task, 4 * l->size.chunk * d);
        c->half = l->host->alloc(l->task, 4 * l->size.chunk);
        if (!c->x || !c->scaled || !c->half) return MERCER_E_MEMORY;
        l->chunks[l->held++] = c;
    }
    chunk *c = l->chunks[k];
    c->count = at + 1;
    memcpy(c->x + at * d, l->x + row * d, (size_t)d * sizeof *c->x);
    for (int64_t j = 0; j < d; j++) c->scaled[at + j * l->size.chunk] = l->scaled[row * d + j];
    c->half[at] = l->half[i];
    c->row[at] = number;
    c->weight[at] = 0;
    l->born[i / 64] |= (uint64_t)1 << i % 64;
    l->centre[row] = l->m++;
    return MERCER_OK;
}

/* Visits the rows left over in order, and compares each with those before it that became
 * centres. */
static int32_t compare(leaders *l, int64_t count, const int64_t *number) {
    const int64_t d = l->size.d, base = l->m, words = (l->size.open + 63) / 64;
    memset(l->born, 0, (size_t)words * sizeof *l->born);
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = l->open[i];
        for (int64_t w = 0; w <= i / 64 && l->centre[row] < 0; w++)
            for (uint64_t bits = l->found[i * words + w] & l->born[w]; bits; bits &= bits - 1) {
                const int64_t other = l->open[64 * w + __builtin_ctzll(bits)];
                if (!covers(d, l->x + row * d, l->x + other * d, l->square)) continue;
                l->centre[row] = l->centre[other];
                break;
            }
        l->pairs += (double)((l->centre[row] < 0 ? l->m : l->centre[row] + 1) - base);
        const int32_t status = l->centre[row] < 0 ? append(l, i, number[row]) : MERCER_OK;
        if (status) return status;
    }
    return MERCER_OK;
}

/* Processes the block of rows number[0] ... number[l->rows - 1]. If too many of them are left over,
 * l->rows becomes smaller, and only that many are done. */
static int32_t reduce_block(leaders *l, const int64_t *number, int64_t *left) {
    l->strip = most(CHUNK, (l->rows + STRIPS - 1) / STRIPS);
    const int64_t strips = (l->rows + l->strip - 1) / l->strip;
    int32_t status = l->host->rows(l->task, number, l->rows, l->x);
    if (status || (status = l->host->parallel(l->task, strips, scan_strip, l))) return status;
    for (int64_t strip = 0; strip < strips; strip++) l->pairs += (double)l->seen[strip];
    *left = l->left[0] = gather(l);
    if ((status = l->host->parallel(l->task, (*left + CHUNK - 1) / CHUNK, compare_strip, l)) ||
        (status = compare(l, *left, number)))
        return status;
    for (int64_t i = 0; i < l->rows; i++) {
        l->chunks[l->centre[i] / CHUNK]->weight[l->centre[i] % CHUNK] += l->weight[number[i]];
        if (l->assignment) l->assignment[number[i]] = l->centre[i];
    }
    return MERCER_OK;
}

/* Makes one pass over the rows, which ends when it has more than `enough` centres. *done: how many
 * rows it has processed. */
static int32_t pass(leaders *l, double epsilon, int64_t enough, double progress, double share, int64_t *done) {
    int64_t left = 0;
    l->epsilon = epsilon;
    l->square = epsilon * epsilon;
    l->m = *done = 0;
    for (int64_t next = l->size.open; *done < l->count && l->m <= enough; *done += l->rows) {
        l->rows = least(next, l->count - *done);
        int32_t status = reduce_block(l, l->order + *done, &left);
        if (status) return status;
        status = l->host->progress(l->task, progress + share * (double)*done / (double)l->count);
        if (status) return status;
        const double foreseen = (double)(l->size.open / 2) * (double)l->rows / (double)most(left, 1);
        next = most(l->size.open, foreseen < (double)l->size.block ? (int64_t)foreseen : l->size.block);
    }
    return MERCER_OK;
}

/* ---- epsilon ----------------------------------------------------------------------------------------------------- */

/* Finds the distance at which f falls to similarity f(0), by bisection. */
static int32_t radius_of(const mercer_host *host, mercer_task *task, double similarity, double h, double *epsilon) {
    double from = 0, to = h, full = 0, value = 0;
    int32_t status = host->radial(task, &full, 1);
    for (;; from = to, to *= 2) {
        value = to * to;
        if (status || (status = host->radial(task, &value, 1))) return status;
        if (value <= similarity * full) break;
        if (!(to * to <= DBL_MAX / 4))
            return host->fail(task, MERCER_E_VALUE, "similarity = %g, but the kernel never falls to this value",
                              similarity);
    }
    for (double middle; (middle = from + (to - from) / 2) > from && middle < to;) {
        value = middle * middle;
        if ((status = host->radial(task, &value, 1))) return status;
        *(value <= similarity * full ? &to : &from) = middle;
    }
    *epsilon = to;
    return MERCER_OK;
}

static int32_t radius(const mercer_host *host, mercer_task *task, const shadow *p, double h, double *epsilon) {
    *epsilon = p->epsilon;
    if (!isnan(p->epsilon)) return MERCER_OK;
    if (isnan(h))
        return host->fail(task, MERCER_E_VALUE,
                          "the kernel is not radial, so it has no length scale h for %s: set epsilon",
                          isnan(p->similarity) ? "ell" : "similarity");
    if (!isnan(p->similarity)) return radius_of(host, task, p->similarity, h, epsilon);
    *epsilon = h / (isnan(p->ell) ? 4 : p->ell);
    return MERCER_OK;
}

/* Counts leaders by the plain loop on the squared distances of q rows. */
static int64_t count_leaders(int64_t q, const double *square, double limit, int64_t *born) {
    int64_t m = 0;
    for (int64_t i = 0; i < q; i++) {
        int64_t k = 0;
        while (k < m && !(square[i * q + born[k]] < limit)) k++;
        if (k == m) born[m++] = i;
    }
    return m;
}

/* Returns the least epsilon, to 1 %, with at most leaders_wanted leaders of the sample. */
static double sample_radius(int64_t q, const double *square, double leaders_wanted, double widest, int64_t *born) {
    double from = widest * 1e-8, to = widest * 2;
    while (to > from * 1.01) {
        const double middle = sqrt(from * to);
        *((double)count_leaders(q, square, middle * middle, born) > leaders_wanted ? &from : &to) = middle;
    }
    return to;
}

/* Guesses an epsilon for m centres, and the slope of -log m against log epsilon there. Assumes that
 * rows fall evenly into M cells: n rows meet M (1 - exp(-n / M)) = m of them, which gives M, and
 * the q rows of the sample meet M (1 - exp(-q / M)). */
static int32_t guess(leaders *l, int64_t m, double *epsilon, double *slope) {
    const int64_t q = least(l->size.open, l->count), d = l->size.d;
    double *square = l->host->alloc(l->task, 8 * q * q), widest = 0;
    if (!square) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < q; i++) /* take_sample has put the sample into l->x */
        for (int64_t j = 0; j < i; j++) {
            square[i * q + j] = quick_square(d, l->x + i * d, l->x + j * d);
            widest = fmax(widest, square[i * q + j]);
        }
    widest = sqrt(widest);
    if (!(widest > 0 && widest < DBL_MAX)) widest = 1;
    double from = (double)m, to = 1e3 * (double)l->count;
    for (int64_t k = 0; k < 60; k++) {
        const double cells = sqrt(from * to);
        *(-cells * expm1(-(double)l->count / cells) < (double)m ? &from : &to) = cells;
    }
    const double here = fmax(-to * expm1(-(double)q / to), 1), fewer = fmax(here * 0.7, 1);
    *epsilon = sample_radius(q, square, here, widest, l->centre);
    const double wider = sample_radius(q, square, fewer, widest, l->centre);
    *slope = fmin(fmax(log(here / fewer) / log(wider / *epsilon), 2), 20); /* 2 if the ratio is NaN */
    return MERCER_OK;
}

/* Returns the next epsilon. epsilon[0] gave too many centres (excess[0] > 0) and epsilon[1] too few
 * (excess[1] < 0), where the excess is log(centres / m). The next epsilon is near the zero of the
 * line through the two ends, excess against log epsilon. If one end is not known yet, a line with
 * the slope -`slope` through the other end is used. */
static double interpolate(const double epsilon[2], const double excess[2], double slope) {
    if (epsilon[0] == 0) return epsilon[1] * exp(fmin(fmax(excess[1] / slope, -1), -0.02));
    if (isinf(epsilon[1])) return epsilon[0] * exp(fmax(fmin(excess[0] / slope, 1), 0.02));
    const double share = excess[0] / (excess[0] - excess[1]);
    return epsilon[0] * pow(epsilon[1] / epsilon[0], fmin(fmax(share, 0.05), 0.95));
}

/* Searches for the epsilon that gives m centres, in at most PASSES passes, and leaves the result of
 * the pass nearest to m. The method is false position on log(centres / m), which halves the excess
 * of the end that stays (Illinois). For a pass that is given up, the number of centres is estimated
 * as the geometric mean of two extremes: no further centres, and as many per row as so far. */
static int32_t seek(leaders *l, int64_t m, double *epsilon, int64_t *passes) {
    double bounds[2] = {0, INFINITY}, excess[2] = {0, 0}, best = 0, slope = 1, at = 0, before = 0;
    int64_t off = m + SLACK, done = 0;
    int last = -1;
    int32_t status = guess(l, m, &at, &slope);
    for (*passes = 0; !status && off > 0 && *passes < PASSES - 1; ++*passes) {
        if ((status = pass(l, at, m + off, (double)*passes / PASSES, 1. / PASSES, &done))) return status;
        const int64_t apart = l->m > m ? l->m - m : m - l->m;
        if (done == l->count && apart < off) off = apart, best = at;
        const int side = l->m < m;
        const double over = log((double)l->m * sqrt((double)l->count / (double)done) / (double)m);
        if (side == last) slope = fmin(fmax((excess[side] - over) / log(at / before), 0.3), 20), excess[1 - side] /= 2;
        bounds[side] = *epsilon = at;
        excess[side] = over;
        last = side, before = at;
        at = interpolate(bounds, excess, slope);
    }
    if (status || (best == *epsilon && best > 0)) return status;
    *epsilon = best > 0 ? best : isinf(bounds[1]) ? at : bounds[1];
    ++*passes;
    return pass(l, *epsilon, l->count, 1 - 1. / PASSES, 1. / PASSES, &done);
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const shadow *p = params;
    const int64_t n = shape->n, d = shape->d;
    if (wanted(p) > n)
        return host->fail(task, MERCER_E_VALUE, "m = %lld, must be <= n = %lld", (long long)p->m, (long long)n);
    out->m = most_centres(p, n);
    out->likely_m = wanted(p) > 0 ? wanted(p) : least(n, (int64_t)(8 * sqrt((double)n)));
    /* 16 n: the arrays of give_to_nearest, which an assignment of rows of weight 0 always needs. */
    out->bytes = bytes_of(p, shape, out->m) + 16 * n;
    out->likely_bytes = bytes_of(p, shape, out->likely_m) + (p->assign == NEAREST ? 16 * n : 0);
    out->flops = (double)n * (double)out->m * (double)d * (wanted(p) > 0 ? PASSES : 1);
    return MERCER_OK;
}

/* Puts the rows of positive weight into the order in which they are visited. */
static int32_t arrange(leaders *l, const shadow *p, double *weight) {
    const int32_t status = l->host->weights(l->task, weight);
    if (status) return status;
    l->weight = weight;
    for (int64_t i = 0; i < l->size.n; i++)
        if (weight[i] > 0) l->order[l->count++] = i;
    if (p->shuffle) mercer_shuffle(l->host, l->task, 0, l->order, l->count, l->count);
    return MERCER_OK;
}

/* Reads evenly spaced rows into the block as a sample, and computes their mean. */
static int32_t take_sample(leaders *l) {
    const int64_t q = least(l->size.open, l->count), d = l->size.d;
    for (int64_t i = 0; i < q; i++) l->open[i] = l->order[i * l->count / q];
    const int32_t status = l->host->rows(l->task, l->open, q, l->x);
    for (int64_t i = 0; !status && i < q; i++)
        for (int64_t k = 0; k < d; k++) l->mean[k] += l->x[i * d + k] / (double)q;
    return status;
}

static int32_t prepare(leaders *l, const shadow *p) {
    const sizes s = l->size;
    double *weight = l->host->alloc(l->task, 8 * s.n);
    l->order = l->host->alloc(l->task, 8 * s.n);
    l->mean = l->host->alloc(l->task, 8 * s.d);
    l->chunks = l->host->alloc(l->task, 8 * s.chunks);
    l->x = l->host->alloc(l->task, 8 * s.block * s.d);
    l->norm = l->host->alloc(l->task, 8 * s.block);
    l->scaled = l->host->alloc(l->task, 4 * s.block * s.d);
    l->level = l->host->alloc(l->task, 4 * s.block);
    l->centre = l->host->alloc(l->task, 8 * s.block);
    l->open = l->host->alloc(l->task, 8 * s.block);
    l->left = l->host->alloc(l->task, 8 * STRIPS);
    l->seen = l->host->alloc(l->task, 8 * STRIPS);
    l->found = l->host->alloc(l->task, 8 * s.found);
    l->born = l->host->alloc(l->task, 8 * ((s.open + 63) / 64));
    l->panel = l->host->alloc(l->task, 4 * s.panel * s.d);
    l->half = l->host->alloc(l->task, 4 * s.panel);
    if (!weight || !l->order || !l->mean || !l->chunks || !l->x || !l->norm || !l->scaled || !l->level || !l->centre ||
        !l->open || !l->left || !l->seen || !l->found || !l->born || !l->panel || !l->half)
        return MERCER_E_MEMORY;
    int32_t status = arrange(l, p, weight);
    if (!status) status = l->host->progress(l->task, 0);
    return status ? status : take_sample(l);
}

/* With epsilon^2 = 0 all rows of positive weight are centres. */
static void take_all(leaders *l, int64_t *index, double *weight) {
    for (int64_t k = 0; k < l->m; k++) {
        index[k] = l->order[k];
        weight[k] = l->weight[index[k]];
        if (l->assignment) l->assignment[index[k]] = k;
    }
}

static void take_centres(const leaders *l, int64_t *index, double *weight) {
    for (int64_t k = 0; k < l->m; k++) {
        index[k] = l->chunks[k / CHUNK]->row[k % CHUNK];
        weight[k] = l->chunks[k / CHUNK]->weight[k % CHUNK];
    }
}

/* Assigns the nearest centre to rows of weight 0 and, with assign = nearest, to all rows. */
static int32_t give_to_nearest(leaders *l, const shadow *p, const int64_t *index, double *weight) {
    const int64_t n = l->size.n;
    const int all = p->assign == NEAREST;
    if (!all && (l->count == n || !l->assignment)) return MERCER_OK;
    double *square = l->host->alloc(l->task, 8 * n);
    int64_t *nearest = l->host->alloc(l->task, 8 * n);
    if (!square || !nearest) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < n; i++) square[i] = INFINITY;
    const mercer_visit to = {.struct_size = sizeof to, .index = index, .count = l->m};
    const int32_t status = l->host->nearest(l->task, &to, square, nearest);
    if (status) return status;
    for (int64_t k = 0; all && k < l->m; k++) weight[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (all) weight[nearest[i]] += l->weight[i];
        if (l->assignment && (all || !(l->weight[i] > 0))) l->assignment[i] = nearest[i];
    }
    return MERCER_OK;
}

static int32_t report(leaders *l, double h, int64_t passes) {
    int32_t status = l->host->report(l->task, "epsilon", fmin(l->epsilon, DBL_MAX));
    if (!status && !isnan(h) && l->epsilon > h / DBL_MAX) status = l->host->report(l->task, "ell", h / l->epsilon);
    if (!status && passes > 0) status = l->host->report(l->task, "passes", (double)passes);
    return status ? status : l->host->report(l->task, "pairs", l->pairs);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    const shadow *p = params;
    mercer_cost cost = {.struct_size = sizeof cost};
    int32_t status = forecast(host, task, params, shape, &cost);
    if (status) return status;
    leaders l = {.host = host, .task = task, .size = sizes_of(p, shape, cost.m), .assignment = want->assignment};
    double epsilon = INFINITY;
    int64_t passes = 0, done = 0;
    if ((wanted(p) == 0 && (status = radius(host, task, p, shape->h, &epsilon))) || (status = prepare(&l, p)))
        return status;
    if (wanted(p) >= l.count) epsilon = 0;
    const int seeks = wanted(p) > 1 && epsilon > 0;
    if (seeks)
        status = seek(&l, wanted(p), &epsilon, &passes);
    else if (epsilon * epsilon > 0)
        status = pass(&l, epsilon, l.count, 0, 1, &done);
    else
        l.m = l.count, l.epsilon = epsilon;
    if (status) return status;
    int64_t *index = host->alloc(task, 8 * l.m);
    double *weight = host->alloc(task, 8 * l.m);
    if (!index || !weight) return MERCER_E_MEMORY;
    if (epsilon * epsilon > 0)
        take_centres(&l, index, weight);
    else
        take_all(&l, index, weight);
    if ((status = give_to_nearest(&l, p, index, weight)) || (status = report(&l, shape->h, passes))) return status;
    return host->give(task, l.m, index, NULL, weight);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops),
    .flags = MERCER_NEEDS_VECTORS | MERCER_GIVES_ASSIGNMENT,
    .forecast = forecast,
    .reduce = reduce,
};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "shadow", MERCER_VERSION,
              "rows that cover all others within a radius, weighted by the number that each covers",
              "Kingravi, Vela & Gray, SDM (2013)", rows, shadow, ops)
