/* block-krylov.c - the top r eigenpairs from products with blocks: thick-restart block Lanczos with
 * Rayleigh-Ritz
 *
 * Musco & Musco, NIPS 2015 (block Krylov); Wu & Simon, SIAM J. Matrix Anal. Appl. 22 (2000) (thick
 * restart). Write B = P A P, P = I - Q Q^T for the locked Q; a block has p columns. An orthonormal
 * basis V (n x k) orthogonal to Q and its image W = B V are kept. B is thus applied to new
 * directions only, and residuals of Ritz pairs are exact and need no product:
 *
 *   H = V^T W = S Theta S^T;  R = W S - V S Theta;  done when |R_j| <= tol |theta_1| for j = 1..r
 *   else p residuals, unconverged ones of the leading r + p pairs, orthonormal to [Q V], are the new directions;
 *   before the basis outgrows max(3r, r + 4p) columns (r + 16p if rows are few), [V W] <- [V W] S_(r + p).
 *
 * The restart needs no product. Residuals of Ritz vectors span the next Krylov block, before a
 * restart and after it, so this is block Krylov. Errors do not accumulate as in a three-term
 * recurrence, because residuals are formed from W anew each time (orthonormalise works twice). If
 * all pairs of the basis have converged, its span is invariant. If s random columns generated this
 * span, it contains min(s, multiplicity) independent eigenvectors of each eigenvalue (with
 * probability 1). If s < r, because the caller gave start vectors, a random block is therefore
 * added to find eigenvectors that may be missing. At least one random column joins the start
 * vectors of the caller, and convergence in the first product does not count: an eigenvector
 * orthogonal to the start vectors enters through the random columns alone, and grows only in the
 * second product. A basis of n columns is exact.
 *
 * If the operator has a rough product (errors of f32, about e = 1e-7 |B|), images are rough until
 * these errors prevent further progress. Then the Ritz vectors X and the newest directions get
 * exact images in one product, and the images of later directions D' stay rough:
 *
 *   W_X = B X;   B (X s + D' t) = W_X s + (rough image of D') t,
 *
 * which errs by e |t|, and |t| is about residual / gap. So the exact product is made when e
 * residual / gap has fallen below the requested limit, or when residuals are as small as rough
 * images allow, and not before. Each column stores the error of its image. H takes each entry v_i^T
 * B v_j from the better of the two images, which makes the errors of Ritz values e |t|^2; the
 * residual of a pair is the computed one plus the error of its image. e is measured at each exact
 * product. In four cases rough images cannot serve: the gap after the r-th pair is within 2 e
 * (rank below r, equal eigenvalues); residuals near e no longer decrease; an exact product did not
 * help; or residuals above the limit give no new directions. Then the images of the kept basis are
 * made exact, and so are all later products.
 *
 * Cost per cycle: one product with p columns, about n k (14 p + 4 r) flops and O(k^3). Memory: n x
 * (2 k + p + locked). Error: each theta_j lies within |R_j| of an eigenvalue of B. That these are
 * the top r is certain if the basis has n columns or spans an invariant space that r random columns
 * generated; otherwise, as in all Krylov methods, it holds with a probability that random columns
 * bring close to 1. Residuals below 64 u max |theta| (blocks in f32: 4 u_32) are rounding, and no
 * smaller residual is demanded. If the request sets `share` (a fit sets 0.1 by default),
 * |R_j| <= share theta_r is also required (mercer_residual_limit): the scores of component j have
 * the variance theta_j (1 + |R_j|^2 / theta_j^2), so that residuals of tol |theta_1| would turn the
 * scores of small components into noise. Limits: if a restart cuts a cluster of eigenvalues that
 * are equal up to rounding, Ritz vectors mix freely in it, and residuals fall slowly below
 * sqrt(u) max |theta|, or not at all; converged = 0 reports this. If the block is much narrower
 * than r, tol is 1e-3 and an eigenvalue has more copies than r, lower pairs may be taken for its
 * last copies.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>
#include <string.h>

typedef struct krylov_params {
    int64_t block;
} krylov_params;

enum {
    default_passes = 200, /* if the request sets no limit */
    SCALARS = 14          /* numbers of a checkpoint besides errors and H */
};

