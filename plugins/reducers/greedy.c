/* greedy.c - rows by largest residual: pivoted partial Cholesky K ~ L L^T
 *
 * Franc & Hlavac, Greedy algorithm for a training set reduction in the kernel methods, CAIP 2003
 * (greedy kernel PCA); Fine & Scheinberg, JMLR 2 (2001). Each step chooses the row that is
 * farthest, in feature space, from the span of the rows chosen before: j = argmax R_jj, R = K - L
 * L^T. Selection stops at m rows, at mean R_jj <= mse, at max R_jj <= maxerr, at sum R_jj <= trace
 * sum K_jj, or at full rank. Cost: n m kernel values, and n m^2 flops in about m/35 sweeps. Memory:
 * n m numbers of the tiles' type; if the budget is too small for these, m^2 numbers, and each sweep
 * recomputes L, which adds about m/70 times as many kernel values and m/105 times as many flops.
 * The kernel must be positive semidefinite. Error: reducer.mse = mean R_jj is exactly the mean
 * squared feature-space distance of the rows to the span of the chosen ones, and bounds what
 * projected kernel PCA loses: 0 <= sum_i (lambda_i - lambda_i') <= mse, where lambda_i are the
 * eigenvalues of K/n and lambda_i' those of L L^T/n. At equal m, mse is 20 to 27 % above that of
 * rpcholesky on clustered data; the largest residual is smaller.
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
