/* solver-power.c - orthogonal iteration with Rayleigh-Ritz, a solver that sees nothing of the operator but apply()
 *
 * Iterates on A + c, c = the largest -theta seen, so that negative eigenvalues do not win. One product an iteration.
 */
#include <float.h>
#include <math.h>
#include <mercer/plugin.h>

typedef struct power {
    int64_t iterations;
} power;

static const mercer_param rows[] = {
    MERCER_PARAM_INT(power, iterations, "1000", "", 0, 1, 9e15, "at most"),
};

static int64_t width(int64_t n, int64_t r) { return r + 8 < n ? r + 8 : n; }

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task;
    int64_t p = width(n, request->r);
    out->passes = ((const power *)params)->iterations;
    out->columns = p;
    out->bytes = 8 * (3 * n * p + 3 * p * p + p);
    out->flops = (double)out->passes * 12 * (double)n * (double)p * (double)p;
    return MERCER_OK;
}

/* y = A q less its part along the locked vectors */
static int32_t product(const mercer_host *host, mercer_task *task, const mercer_operator *op,
                       const mercer_eigen_request *request, const double *q, int64_t p, double *y, double *small) {
    int64_t n = op->n, l = request->locked_count;
    int32_t status = op->apply(op, task, q, n, p, y, n);
    if (status || l == 0) return status;
    if ((status = host->tall_dot(task, n, l, request->locked, n, p, y, n, small, l))) return status;
    return host->gemm(task, 'N', 'N', n, p, l, -1, request->locked, n, small, l, 1, y, n);
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    int64_t n = op->n, r = request->r, l = request->locked_count, p = width(n - l, r), rank = 0;
    int64_t limit = ((const power *)params)->iterations;
    double *q = host->alloc(task, 8 * n * p), *z = host->alloc(task, 8 * n * p), *x = host->alloc(task, 8 * n * p);
    double *h = host->alloc(task, 8 * p * p), *s = host->alloc(task, 8 * p * p), *theta = host->alloc(task, 8 * p);
    double *small = host->alloc(task, 8 * p * (l + 1)), shift = 0;
    int32_t status = MERCER_OK;
    if (!q || !z || !x || !h || !s || !theta || !small) return MERCER_E_MEMORY;
    for (int64_t i = 0; i < n * p; i++) q[i] = host->uniform(task, i, 0) - 0.5;
    out->most_negative = INFINITY;
    out->applies = 0;
    for (out->passes = 0, out->converged = 0; out->passes < limit && !out->converged;) {
        if ((status = host->progress(task, (double)out->passes / (double)limit)) ||
            (status = host->orthonormalise(task, n, p, q, n, l, request->locked, n, &rank)))
            return status;
        if (rank < p) /* directions lost: others come in their place */
            for (int64_t i = n * rank; i < n * p; i++) q[i] = host->uniform(task, i, out->passes + 1) - 0.5;
        if (rank < p && (status = host->orthonormalise(task, n, p, q, n, l, request->locked, n, &rank))) return status;
        if ((status = product(host, task, op, request, q, p, z, small)) ||
            (status = host->tall_dot(task, n, p, q, n, p, z, n, h, p)) ||
            (status = host->eigh(task, p, h, p, p, theta, s, p)) ||
            (status = host->tall_times(task, n, p, q, n, p, s, p, 0, x, n)) || /* Ritz vectors */
            (status = host->tall_times(task, n, p, z, n, p, s, p, 0, q, n)))   /* and their images */
            return status;
        out->passes += 1;
        out->applies += p;
        out->most_negative = fmin(out->most_negative, theta[p - 1]);
        shift = fmax(shift, -theta[p - 1]);
        double scale = fmax(fabs(theta[0]), fabs(theta[p - 1]));
        double allowed = fmax(request->tol * fabs(theta[0]), 64 * DBL_EPSILON * scale);
        out->converged = 1;
        for (int64_t j = 0; j < r; j++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                double e = q[i + n * j] - theta[j] * x[i + n * j];
                sum += e * e;
                out->vectors[i + n * j] = x[i + n * j];
            }
            out->values[j] = theta[j];
            out->residuals[j] = sqrt(sum);
            out->converged = out->converged && out->residuals[j] <= allowed;
        }
        for (int64_t i = 0; i < n * p; i++) q[i] += shift * x[i];
    }
    return MERCER_OK;
}

static const mercer_solver_ops ops = {.struct_size = sizeof ops, .forecast = forecast, .solve = solve};

MERCER_PLUGIN(MERCER_KIND_SOLVER, "power", MERCER_VERSION, "orthogonal iteration", "", rows, power, ops)
