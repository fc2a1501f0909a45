/* orthogonal.c - the top r eigenpairs by orthogonal iteration, with Rayleigh-Ritz in each cycle
 *
 * Achlioptas, McSherry & Schoelkopf, NIPS 2001, section 2 (Q <- AQ; Q <- Orthonormalize(Q); "while
 * not converged", for which no test is given: here residuals are tested); Rutishauser, Numer. Math.
 * 16 (1970) for the Ritz step. With B = P A P, P = I - L L^T for locked L, and Q orthonormal, of
 * p = r + oversample columns, orthogonal to L:
 *
 *   Z = B Q;  Q^T Z = S Theta S^T;  X = Q S;  R = Z S - X Theta;  done when |R_j| <= tol |theta_1| for j = 1..r
 *   else Q <- orth(Z S + c X), in which random columns replace dependent ones; c: a shift, see below.
 *
 * The columns Z S span what Z does and are nearly orthogonal, so that orth loses none even if Theta
 * spans many decades. The iterates tend to the eigenvectors with the largest |lambda + c|. With
 * c = 0, the paper's method, these are the algebraically largest as long as
 * lambda_r > |lambda_min|. As soon as a Ritz value lies below -theta_r, c becomes the magnitude of
 * the most negative Ritz value seen. This suffices, because the vector of a negative eigenvalue of
 * too large a magnitude soon appears in Q; its Ritz value then determines the shift, under which
 * the vector leaves Q again.
 *
 * Cost per cycle: one product with p columns, about 14 n p^2 + 8 n l p flops. Memory: n x 3 p. Each
 * cycle divides errors by (lambda_r + c) / (lambda_(p+1) + c), which takes several times the
 * products of block-krylov: this solver is for comparison with the paper and for good starts.
 * Error: each theta_j lies within |R_j| of an eigenvalue of B. These are the top r eigenvalues if the
 * start has a component along each of their eigenvectors, which random columns have with
 * probability 1. Convergence in the first product does not count if the caller gave start columns,
 * because all p columns may be the caller's. Residuals below 64 u max |theta| (blocks in f32:
 * 4 u_32) are rounding, and no smaller residual is demanded. apply_rough is not used.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>
#include <string.h>

typedef struct orthogonal_params {
    int64_t oversample;
} orthogonal_params;

enum {
    DEFAULT_OVERSAMPLE = 8,
    DEFAULT_PASSES = 1000,
    LIKELY_PASSES = 8 /* measured on clustered data */
};

static const mercer_param rows[] = {
    MERCER_PARAM_INT(orthogonal_params, oversample, "0", "", MERCER_AUTO, 0, 1e6,
                     "columns iterated in addition to the r wanted; 0: 8"),
};

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t width(const orthogonal_params *params, int64_t whole, int64_t r) {
    return min(r + (params->oversample > 0 ? params->oversample : DEFAULT_OVERSAMPLE), whole);
}

static int64_t most_passes(const mercer_eigen_request *request) {
    return request->max_passes > 0 ? request->max_passes : DEFAULT_PASSES;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task;
    const int64_t l = request->locked.count, p = width(params, n - l, request->r);
    const double tall = (double)n * (double)p, cube = (double)p * (double)p * (double)p;
    out->bytes = 8 * p * (2 * p + l + 2);
    out->blocks = 3 * p;
    out->columns = p;
    out->passes = most_passes(request);
    out->likely_passes = min(out->passes, LIKELY_PASSES);
    out->flops = (double)out->passes * (tall * (double)(14 * p + 8 * l) + 9 * cube);
    return MERCER_OK;
}

typedef struct iteration {
    const mercer_host *host;
    mercer_task *task;
    const mercer_operator *op;
    const mercer_eigen_request *request;
    mercer_eigen_result *out;
    int64_t n, l, p;
    int64_t random; /* random columns drawn so far */
    /* q: the basis, later the images of Ritz vectors; z: image of the basis; x: Ritz vectors */
    mercer_range q, z, x;
    double *h, *s, *theta, *norm, *locked; /* h, s: p x p; theta, norm: p; locked: l x p */
    double shift, scale;                   /* shift: c; scale: largest |theta| so far */
} iteration;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int32_t status_ = (call);                                                                                      \
        if (status_) return status_;                                                                                   \
    } while (0)