/* Likely numbers of passes, with a start of the caller or a random one: FEW if tol is at least
 * loose_tol, MORE if it is smaller (measured on clustered data by ./dev bench). */
enum { FEW_FROM_START = 3, MORE_FROM_START = 5, FEW_FROM_RANDOM = 5, MORE_FROM_RANDOM = 8 };
static const double loose_tol = 1e-6;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(krylov_params, block, "0", "", MERCER_AUTO, 0, 1e6,
                     "columns of a block; 0: r + 6 rounded up to a multiple of 8, at most 64"),
};

/* p: columns of a block; guess: columns of the caller's guess; first: columns of the first block;
 * keep: columns of the restarted basis, which is also the number of pairs whose residuals are
 * computed; cap: columns of the largest basis; room: columns of memory, for the largest basis or
 * for what make_exact puts side by side. In plan(), n is the number of rows less the number of
 * locked columns. */
typedef struct sizes {
    int64_t p, guess, first, keep, cap, room;
} sizes;

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Columns of the first block in addition to r. Without them, copies of a repeated eigenvalue may
 * appear only after lower pairs have converged. */
enum { GUARD = 6 };

/* A restart costs additional passes if many eigenvalues lie close to the r-th (measured: 5
 * clusters, n = 10^4, residuals 1e-9: 27 passes with a basis of r + 4 p columns, 11 with r + 16 p).
 * If rows are few, the basis is therefore larger; with its image it takes at most this many
 * bytes. */
enum { BASIS_BYTES = 64 << 20 };

static sizes plan(const krylov_params *params, int64_t n, const mercer_eigen_request *request) {
    const int64_t r = request->r;
    sizes s;
    s.p = min(params->block > 0 ? params->block : min((r + 13) / 8 * 8, 64), n);
    s.keep = min(r + max(s.p, GUARD), n);
    const int64_t least = max(3 * r, r + 4 * s.p), fits = BASIS_BYTES / (16 * n);
    s.cap = min(max(least, min(fits, r + 16 * s.p)), n);
    s.room = request->rough ? max(s.cap, s.keep + s.p + r) : s.cap;
    s.guess = min(request->start_count, s.cap);
    s.first = min(max(max(r + GUARD, s.p), s.guess > 0 ? s.guess + 1 : 0), s.cap);
    return s;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task;
    const int64_t r = request->r, l = request->locked.count;
    sizes s = plan(params, n - l, request);
    double k = (double)s.cap;
    out->bytes = 8 * (s.cap * (4 * s.cap + max(s.cap, l) + 9) + SCALARS);
    out->blocks = l + 2 * s.room + s.p;
    out->columns = request->rough ? r + max(s.p, GUARD) : s.p;
    out->first_columns = s.first;
    out->first_blocks = l + 2 * s.first;
    out->passes = request->max_passes > 0 ? request->max_passes : default_passes;
    const int loose = request->tol >= loose_tol;
    out->likely_passes = min(out->passes, request->start_count > 0 ? (loose ? FEW_FROM_START : MORE_FROM_START)
                                                                   : (loose ? FEW_FROM_RANDOM : MORE_FROM_RANDOM));
    out->flops = (double)out->passes * ((double)n * k * (double)(14 * s.p + 4 * r) + 9 * k * k * k);
    return MERCER_OK;
}

typedef struct krylov {
    const mercer_host *host;
    mercer_task *task;
    const mercer_operator *op;
    const mercer_eigen_request *request;
    mercer_eigen_result *out;
    sizes size;
    int64_t n, l; /* n: rows; l: locked columns */
    /* basis: locked columns and V, side by side; images: W; scratch: p columns */
    mercer_block *basis, *images, *scratch;
    double *state, *h, *s, *small, *theta, *norm; /* h and error are parts of state */
    double *error;                                /* error of the image of each column of V */
    union {                                       /* the numbers of a checkpoint besides h and error */
        double scalars[SCALARS];
        struct {
            int64_t k, random;       /* k: columns of the basis; random: random columns drawn so far */
            int64_t applies, passes; /* as in mercer_eigen_result */
            /* probed: the first pass at which convergence ends the solve; before it, directions that
             * the start vectors miss have not yet grown in products of the random columns */
            int64_t probed;
            /* rough_done: 1 if all products are exact from now on; best_at: passes when `best` was
             * set */
            int64_t rough_done, best_at;
            double rough;        /* error of a rough image, guessed until it is measured */
            double exact_worst;  /* largest residual at the last exact product; 0: there was none */
            double best;         /* largest residual when it had last halved */
            double scale, first; /* scale: largest |theta| so far; first: largest residual so far */
            double progress, most_negative;
        };
    };
} krylov;

