/* reducer-energy.c - rows of largest column energy: j = argmax s_j / R_jj, s_j = sum_t w_t R_jt^2,
 * R = K - L L^T
 *
 * Jiang, Snapp, Motai & Zhu, Accelerated kernel feature analysis, CVPR 2006. s_j / R_jj is the
 * amount by which the pivot j lowers the weighted sum of the residuals R_tt. All s_j are computed
 * again in each step, which is the simplest way. Rows with R_jj < delta are not chosen. Cost: m + 1
 * passes of n^2 kernel values, n^2 m^2 flops. The report gives the error as mse, as for greedy. */
#include <mercer/pivots.h>

typedef struct energy {
    mercer_pivot_options stop;
    double delta;
} energy;

static const mercer_param rows[] = {
    MERCER_PIVOT_ROWS(energy, stop),
    MERCER_PARAM_REAL(energy, delta, "0", "", MERCER_HI_OPEN, 0, INFINITY,
                      "no centre has a squared residual below this"),
};

typedef struct energies {
    double delta, *s;
} energies;

static int32_t init(void *user, const mercer_pivot_state *state) {
    return state->row_squares(state, NULL, ((energies *)user)->s);
}
static int32_t update(void *user, const mercer_pivot_state *state, int64_t pivot, const double *column) {
    (void)pivot, (void)column;
    return init(user, state);
}
static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    const energies *of = user;
    for (int64_t i = first; i < first + count; i++)
        scores[i - first] = state->residual[i] < of->delta ? -1 : of->s[i] / state->residual[i];
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const int32_t status = mercer_pivot_cost(host, task, params, shape, MERCER_PIVOT_FULL, out);
    out->bytes += 8 * shape->n;
    out->kernel_evaluations += shape->n * shape->n * (out->m + 1);
    out->likely_evaluations += (double)(shape->n * shape->n) * (double)(out->likely_m + 1);
    return status;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    energies own = {.delta = ((const energy *)params)->delta, .s = host->alloc(task, 8 * shape->n)};
    const mercer_pivot_rule rule = {.struct_size = sizeof rule,
                                    .needs = MERCER_PIVOT_FULL,
                                    .user = &own,
                                    .init = init,
                                    .score = score,
                                    .update = update};
    return own.s ? mercer_pivot_reduce(host, task, params, shape, &rule) : MERCER_E_MEMORY;
}

static const mercer_reducer_ops ops = {.struct_size = sizeof ops, .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "energy", MERCER_VERSION, "rows of largest column energy", "", rows, energy, ops)