static int32_t prepare(iteration *x) {
    const int64_t p = x->p, count[] = {p * p, p * p, p, p, x->l * p};
    double **array[] = {&x->h, &x->s, &x->theta, &x->norm, &x->locked};
    for (int i = 0; i < 5; i++)
        if (!(*array[i] = x->host->alloc(x->task, 8 * count[i]))) return MERCER_E_MEMORY;
    mercer_range *tall[] = {&x->q, &x->z, &x->x};
    for (int i = 0; i < 3; i++) {
        *tall[i] = (mercer_range){x->host->block(x->task, x->op, p), 0, p};
        if (!tall[i]->block) return MERCER_E_MEMORY;
    }
    return MERCER_OK;
}

/* Makes an orthonormal basis of the first `count` columns of q and of random columns, p in all. */
static int32_t orthonormalise(iteration *x, int64_t count) {
    const int64_t p = x->p;
    int64_t rank = 0;
    for (int attempt = 0; attempt < 4; attempt++) {
        TRY(x->host->random(x->task, (mercer_range){x->q.block, count, p - count}, x->random));
        x->random += p - count;
        TRY(x->host->orthonormalise(x->task, x->q, x->request->locked, &rank));
        if (rank == p) return MERCER_OK;
        count = rank;
    }
    return x->host->fail(x->task, MERCER_E_INTERNAL, "orthogonal: cannot build a basis of %lld columns", (long long)p);
}

/* z = P A q */
static int32_t apply(iteration *x) {
    const int64_t l = x->l, p = x->p;
    TRY(x->op->apply(x->op, x->task, x->q, x->z));
    x->out->passes += 1;
    x->out->applies += p;
    if (l == 0) return MERCER_OK;
    TRY(x->host->dot(x->task, x->request->locked, x->z, x->locked, l));
    for (int64_t i = 0; i < l * p; i++) x->locked[i] = -x->locked[i];
    return x->host->times(x->task, x->request->locked, x->locked, l, 1, x->z);
}

/* Computes Theta and X, and puts the images Z S into q. */
static int32_t rayleigh_ritz(iteration *x) {
    const int64_t p = x->p;
    TRY(x->host->dot(x->task, x->q, x->z, x->h, p));
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = j; i < p; i++) x->h[i + p * j] = (x->h[i + p * j] + x->h[j + p * i]) / 2;
    TRY(x->host->eigh(x->task, p, x->h, p, p, x->theta, x->s, p));
    TRY(x->host->times(x->task, x->q, x->s, p, 0, x->x));
    TRY(x->host->times(x->task, x->z, x->s, p, 0, x->q));
    const double lowest = x->theta[p - 1];
    x->out->most_negative = fmin(x->out->most_negative, lowest);
    x->scale = fmax(x->scale, fmax(fabs(x->theta[0]), fabs(lowest)));
    if (x->shift > 0 || lowest < -x->theta[x->request->r - 1]) x->shift = -x->out->most_negative;
    return MERCER_OK;
}

/* Computes |q - X Theta| of the r requested pairs, where q holds Z S; overwrites z. */
static int32_t residuals(iteration *x, double *worst) {
    const int64_t p = x->p, r = x->request->r;
    memset(x->s, 0, 8 * (size_t)(p * p));
    for (int64_t j = 0; j < r; j++) x->s[j + p * j] = -x->theta[j];
    const mercer_range to = {x->z.block, 0, r};
    TRY(x->host->copy(x->task, (mercer_range){x->q.block, 0, r}, to));
    TRY(x->host->times(x->task, x->x, x->s, p, 1, to));
    TRY(x->host->norms(x->task, to, x->norm));
    *worst = 0;
    for (int64_t j = 0; j < r; j++) *worst = fmax(*worst, x->out->residuals[j] = x->norm[j]);
    return MERCER_OK;
}

