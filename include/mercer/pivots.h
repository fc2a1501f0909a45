/* pivots.h - what reducers by pivoted Cholesky have in common: the options m, mse, maxerr and trace, the forecast, and
 * the report. Header only, C11 or C++; it is compiled into the plugin and is no part of the ABI. A rule then takes
 * about forty lines: its mathematics, its functions, and its registration. plugins/reducers/greedy.c is the shortest.
 *
 *     typedef struct name {
 *         mercer_pivot_options stop; the first member
 *         ... parameters of the rule's own, if any
 *     } name;
 *     static const mercer_param rows[] = {MERCER_PIVOT_ROWS(name, stop), ... their rows};
 *     static int32_t reduce(...) { ... return mercer_pivot_reduce(host, task, params, shape, &rule); }
 *     static const mercer_reducer_ops ops = {
 *         .struct_size = sizeof(mercer_reducer_ops), .forecast = mercer_pivot_forecast, .reduce = reduce};
 *
 * A rule that needs MERCER_PIVOT_FULL, or memory of its own, writes a forecast that calls mercer_pivot_cost and adds
 * the memory and the passes of the rule. */
#ifndef MERCER_PIVOTS_H
#define MERCER_PIVOTS_H

#include "plugin.h"
#include <math.h>

#ifdef __cplusplus
extern "C" {
#define MERCER_ALL_ZERO                                                                                                \
    {}
#else
#define MERCER_ALL_ZERO                                                                                                \
    { 0 }
#endif

typedef struct mercer_pivot_options {
    int64_t m;
    double mse, maxerr, trace;
} mercer_pivot_options;

/* Those of rules that need energies. It begins with the others, so that the functions below take both. */
typedef struct mercer_energy_options {
    mercer_pivot_options stop;
    int32_t selection;
    int32_t reserved;
    int64_t rank;
    const char *must, *never;
} mercer_energy_options;

#define MERCER_PIVOT_ROWS(params, stop) MERCER_PIVOT_ROWS_OF(params, stop, "min(n, 1000)")
/* The same for rules that need MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION. */
#define MERCER_ENERGY_ROWS(params, energy)                                                                             \
    MERCER_PIVOT_ROWS_OF(params, energy.stop, "output.components, or 10 if that is 0 too"),                            \
        MERCER_PARAM_NAMED("must", const char *, MERCER_TEXT, params, energy.must, "", "", "", 0, 0, 0,                \
                           "rows that are selected first, such as 3,17; landmarks: the rows given as landmarks"),      \
        MERCER_PARAM_NAMED("never", const char *, MERCER_TEXT, params, energy.never, "", "", "", 0, 0, 0,              \
                           "rows that are not selected, such as 3,17; landmarks: the rows given as landmarks")
#define MERCER_SELECTION_ROWS(params, energy)                                                                          \
    MERCER_PARAM_NAMED("selection", int32_t, MERCER_CHOICE, params, energy.selection, "auto",                          \
                       "auto|exact|in-factor|rows|sketch|quantile", "", 0, 0, 0,                                       \
                       "exact: one pass over the kernel matrix for each row; in-factor: in the span of random rows, "  \
                       "for large n; rows, sketch: from random samples; quantile: the best of 59 random rows"),        \
        MERCER_PARAM_NAMED("rank", int64_t, MERCER_INT, params, energy.rank, "0", "", "", MERCER_AUTO, 0, 9e15,        \
                           "selection = in-factor: number of random rows that span the space; 0: 4 m")
#define MERCER_PIVOT_ROWS_OF(params, stop, otherwise)                                                                  \
    MERCER_PARAM_NAMED("m", int64_t, MERCER_INT, params, stop.m, "0", "", "",                                          \
                       MERCER_AUTO | MERCER_SHORT | MERCER_CENTRES, 0, 9e15,                                           \
                       "largest number of centres; 0: " otherwise),                                                    \
        MERCER_PARAM_NAMED("mse", double, MERCER_REAL, params, stop.mse, "0", "", "", MERCER_HI_OPEN, 0, INFINITY,     \
                           "stop when the mean squared residual is at most this"),                                     \
        MERCER_PARAM_NAMED("maxerr", double, MERCER_REAL, params, stop.maxerr, "0", "", "", MERCER_HI_OPEN, 0,         \
                           INFINITY, "stop when the largest squared residual is at most this"),                        \
        MERCER_PARAM_NAMED("trace", double, MERCER_REAL, params, stop.trace, "0", "", "", MERCER_HI_OPEN, 0, 1,        \
                           "stop when the sum of the residuals is at most this share of the trace")

/* Returns the stop for the options at the beginning of the struct to which params points: a mercer_energy_options if
 * the rule needs energies, otherwise a mercer_pivot_options. */
static inline mercer_pivot_stop mercer_pivot_stop_of(const void *params, const mercer_shape *shape, int32_t needs) {
    const int64_t usual = needs < MERCER_PIVOT_ENERGY ? 1000 : shape->r > 0 ? shape->r : 10;
    const mercer_pivot_options *options = (const mercer_pivot_options *)params;
    mercer_pivot_stop stop = MERCER_ALL_ZERO;
    stop.struct_size = sizeof stop;
    stop.m = options->m > 0 ? options->m : shape->n < usual ? shape->n : usual;
    stop.mse = options->mse;
    stop.maxerr = options->maxerr;
    stop.trace = options->trace;
    stop.needs = needs >= MERCER_PIVOT_FULL ? needs : 0;
    if (needs >= MERCER_PIVOT_ENERGY) {
        const mercer_energy_options *energy = (const mercer_energy_options *)params;
        stop.selection = energy->selection;
        stop.rank = energy->rank;
        stop.must = energy->must;
        stop.never = energy->never;
    }
    return stop;
}

/* Computes the cost of a rule with these needs. m > n is refused. */
static inline int32_t mercer_pivot_cost(const mercer_host *host, mercer_task *task, const void *params,
                                        const mercer_shape *shape, int32_t needs, mercer_cost *out) {
    mercer_pivot_stop stop = mercer_pivot_stop_of(params, shape, needs);
    return host->pivot_cost(task, shape, &stop, out);
}

/* The operation `forecast` for a rule that needs MERCER_PIVOT_BOUND or MERCER_PIVOT_SAMPLE. */
static inline int32_t mercer_pivot_forecast(const mercer_host *host, mercer_task *task, const void *params,
                                            const mercer_shape *shape, mercer_cost *out) {
    return mercer_pivot_cost(host, task, params, shape, MERCER_PIVOT_BOUND, out);
}

/* Selects pivots by the rule, reports mse, trace and what the selection took (sweeps, or passes, refreshes and columns
 * for rules that need energies), and gives the pivots as centres. */
static inline int32_t mercer_pivot_reduce(const mercer_host *host, mercer_task *task, const void *params,
                                          const mercer_shape *shape, const mercer_pivot_rule *rule) {
    const mercer_pivot_stop stop = mercer_pivot_stop_of(params, shape, rule->needs);
    mercer_cost cost = MERCER_ALL_ZERO;
    mercer_pivots pivots = MERCER_ALL_ZERO;
    int32_t status;
    cost.struct_size = sizeof cost;
    pivots.struct_size = sizeof pivots;
    status = mercer_pivot_cost(host, task, params, shape, rule->needs, &cost);
    if (!status) status = host->pivot_cholesky(task, rule, &stop, &pivots);
    if (!status) status = host->report(task, "mse", pivots.mse);
    if (!status) status = host->report(task, "trace", pivots.trace);
    if (!status && rule->needs < MERCER_PIVOT_ENERGY) status = host->report(task, "sweeps", (double)pivots.sweeps);
    if (!status && rule->needs >= MERCER_PIVOT_ENERGY) {
        status = host->report(task, "passes", (double)pivots.passes);
        if (!status) status = host->report(task, "refreshes", (double)pivots.refreshes);
        if (!status) status = host->report(task, "columns", (double)pivots.columns);
    }
    return status ? status : host->give(task, pivots.count, pivots.index, NULL, NULL);
}

#undef MERCER_ALL_ZERO
#ifdef __cplusplus
}
#endif
#endif
