/* solver-example.c - orthogonal iteration with Rayleigh-Ritz: the top r eigenpairs of a symmetric
 * operator.
 * Source: Golub & Van Loan, Matrix Computations, 8.2. Cost: one product with r + 8 columns in each
 * iteration, which multiplies the error by |lambda_(r+9) / lambda_r|. Error: |lambda - theta| <=
 * |residual|, measured.
 *
 * The host owns the blocks of columns. A solver applies the operator to them by op->apply, and does
 * everything else with them through services. This one iterates on A + c, where c is the largest
 * -theta seen (at least 0), so that negative eigenvalues do not dominate; the two lambda in the
 * cost are eigenvalues of A + c. It keeps its vectors orthogonal to the locked ones. */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct example_params {
    int64_t iterations;
} example_params;

/* One row for each parameter: field, default, group, flags, range, meaning. It becomes a flag and a
 * line of help. */
static const mercer_param rows[] = {
    MERCER_PARAM_INT(example_params, iterations, "1000", "", 0, 1, 9e15, "largest number of iterations"),
};

static int64_t width(int64_t n, int64_t r) { return r + 8 < n ? r + 8 : n; }

/* Says before solve runs what it will need. */
static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task;
    int64_t p = width(n, request->r);
    out->passes = ((const example_params *)params)->iterations;
    out->columns = p;
    out->bytes = 8 * p * (2 * p + request->locked.count + 3);
    out->blocks = 3 * p;
    out->flops = (double)out->passes * 12 * (double)n * (double)p * (double)p;
    return MERCER_OK;
}

/* y = A q without its part along the locked vectors */
static int32_t product(const mercer_host *host, mercer_task *task, const mercer_operator *op,
                       const mercer_eigen_request *request, mercer_range q, mercer_range y, double *small) {
    int64_t l = request->locked.count;
    int32_t status = op->apply(op, task, q, y);
    if (status || l == 0) return status;
    if ((status = host->dot(task, request->locked, y, small, l))) return status;
    for (int64_t i = 0; i < l * y.count; i++) small[i] = -small[i];
    return host->times(task, request->locked, small, l, 1, y);
}

/* y += x diag(factor) */
static int32_t add(const mercer_host *host, mercer_task *task, mercer_range x, const double *factor, mercer_range y,
                   double *small) {
    int64_t p = x.count;
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < p; i++) small[i + p * j] = i == j ? factor[j] : 0;
    return host->times(task, x, small, p, 1, y);
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    int64_t n = op->n, r = request->r, l = request->locked.count, p = width(n - l, r), rank = 0;
    int64_t limit = request->max_passes > 0 ? request->max_passes : ((const example_params *)params)->iterations;
    mercer_range q = {host->block(task, op, p), 0, p}, z = {host->block(task, op, p), 0, p};
    mercer_range x = {host->block(task, op, p), 0, p};
    double *h = host->alloc(task, 8 * p * p), *s = host->alloc(task, 8 * p * p), *theta = host->alloc(task, 8 * p);
    double *small = host->alloc(task, 8 * p * (l + 1)), *norm = host->alloc(task, 8 * p), shift = 0;
    /* The rounding error of a residual, relative to |A|. */
    double rounding = op->dtype == MERCER_F32 ? 4 * (FLT_EPSILON / 2) : 64 * (DBL_EPSILON / 2);
    int32_t status = MERCER_OK;
    if (!q.block || !z.block || !x.block || !h || !s || !theta || !small || !norm) return MERCER_E_MEMORY;
    if ((status = host->random(task, q, 0))) return status;
    out->most_negative = INFINITY;
    out->applies = 0;
    for (out->passes = 0, out->converged = 0; out->passes < limit && !out->converged;) {
        if ((status = host->progress(task, (double)out->passes / (double)limit)) ||
            (status = host->orthonormalise(task, q, request->locked, &rank)))
            return status;
        /* Columns that depended on others were dropped; random ones replace them. */
        mercer_range lost = {q.block, rank, p - rank};
        if (rank < p && ((status = host->random(task, lost, p * (out->passes + 1))) ||
                         (status = host->orthonormalise(task, q, request->locked, &rank))))
            return status;
        if ((status = product(host, task, op, request, q, z, small)) || (status = host->dot(task, q, z, h, p)) ||
            (status = host->eigh(task, p, h, p, p, theta, s, p)) ||
            (status = host->times(task, q, s, p, 0, x)) || /* Ritz vectors */
            (status = host->times(task, z, s, p, 0, q)))   /* and their images */
            return status;
        out->passes += 1;
        out->applies += p;
        out->most_negative = fmin(out->most_negative, theta[p - 1]);
        shift = fmax(shift, -theta[p - 1]);
        double scale = fmax(fabs(theta[0]), fabs(theta[p - 1]));
        double allowed = mercer_residual_limit(request, theta, rounding * scale);
        for (int64_t j = 0; j < p; j++) norm[j] = -theta[j];
        if ((status = host->copy(task, q, z)) || (status = add(host, task, x, norm, z, h)) ||
            (status = host->norms(task, z, norm)))
            return status;
        out->converged = 1;
        for (int64_t j = 0; j < r; j++) {
            out->values[j] = theta[j];
            out->residuals[j] = norm[j];
            out->converged = out->converged && norm[j] <= allowed;
        }
        if (request->enough && request->enough(request->user, theta, r)) out->converged = 1;
        for (int64_t j = 0; j < p; j++) norm[j] = shift;
        if ((status = add(host, task, x, norm, q, h))) return status;
    }
    return host->copy(task, (mercer_range){x.block, 0, r}, out->vectors);
}

static const mercer_solver_ops ops = {.struct_size = sizeof ops, .forecast = forecast, .solve = solve};

MERCER_PLUGIN(MERCER_KIND_SOLVER, "example", "0.1", "orthogonal iteration", "", rows, example_params, ops)