enum {
    /* The guessed error of a rough image, in units u of f32 times |B|. */
    GUESS_ULPS = 4,
    STALLED_PASSES = 8
};

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int32_t status_ = (call);                                                                                      \
        if (status_) return status_;                                                                                   \
    } while (0)

/* Returns how many numbers a checkpoint has: scalars, errors of images, H. */
static int64_t state_size(const krylov *x) { return SCALARS + x->size.cap + x->size.cap * x->size.cap; }

static int32_t prepare(krylov *x) {
    int64_t l = x->l, cap = x->size.cap, count[] = {state_size(x), cap * cap, cap * max(cap, l), cap, cap};
    double **array[] = {&x->state, &x->s, &x->small, &x->theta, &x->norm};
    for (int i = 0; i < 5; i++)
        if (!(*array[i] = x->host->alloc(x->task, 8 * count[i]))) return MERCER_E_MEMORY;
    x->error = x->state + SCALARS;
    x->h = x->error + cap;
    x->basis = x->host->block(x->task, x->op, l + x->size.room);
    x->images = x->host->block(x->task, x->op, x->size.room);
    x->scratch = x->host->block(x->task, x->op, x->size.p);
    if (!x->basis || !x->images || !x->scratch) return MERCER_E_MEMORY;
    return l > 0 ? x->host->copy(x->task, x->request->locked, (mercer_range){x->basis, 0, l}) : MERCER_OK;
}

/* Ranges: columns of V; columns of W; the locked columns with the first k of V. */
static mercer_range v(const krylov *x, int64_t first, int64_t count) {
    return (mercer_range){x->basis, x->l + first, count};
}
static mercer_range w(const krylov *x, int64_t first, int64_t count) { return (mercer_range){x->images, first, count}; }
static mercer_range known(const krylov *x, int64_t k) { return (mercer_range){x->basis, 0, x->l + k}; }

/* Estimates the error of a rough image before it is measured. Products round numbers as large as
 * those of the operator before it was centred, which may be a thousand times |B|. request->scale is
 * the trace of that operator, and `share` the part of it that is taken. share = 1 gives an upper
 * bound; 0.1 is realistic if the largest eigenvalue is a third of the trace (measured: 0.3 u times
 * that eigenvalue). */
static double guessed_error(const krylov *x, double share) {
    return FLT_EPSILON / 2 * fmax(GUESS_ULPS * x->scale, share * x->request->scale);
}

/* Residuals below this are rounding. */
static double rounding(const krylov *x) {
    return (x->op->dtype == MERCER_F32 ? 4 * (FLT_EPSILON / 2) : 64 * (DBL_EPSILON / 2)) * x->scale;
}

/* Computes W = B V for some columns of V, which are orthogonal to the locked ones. */
static int32_t apply(krylov *x, int rough, int64_t first, int64_t count) {
    const mercer_host *host = x->host;
    int64_t l = x->l;
    TRY((rough ? x->op->apply_rough : x->op->apply)(x->op, x->task, v(x, first, count), w(x, first, count)));
    x->passes += 1;
    x->applies += count;
    if (l == 0) return MERCER_OK;
    TRY(host->dot(x->task, known(x, 0), w(x, first, count), x->small, l));
    for (int64_t i = 0; i < l * count; i++) x->small[i] = -x->small[i];
    return host->times(x->task, known(x, 0), x->small, l, 1, w(x, first, count));
}

/* Computes H for the columns from `first` to first + count - 1, each entry from the better of its
 * two images. */
