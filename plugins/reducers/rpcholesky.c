/* rpcholesky.c - rows drawn in proportion to their residual: randomly pivoted partial Cholesky K ~ L L^T
 *
 * Chen, Epperly, Tropp & Webber, Randomly pivoted Cholesky, CPAM (2025). Let R = K - L L^T be the
 * residual and w the sample weights. Each step draws row j with probability w_j R_jj / sum w R. The
 * accelerated form is used (Epperly, Tropp & Webber, Embrace rejection, 2024): many candidates are
 * drawn at once and accepted or rejected, and the accepted rows have the same distribution. The
 * factorisation stops at m rows, at mean R_jj <= mse, at max R_jj <= maxerr, at
 * sum R_jj <= trace sum K_jj, or at full rank.
 *
 * Cost: n m kernel values, n m^2 flops in about m/128 sweeps, n m numbers of the tiles' type. If
 * the budget is too small for these numbers, only m^2 are stored, and recomputing the others takes,
 * in addition, m/256 times as many kernel values and m/384 times as many flops. Needs a positive
 * semidefinite kernel. Error: reducer.mse = mean R_jj is exactly the mean squared feature-space
 * distance of the rows to the span of the drawn ones. If the best r directions leave a residual of
 * eta times the mean of K_jj, the expected mse is at most (1 + a) times that residual for every
 * a > 0, provided that m >= r/a + r log(1/(a eta)).
 */
#include <mercer/pivots.h>

typedef struct rpcholesky {
    mercer_pivot_options stop;
} rpcholesky;

static const mercer_param rows[] = {MERCER_PIVOT_ROWS(rpcholesky, stop)};

static int32_t reduce(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want) {
    (void)want;
    const mercer_pivot_rule rule = {.struct_size = sizeof rule, .needs = MERCER_PIVOT_SAMPLE};
    return mercer_pivot_reduce(host, task, params, shape, &rule);
}

static const mercer_reducer_ops ops = {
    .struct_size = sizeof(mercer_reducer_ops), .forecast = mercer_pivot_forecast, .reduce = reduce};

MERCER_PLUGIN(MERCER_KIND_REDUCER, "rpcholesky", MERCER_VERSION,
              "rows drawn with probability proportional to their residual (randomly pivoted Cholesky)",
              "Chen, Epperly, Tropp & Webber, CPAM (2025)", rows, rpcholesky, ops)
