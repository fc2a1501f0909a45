/* skfa.c - rows of sparse features: p = argmax s_j / (1 + |a_j|_1)^2, s_j = sum_t w_t R_jt^2, R = K - L L^T
 *
 * Sparse kernel feature analysis (Smola, Mangasarian & Schoelkopf, 1999; in the form of Jiang, Snapp, Motai & Zhu, CVPR
 * 2006, equation 9). The feature of row j is the residual of its image, phi_j - sum_i a_ij phi_i over the pivots i with
 * K_II a_j = k_I(x_j). Its coefficients have the 1-norm 1 + |a_j|_1, and divided by it the feature has the sum of
 * squares s_j / (1 + |a_j|_1)^2 over all rows: the pivot is the largest under this constraint. Unlike AKFA it avoids
 * rows that the pivots explain in part. Cost: as akfa.c, and n m numbers, 2 n i flops a pivot, for the a_j. Error:
 * reducer.mse is the mean squared distance of the rows to the span of the pivots.
 */
#include <mercer/pivots.h>

typedef struct skfa {
    mercer_energy_options energy;
} skfa;

static const mercer_param rows[] = {MERCER_ENERGY_ROWS(skfa, energy), MERCER_SELECTION_ROWS(skfa, energy)};

static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    (void)user;
    for (int64_t j = first; j < first + count; j++)
        scores[j - first] = state->energy[j] / (state->expansion[j] * state->expansion[j]);
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    return mercer_pivot_cost(host, task, params, shape, MERCER_PIVOT_EXPANSION, out);
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_EXPANSION, .score = score};
    return mercer_pivot_reduce(host, task, params, shape, &rule);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "skfa", MERCER_VERSION,
              "rows of the sparse feature with the largest variance, one after another",
              "Smola, Mangasarian & Schoelkopf (1999); Jiang, Snapp, Motai & Zhu, CVPR (2006)", rows, skfa, ops)