static int32_t project(krylov *x, int64_t first, int64_t count) {
    int64_t k = x->k, cap = x->size.cap;
    TRY(x->host->dot(x->task, v(x, 0, k), w(x, first, count), x->h + cap * first, cap));
    int better = 0;
    for (int64_t i = 0; i < k; i++) better |= x->error[i] < x->error[first];
    if (better) TRY(x->host->dot(x->task, w(x, 0, k), v(x, first, count), x->small, k));
    for (int64_t j = first; j < first + count; j++)
        for (int64_t i = 0; i < k; i++) {
            double *entry = &x->h[i + cap * j];
            if (x->error[i] < x->error[j]) *entry = x->small[i + k * (j - first)];
            if (!isfinite(*entry))
                return x->host->fail(x->task, MERCER_E_NUMERICAL, "block-krylov: the operator returned NaN or Inf");
        }
    for (int64_t j = first; j < first + count; j++)
        for (int64_t i = 0; i < k; i++) {
            if (i >= first && i < first + count) {
                if (i > j) continue;
                x->h[i + cap * j] = (x->h[i + cap * j] + x->h[j + cap * i]) / 2;
            }
            x->h[j + cap * i] = x->h[i + cap * j];
        }
    return MERCER_OK;
}

/* Extends the basis by the `count` columns that are stored behind it: makes them orthonormal, drops
 * dependent ones, and computes images and H. *rank: how many columns were added. */
static int32_t extend(krylov *x, int64_t count, int64_t *rank) {
    int64_t k = x->k;
    int rough = !x->rough_done;
    TRY(x->host->orthonormalise(x->task, v(x, k, count), known(x, k), rank));
    if (*rank == 0) return MERCER_OK;
    TRY(apply(x, rough, k, *rank));
    for (int64_t j = k; j < k + *rank; j++) x->error[j] = rough ? fmax(x->rough, DBL_MIN) : 0;
    x->k += *rank;
    return project(x, k, *rank);
}

static int32_t fill_random(krylov *x, int64_t first, int64_t count) {
    TRY(x->host->random(x->task, v(x, first, count), x->random));
    x->random += count;
    return MERCER_OK;
}

/* Makes the first block from the caller's guess and random columns. Dependent columns are replaced
 * by random ones. */
static int32_t start(krylov *x) {
    int64_t rank = x->size.guess;
    if (rank > 0) {
        TRY(x->request->start(x->request->user, v(x, 0, rank)));
        x->probed = 2; /* directions orthogonal to the guess show only in the second pass */
    }
    for (int attempt = 0; attempt < 4 && (attempt == 0 || rank < x->size.first); attempt++) {
        int64_t count = max(rank, x->size.first);
        TRY(fill_random(x, rank, count - rank));
        TRY(x->host->orthonormalise(x->task, v(x, 0, count), known(x, 0), &rank));
    }
    TRY(extend(x, rank, &rank));
    if (x->k < x->request->r)
        return x->host->fail(x->task, MERCER_E_INTERNAL, "block-krylov: cannot build a basis of r = %lld columns",
                             (long long)x->request->r);
    return MERCER_OK;
}

/* Returns the error of the image of Ritz vector j. */
static double image_error(const krylov *x, int64_t j) {
    double square = 0;
    for (int64_t i = 0; i < x->k; i++) square += pow(x->error[i] * x->s[i + x->size.cap * j], 2);
    return sqrt(square);
}

/* Restarts: replaces [V W] by [V W] S with the leading size.keep columns of S. */
static int32_t restart(krylov *x) {
    int64_t cap = x->size.cap, k = x->k, keep = min(x->size.keep, k);
    TRY(x->host->times(x->task, v(x, 0, k), x->s, cap, 0, v(x, 0, keep)));
    TRY(x->host->times(x->task, w(x, 0, k), x->s, cap, 0, w(x, 0, keep)));
    for (int64_t j = 0; j < keep; j++) x->small[j] = image_error(x, j);
    memcpy(x->error, x->small, 8 * (size_t)keep);
    memset(x->h, 0, 8 * (size_t)(cap * cap));
    memset(x->s, 0, 8 * (size_t)(cap * cap));
    for (int64_t j = 0; j < keep; j++) {
        x->h[j + cap * j] = x->theta[j];
        x->s[j + cap * j] = 1;
    }
    x->k = keep;
    return MERCER_OK;
}

/* Computes Ritz values, and vectors as columns of S. Restarts with the leading ones if the next
 * block would not fit. */
