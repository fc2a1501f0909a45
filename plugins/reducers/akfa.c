/* akfa.c - rows that lower the mean error most: p = argmax s_j / R_jj, s_j = sum_t w_t R_jt^2, R = K - L L^T
 *
 * Accelerated kernel feature analysis (Jiang, Snapp, Motai & Zhu, CVPR 2006, equation 11 with its missing square). s_j
 * / R_jj is exactly the amount by which the pivot j lowers sum_t w_t R_tt, the squared feature-space distance of all
 * rows to the span of the pivots: AKFA is greedy in the mean error, as `greedy` is in the largest. K is never updated:
 * one product with K for each pivot keeps all s, with bounds on their errors (src/factor/column_energy.cpp); the pivots
 * are those of exact arithmetic down to 1e-10 max K_jj (f32: of the rounded matrix, 1.5e-5). Stops at m rows, at mean
 * R_jj <= mse, at max R_jj <= maxerr, at sum R_jj <= trace sum K_jj, or at full rank. Cost: m passes of n^2/2 kernel
 * values, or one where the budget holds them; n^2 flops a pivot. Error: reducer.mse is the mean squared distance to the
 * span.
 */
#include <mercer/pivots.h>

typedef struct akfa {
    mercer_energy_options energy;
} akfa;

static const mercer_param rows[] = {MERCER_ENERGY_ROWS(akfa, energy), MERCER_SELECTION_ROWS(akfa, energy)};

static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    (void)user;
    for (int64_t j = first; j < first + count; j++) scores[j - first] = state->energy[j] / state->residual[j];
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    return mercer_pivot_cost(host, task, params, shape, MERCER_PIVOT_ENERGY, out);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_ENERGY, .score = score};
    return mercer_pivot_reduce(host, task, params, shape, &rule);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "akfa", MERCER_VERSION, "rows that lower the mean error most, one after another",
              "Jiang, Snapp, Motai & Zhu, CVPR (2006)", rows, akfa, ops)
