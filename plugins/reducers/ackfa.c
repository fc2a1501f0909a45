/* ackfa.c - AKFA that discards rows as soon as they are well represented: R_jj < delta, R = K - L L^T
 *
 * Accelerated kernel feature analysis with a cut-off (Jiang, Snapp, Motai & Zhu, CVPR 2006). The pivots are those of
 * akfa.c, p = argmax s_j / R_jj, s_j = sum_t w_t R_jt^2, but before each pivot the rows with R_jj < delta are
 * discarded: with discard = candidates they are no longer chosen, with discard = rows, as in the paper, they no longer
 * count in s either, which gives a larger error. The selection ends when no row is left, so delta is also a rule to
 * stop. Cost and error as for akfa.c; discard = rows takes n kernel values and 2 n i flops more for each discarded row.
 */
#include <mercer/pivots.h>

typedef struct ackfa {
    mercer_energy_options energy; /* without parameters for `selection` */
    double delta;
    int32_t discard;
} ackfa;

static const mercer_param rows[] = {
    MERCER_ENERGY_ROWS(ackfa, energy),
    MERCER_PARAM_REAL(ackfa, delta, "0.01", "", MERCER_HI_OPEN, 0, INFINITY,
                      "rows with a squared residual below this are discarded"),
    MERCER_PARAM_CHOICE(ackfa, discard, "candidates", "candidates|rows", "", 0,
                        "discarded rows are no candidates, or no longer count as data either"),
};

static void score(void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    (void)user;
    for (int64_t j = first; j < first + count; j++) scores[j - first] = state->energy[j] / state->residual[j];
}

/* Only the exact selection discards rows. */
static ackfa exact(const void *params) {
    ackfa options = *(const ackfa *)params;
    options.energy.selection = MERCER_SELECT_EXACT;
    return options;
}

static int32_t forecast(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out) {
    const ackfa options = exact(params);
    const int32_t status = mercer_pivot_cost(host, task, &options, shape, MERCER_PIVOT_ENERGY, out);
    if (options.discard) out->kernel_evaluations += shape->n * shape->n;
    return status;
}

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const ackfa options = exact(params);
    const mercer_pivot_rule rule = {.struct_size = sizeof rule,
                                    .needs = MERCER_PIVOT_ENERGY,
                                    .score = score,
                                    .delta = options.delta,
                                    .drop = options.discard};
    return mercer_pivot_reduce(host, task, &options, shape, &rule);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "ackfa", MERCER_VERSION,
              "rows that lower the mean error most, without those that are already represented",
              "Jiang, Snapp, Motai & Zhu, CVPR (2006)", rows, ackfa, ops)