/* q += shift x */
static int32_t shift(iteration *x) {
    const int64_t p = x->p;
    memset(x->s, 0, 8 * (size_t)(p * p));
    for (int64_t j = 0; j < p; j++) x->s[j + p * j] = x->shift;
    return x->host->times(x->task, x->x, x->s, p, 1, x->q);
}

/* A checkpoint consists of the basis of the next product and of this many numbers. */
enum { STATE = 8 };

static int32_t keep(iteration *x, double first, double done) {
    const double state[STATE] = {
        (double)x->random,      x->shift, x->scale, x->out->most_negative, (double)x->out->applies,
        (double)x->out->passes, first,    done};
    return x->host->checkpoint(x->task, state, STATE, &x->q, 1);
}

static int32_t resume(iteration *x, double *first, double *done, int32_t *found) {
    double state[STATE];
    TRY(x->host->resume(x->task, state, STATE, &x->q, 1, found));
    if (!*found) return MERCER_OK;
    for (int k = 0; k < STATE; k++)
        if (!isfinite(state[k]) || state[k] > 0x1p53 || state[k] < -0x1p53)
            return x->host->fail(x->task, MERCER_E_MODEL, "the checkpoint has the number %g, which no pass leaves",
                                 state[k]);
    x->random = (int64_t)state[0], x->shift = state[1], x->scale = state[2], x->out->most_negative = state[3];
    x->out->applies = (int64_t)state[4], x->out->passes = (int64_t)state[5], *first = state[6], *done = state[7];
    return MERCER_OK;
}

static int32_t iterate(iteration *x) {
    const mercer_eigen_request *request = x->request;
    const int64_t p = x->p, r = request->r, passes = most_passes(request), given = min(request->start_count, p);
    const double unit = x->op->dtype == MERCER_F32 ? 4 * (FLT_EPSILON / 2) : 64 * (DBL_EPSILON / 2);
    double first = 0, done = 0, worst;
    int32_t found = 0;
    TRY(resume(x, &first, &done, &found));
    if (!found && given > 0) TRY(request->start(request->user, (mercer_range){x->q.block, 0, given}));
    if (!found) TRY(orthonormalise(x, given));
    for (;;) {
        TRY(apply(x));
        TRY(rayleigh_ritz(x));
        TRY(residuals(x, &worst));
        const double limit = mercer_residual_limit(request, x->theta, unit * x->scale);
        const int whole = p == x->n - x->l;
        first = fmax(first, worst);
        if (worst > limit && limit > 0) done = fmax(done, 1 - log(worst / limit) / log(first / limit));
        TRY(x->host->progress(x->task, done));
        x->out->converged = worst <= limit && (given == 0 || x->out->passes > 1 || whole);
        if (request->enough && request->enough(request->user, x->theta, r)) x->out->converged = 1;
        if (x->out->converged || whole || x->out->passes >= passes) return MERCER_OK;
        if (x->shift > 0) TRY(shift(x));
        TRY(orthonormalise(x, p));
        TRY(keep(x, first, done));
    }
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    iteration x = {.host = host, .task = task, .op = op, .request = request, .out = out};
    x.n = op->n;
    x.l = request->locked.count;
    x.p = width(params, x.n - x.l, request->r);
    out->most_negative = INFINITY;
    out->applies = out->passes = 0;
    TRY(prepare(&x));
    TRY(iterate(&x));
    memcpy(out->values, x.theta, 8 * (size_t)request->r);
    return host->copy(task, (mercer_range){x.x.block, 0, request->r}, out->vectors);
}

static const mercer_solver_ops ops = {
    .struct_size = sizeof(mercer_solver_ops),
    .flags = MERCER_USES_START | MERCER_KEEPS_STATE,
    .forecast = forecast,
    .solve = solve,
};

MERCER_PLUGIN(MERCER_KIND_SOLVER, "orthogonal", MERCER_VERSION,
              "orthogonal iteration, for comparison, or if good start vectors are known",
              "Achlioptas, McSherry & Schoelkopf, NIPS (2001); Rutishauser, Numer. Math. 16 (1970)", rows,
              orthogonal_params, ops)