static int32_t rayleigh_ritz(krylov *x) {
    int64_t cap = x->size.cap, k = x->k;
    for (int64_t j = 0; j < k; j++) memcpy(x->small + k * j, x->h + cap * j, 8 * (size_t)k);
    TRY(x->host->eigh(x->task, k, x->small, k, k, x->theta, x->s, cap));
    x->scale = fmax(x->scale, fmax(fabs(x->theta[0]), fabs(x->theta[k - 1])));
    if (!x->rough_done && x->exact_worst == 0) {
        x->rough = guessed_error(x, 0.1);
        for (int64_t j = 0; j < k; j++) x->error[j] = x->rough;
    }
    /* A rough image may make the Ritz value too small, so the bound of its error is added. */
    double doubt = image_error(x, k - 1) > 0 ? guessed_error(x, 1) : 0;
    x->most_negative = fmin(x->most_negative, x->theta[k - 1] + doubt);
    return cap == x->n - x->l || k + x->size.p <= cap ? MERCER_OK : restart(x);
}

/* Computes R = W S - V S Theta of some pairs in scratch, and its norms. */
static int32_t residuals(krylov *x, int64_t first, int64_t count) {
    int64_t k = x->k, cap = x->size.cap;
    const double *s = x->s + cap * first;
    const mercer_range to = {x->scratch, 0, count};
    TRY(x->host->times(x->task, w(x, 0, k), s, cap, 0, to));
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < k; i++) x->small[i + k * j] = -x->theta[first + j] * s[i + cap * j];
    TRY(x->host->times(x->task, v(x, 0, k), x->small, k, 1, to));
    return x->host->norms(x->task, to, x->norm + first);
}

/* Returns true if the residual of pair j may be above the limit, is more than rounding, and is more
 * than the error of its image (by_errors = 0) or at most that error (by_errors = 1). */
static int wanted(const krylov *x, int64_t j, double limit, int by_errors) {
    double norm = x->norm[j], error = image_error(x, j);
    return norm > fmax(limit - error, rounding(x)) && (norm <= error) == by_errors;
}

/* Computes the residuals of the leading pairs, at least of the first r. Puts residuals, scaled to
 * length 1, behind the basis as new directions: first those that exceed the errors of images, then
 * the others, but none that consists of rounding errors. */
static int32_t directions(krylov *x, int64_t count, double limit, int64_t *added) {
    int64_t room = min(x->size.p, x->size.cap - x->k), left = 0, step;
    *added = 0;
    for (int last = 0; last < 2 && (last == 0 || left > 0); last++)
        for (int64_t first = 0; first < count && (*added < room || (!last && first < x->request->r)); first += step) {
            int64_t taken = 0;
            step = min(x->size.p, count - first);
            TRY(residuals(x, first, step));
            memset(x->small, 0, 8 * (size_t)(step * step));
            for (int64_t j = 0; j < step; j++) {
                left += !last && wanted(x, first + j, limit, 1);
                if (*added + taken < room && wanted(x, first + j, limit, last))
                    x->small[j + step * taken++] = 1 / x->norm[first + j];
            }
            const mercer_range from = {x->scratch, 0, step};
            if (taken > 0) TRY(x->host->times(x->task, from, x->small, step, 0, v(x, x->k + *added, taken)));
            *added += taken;
        }
    return MERCER_OK;
}

/* Returns true if the images of the Ritz vectors should be made exact now, which takes two
 * conditions. blocked: the error of its image prevents some requested pair from meeting the limit.
 * ready: for each requested pair, the errors of the rough directions after the exact product would
 * stay within the limit, or its residual is already about as small as rough products can make it, or
 * the basis spans the whole space. */
static int wants_exact(const krylov *x, double limit) {
    int64_t r = x->request->r, outside = min(x->k - 1, x->size.keep);
    int blocked = 0, ready = 1, whole = x->k == x->n - x->l;
    for (int64_t j = 0; j < r; j++) {
        double error = image_error(x, j), gap = x->theta[j] - x->theta[outside];
        double least = gap > 2 * x->rough ? error : x->rough; /* the smallest residual that rough products can reach */
        blocked |= x->norm[j] + error > limit && error > limit / 4;
        ready &= x->rough * x->norm[j] <= limit / 8 * gap || x->norm[j] <= 2 * least || whole;
    }
    return blocked && ready;
}

