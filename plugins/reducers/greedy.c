/* greedy.c - rows by largest residual: pivoted partial Cholesky K ~ L L^T
 *
 * Franc & Hlavac, Greedy algorithm for a training set reduction in the kernel methods, CAIP 2003 (greedy kernel PCA);
 * Fine & Scheinberg, JMLR 2 (2001). Each step takes the row furthest from the span of those chosen, j = argmax R_jj, R
 * = K - L L^T, in feature space the farthest-point rule. Stops at m rows, at mean R_jj <= mse, at max R_jj <= maxerr,
 * at sum R_jj <= trace sum K_jj, or at full rank. Cost: n m kernel values, n m^2 flops in about m/35 sweeps, n m
 * numbers of the tiles' type (a budget too small for them: m^2, for m/70 times the kernel values and m/105 times the
 * flops more). Needs a positive semidefinite kernel. Error: reducer.mse = mean R_jj is exactly the mean squared
 * feature-space distance of the rows to the span of the chosen ones, and bounds what projected kernel PCA loses: 0 <=
 * sum_i (lambda_i - lambda_i') <= mse (eigenvalues over n). At equal m it is 20 to 27 % above that of rpcholesky on
 * clustered data; its largest residual is smaller.
 */
#include <mercer/pivots.h>

typedef struct greedy {
    mercer_pivot_options stop;
} greedy;

static const mercer_param rows[] = {MERCER_PIVOT_ROWS(greedy, stop)};

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_BOUND};
    return mercer_pivot_reduce(host, task, params, shape, &rule);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = mercer_pivot_forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "greedy", MERCER_VERSION,
              "rows of largest residual, one after another (pivoted Cholesky)", "Franc & Hlavac, CAIP (2003)", rows,
              greedy, ops)
