/* solver-careless.c - decomposes the whole matrix with eigh, and makes the mistake that its
 * parameter selects. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct careless {
    int32_t fault;
} careless;

enum { NONE, VECTORS, LENGTH, ORDER, DIMENSION, BLOCK, NEGATIVE, COST, EAGER, NEARLY, HONEST };

static const mercer_param rows[] = {
    MERCER_PARAM_CHOICE(careless, fault, "none",
                        "none|vectors|length|order|dimension|block|negative|cost|eager|nearly|honest", "", 0,
                        "what is wrong"),
};

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out) {
    (void)host, (void)task;
    if (((const careless *)params)->fault == COST)
        out->passes = -1;
    else
        out->passes = 1;
    out->bytes = 8 * n * (n + request->r) + 8 * n * (2 * n + 12);
    return MERCER_OK;
}

static int32_t solve(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out) {
    const int32_t fault = ((const careless *)params)->fault;
    const int64_t n = op->n, r = request->r;
    double *a = host->alloc(task, 8 * n * n), *vectors = host->alloc(task, 8 * n * r);
    int32_t status;
    if (!a || !vectors) return MERCER_E_MEMORY;
    if (fault == DIMENSION) return op->dense(op, task, a, 1);
    if (fault == BLOCK && !host->block(task, op, -1)) return MERCER_E_PLUGIN;
    if ((status = op->dense(op, task, a, n)) || (status = host->progress(task, 0.5)) ||
        (status = host->eigh(task, n, a, n, r, out->values, vectors, n)))
        return status;
    out->most_negative = fault == NEGATIVE ? NAN : out->values[r - 1];
    out->passes = 1;
    out->converged = fault != HONEST;
    /* A solver that reports convergence may have residuals of up to ten times the tolerance.
     * `eager` exceeds this limit, `nearly` does not, and `honest` reports that it did not
     * converge. */
    if (fault >= EAGER) out->residuals[0] = (fault == EAGER ? 20 : 5) * request->tol * out->values[0];
    for (int64_t i = 0; i < n * r && fault == LENGTH; i++) vectors[i] *= 2;
    for (int64_t j = 0; j < r / 2 && fault == ORDER; j++) {
        const double value = out->values[j];
        out->values[j] = out->values[r - 1 - j];
        out->values[r - 1 - j] = value;
    }
    return fault == VECTORS ? MERCER_OK : host->put(task, out->vectors, vectors, n);
}

static const mercer_solver_ops ops = {.struct_size = sizeof(mercer_solver_ops), .forecast = forecast, .solve = solve};

MERCER_PLUGIN(MERCER_KIND_SOLVER, "careless", "1.0", "dense, or something wrong", "", rows, careless, ops)