/* Returns true if residuals near the errors of rough images have not halved for some passes:
 * restarts that cut a cluster of equal eigenvalues keep adding several times these errors. */
static int stalls(krylov *x, double worst) {
    if (worst < x->best / 2) x->best = worst, x->best_at = x->passes;
    return !x->rough_done && x->best <= 64 * x->rough && x->passes >= x->best_at + STALLED_PASSES;
}

/* Computes exact images of the Ritz vectors and of the `added` directions, which lie behind the
 * basis, by one product, and adds the directions to the basis. Measures the errors of the rough
 * images. */
static int32_t make_exact(krylov *x, int64_t added) {
    int64_t r = x->request->r, before = x->k, rank = 0;
    if (added > 0) TRY(x->host->orthonormalise(x->task, v(x, before, added), known(x, before), &rank));
    TRY(restart(x));
    int64_t k = x->k;
    TRY(x->host->copy(x->task, v(x, before, rank), v(x, k, rank)));
    TRY(x->host->copy(x->task, v(x, 0, r), v(x, k + rank, r)));
    TRY(apply(x, 0, k, rank + r));
    const mercer_range was = w(x, 0, r), is = w(x, k + rank, r);
    memset(x->small, 0, 8 * (size_t)(r * r));
    for (int64_t j = 0; j < r; j++) x->small[j + r * j] = 1;
    TRY(x->host->times(x->task, is, x->small, r, -1, was)); /* the error of the rough image */
    TRY(x->host->norms(x->task, was, x->norm));
    TRY(x->host->copy(x->task, is, was));
    double larger = 0; /* largest ratio of a measured to an assumed error */
    for (int64_t j = 0; j < r; j++) {
        if (x->error[j] > rounding(x) / 4) larger = fmax(larger, x->norm[j] / x->error[j]);
        x->error[j] = 0;
    }
    if (larger > 0) x->rough = fmax(2 * larger * x->rough, rounding(x) / 4);
    for (int64_t j = k; j < k + rank; j++) x->error[j] = 0;
    x->k = k + rank;
    TRY(project(x, 0, r));
    return rank > 0 ? project(x, k, rank) : MERCER_OK;
}

/* Ends the use of rough images: makes those of the kept basis exact, as are all later images. */
static int32_t leave_rough(krylov *x) {
    if (x->k <= x->size.keep) x->most_negative = INFINITY; /* all Ritz values are computed again, exactly */
    TRY(restart(x));
    TRY(apply(x, 0, 0, x->k));
    memset(x->error, 0, 8 * (size_t)x->k);
    x->rough_done = 1;
    return project(x, 0, x->k);
}

/* Reports the fraction done, from the logarithm of the largest residual. */
static int32_t tell(krylov *x, double worst, double limit) {
    double first = x->first;
    double done = worst > limit && limit > 0 && first > limit ? 1 - log(worst / limit) / log(first / limit) : 0;
    x->progress = fmax(x->progress, fmin(done, 1));
    return x->host->progress(x->task, x->progress);
}

static int32_t keep(krylov *x) {
    memcpy(x->state, x->scalars, sizeof x->scalars);
    const mercer_range columns[] = {v(x, 0, x->k), w(x, 0, x->k)};
    return x->host->checkpoint(x->task, x->state, state_size(x), columns, 2);
}

/* Continues from the checkpoint of an earlier run if there is one. */
static int32_t resume(krylov *x, int32_t *found) {
    TRY(x->host->resume(x->task, x->state, state_size(x), NULL, 0, found));
    if (!*found) return MERCER_OK;
    memcpy(x->scalars, x->state, sizeof x->scalars);
    if (x->k < x->request->r || x->k > x->size.cap)
        return x->host->fail(x->task, MERCER_E_MODEL,
                             "block-krylov: the checkpoint contains a basis of %lld columns, which does not match",
                             (long long)x->k);
    const mercer_range columns[] = {v(x, 0, x->k), w(x, 0, x->k)};
    return x->host->resume(x->task, x->state, state_size(x), columns, 2, found);
}

static int32_t iterate(krylov *x, int64_t max_passes) {
    const mercer_eigen_request *request = x->request;
    int64_t r = request->r, whole = x->n - x->l;
    for (;;) {
        TRY(keep(x));
        TRY(rayleigh_ritz(x));
        int64_t count = min(x->k, x->size.keep), rank = 0, added;
        double worst = 0, limit = mercer_residual_limit(request, x->theta, rounding(x));
        TRY(directions(x, count, limit, &added));
        for (int64_t j = 0; j < r; j++) worst = fmax(worst, x->norm[j] + image_error(x, j));
        x->first = fmax(x->first, worst);
        x->out->converged = worst <= limit;
        TRY(tell(x, worst, limit));
        int stop = request->enough && request->enough(request->user, x->theta, r);
        x->out->converged |= stop != 0;
        int done = x->out->converged && added > 0 && x->passes >= x->probed;
        if (stop || done || x->passes >= max_passes) return MERCER_OK;
        int stalled = stalls(x, worst);
        if (stalled || wants_exact(x, limit)) {
            double gap = x->theta[r - 1] - x->theta[min(x->k - 1, x->size.keep)];
            int helpless = x->exact_worst > 0 && worst > x->exact_worst / 2;
            if (stalled || helpless || gap <= 2 * x->rough) { /* a gap within 2 e leaves the r-th pair undetermined */
                TRY(leave_rough(x));
                continue;
            }
            x->exact_worst = worst;
            added = min(added, x->size.cap - count);
            /* The product has r + added columns, and one more for the mean if the operator is
             * centred. `added` is reduced until r + added + 1 is a multiple of 8, so that the
             * product needs no padding. */
            TRY(make_exact(x, max(added - (r + added + 1) % 8, 0)));
            continue;
        }
        if (x->k == whole) return MERCER_OK;
        if (added > 0) TRY(extend(x, added, &rank));
        if (rank > 0) continue;
        if (!x->rough_done && worst > limit) { /* what remains of the residuals is errors of images */
            TRY(leave_rough(x));
            continue;
        }
        if (x->random >= r) /* r random columns generated this invariant space, so it contains the top r eigenvectors */
            return MERCER_OK;
        added = min(x->size.p, x->size.cap - x->k);
        TRY(fill_random(x, x->k, added));
        TRY(extend(x, added, &rank));
        x->probed = x->passes + 2;
        if (rank == 0) return MERCER_OK;
    }
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    const krylov_params *p = params;
    krylov x = {.host = host, .task = task, .op = op, .request = request, .out = out};
    int64_t n = op->n, r = request->r;
    x.n = n;
    x.l = request->locked.count;
    x.size = plan(p, n - x.l, request);
    x.best = INFINITY;
    /* With locked columns, rough products are not used: their errors are relative to |A|, which may
     * be much larger than |P A P|. */
    x.rough_done = !op->apply_rough || x.l > 0;
    x.most_negative = INFINITY;
    int32_t found = 0;
    TRY(prepare(&x));
    TRY(resume(&x, &found));
    if (!found) TRY(start(&x));
    TRY(iterate(&x, request->max_passes > 0 ? request->max_passes : default_passes));
    memcpy(out->values, x.theta, 8 * (size_t)r);
    out->most_negative = fmin(x.most_negative, x.theta[r - 1]);
    out->applies = x.applies, out->passes = x.passes;
    for (int64_t j = 0; j < r; j++) out->residuals[j] = x.norm[j] + image_error(&x, j);
    return host->times(task, v(&x, 0, x.k), x.s, x.size.cap, 0, out->vectors);
}

static const mercer_solver_ops ops = {
    .struct_size = sizeof(mercer_solver_ops),
    .flags = MERCER_USES_START | MERCER_USES_ROUGH | MERCER_KEEPS_STATE,
    .forecast = forecast,
    .solve = solve,
};

MERCER_PLUGIN(MERCER_KIND_SOLVER, "block-krylov", MERCER_VERSION,
              "block Krylov iteration with thick restarts, for r much smaller than n",
              "Musco & Musco, NIPS (2015); Wu & Simon, SIAM J. Matrix Anal. Appl. 22 (2000)", rows, krylov_params, ops)
