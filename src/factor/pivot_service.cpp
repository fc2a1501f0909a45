// The services pivot_cholesky and pivot_cost of plugin.h. A rule that scores by the residual alone
// and does not need MERCER_PIVOT_FULL runs in rounds (partial_cholesky.cpp); any other rule runs
// column by column (column_by_column.cpp).
#include "pivot_service.h"

#include "in_factor.h"

#include "../operator/gram_cost.h"

#include <algorithm>
#include <cinttypes>

namespace mercer {
namespace {

// Returns true if growth ended because no row above the rank floor is left.
template <class T>
bool grow_in_rounds(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                    const PivotStop &stop) {
    const mercer_pivot_state state = pivot_state(factor);
    if (rule.init && !continues(task, rule.init(rule.user, &state))) return false;
    rule.needs == MERCER_PIVOT_SAMPLE ? factor.grow_sampled(stop, task.random) : factor.grow_greedy(stop);
    return factor.rank_reached();
}

} // namespace

PivotStop read_stop(const mercer_pivot_stop &stop) {
    if (stop.m < 1) fail(MERCER_E_PLUGIN, "pivot_cholesky: m = %" PRId64 ", must be >= 1", stop.m);
    return {stop.m, stop.mse, stop.maxerr, stop.trace};
}

template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy) {
    if (rule.needs < MERCER_PIVOT_BOUND || rule.needs > MERCER_PIVOT_FULL)
        fail(MERCER_E_PLUGIN, "pivot_cholesky: needs = %d is unknown", rule.needs);
    const PivotStop until = read_stop(stop);
    const bool rank_reached = proceeds_in_rounds(rule) ? grow_in_rounds(factor, task, rule, until)
                                                       : grow_column_by_column(factor, task, rule, until);
    const int64_t n = factor.n(), m = factor.count();
    mercer_pivots out{};
    out.struct_size = sizeof out;
    out.count = m;
    out.index = factor.index();
    out.residual = factor.residual();
    out.mse = factor.mean_residual();
    out.trace = factor.trace_left();
    out.sweeps = factor.sweeps();
    out.rank_reached = rank_reached;
    if (!stop.factor) return out;
    if constexpr (sizeof(T) == sizeof(double)) {
        out.factor = factor.factor();
        out.factor_row_stride = factor.stride();
    } else {
        copy = task.run.buffer<double>(n, m);
        for (int64_t i = 0; i < n; ++i) std::copy_n(factor.factor() + i * factor.stride(), m, copy.data() + i * m);
        out.factor = copy.data();
        out.factor_row_stride = m;
    }
    out.factor_col_stride = 1;
    return out;
}

namespace {

// The cost of a selection in the span of random pivots, and of the factor of the selected rows.
// stored: both factors are kept in memory; factor: receives the bytes of the second one.
template <class T>
mercer_cost in_factor_cost(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop, bool stored,
                           const TileBytes &tiles, int64_t *factor) {
    const PivotStop until = read_stop(stop);
    const int64_t m = until.m, rank = in_factor_rank(stop.rank, m, n), threads = task.run.threads();
    const Factor kind = stored ? Factor::stored : Factor::recomputed;
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    const Bytes bytes = larger(in_factor_bytes<T>(task.run, n, m, stop.rank, stored, tiles),
                               PartialCholesky<T>::bytes(n, m, false, threads, tiles, kind)) +
                        8 * m;
    *factor = stored ? PartialCholesky<T>::stored_bytes_of(n, m, false, tiles) : 0;
    cost.bytes = bytes.most, cost.likely_bytes = bytes.likely;
    cost.m = m, cost.likely_m = until.early() ? (m + 1) / 2 : m;
    const mercer_figure values = in_factor_evaluations<T>(n, rank, stored);
    cost.kernel_evaluations = static_cast<int64_t>(values.most) + PartialCholesky<T>::evaluations(n, m, kind);
    cost.likely_evaluations = values.likely + static_cast<double>(n) * static_cast<double>(cost.likely_m);
    const double rows = static_cast<double>(n), columns = static_cast<double>(rank), order = static_cast<double>(m);
    cost.flops = rows * (2 * columns * columns + order * order);
    return cost;
}

// The cost of a selection by column energies. An exact one makes m passes, and one for each refresh:
// two refreshes are likely, and at most there is one before each pivot.
template <class T>
mercer_cost energy_cost(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop, int32_t how,
                        const TileBytes &tiles) {
    const PivotStop until = read_stop(stop);
    const int64_t m = until.m, likely = until.early() ? (m + 1) / 2 : m, pass = pass_evaluations(n);
    const GramService found = gram_service<T>(task.run, n, MERCER_GRAM_STORED, 1, tiles);
    const bool stored = found.store == Store::matrix;
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    cost.m = m, cost.likely_m = likely;
    const Bytes bytes = found.bytes + ColumnEnergy::bytes(n, m, until.early(), stop.needs, how, task.run.threads());
    cost.bytes = bytes.most, cost.likely_bytes = bytes.likely;
    const double rows = static_cast<double>(n), most = static_cast<double>(m), usual = static_cast<double>(likely);
    const int64_t kept = stored ? 1 : m; // passes that compute kernel values
    constexpr int64_t drawn = EnergySketch::width(EnergySketch::Kind::rows);
    // `once` kernel values, and n times `each` for each pivot.
    const auto evaluations = [&](int64_t once, int64_t each) {
        cost.kernel_evaluations = once + n * each * m;
        cost.likely_evaluations = static_cast<double>(once) + rows * static_cast<double>(each) * usual;
    };
    switch (how) {
    case MERCER_SELECT_ROWS: evaluations(n * drawn, best_by_rows); break;
    case MERCER_SELECT_SKETCH: evaluations(pass, best_by_signs); break;
    case MERCER_SELECT_QUANTILE: evaluations(0, quantile_rows); break;
    default: // at most one refresh for each pivot, usually two in all; and the columns of contenders
        cost.kernel_evaluations = kept * pass + m * n * n + 17 * n * m;
        cost.likely_evaluations = static_cast<double>(pass) * (stored ? 1 : usual) + 2 * rows * rows + 2 * rows * usual;
    }
    const double products = how == MERCER_SELECT_EXACT      ? rows
                            : how == MERCER_SELECT_QUANTILE ? quantile_rows * most
                                                            : 2 * drawn;
    cost.flops = 2 * rows * products * most + 3 * rows * most * most;
    return cost;
}

} // namespace

template <class T>
mercer_cost PivotForecast::cost_of(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop) {
    const PivotStop until = read_stop(stop);
    const bool columns = stop.factor != 0, full = stop.needs == MERCER_PIVOT_FULL;
    using Pivots = PartialCholesky<T>;
    const int64_t m = until.m, likely = until.early() ? (m + 1) / 2 : m;
    const Factor kind = columns || full || stores_factor_ ? Factor::stored : Factor::recomputed;
    const bool stored = kind == Factor::stored;
    const int64_t copy = columns && sizeof(T) == 4 ? checked_bytes("the factor's columns", n, m, 8) : 0;
    const double flops = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(m),
                 rounds = static_cast<double>(Pivots::rounds(m));
    factor_bytes_ = stored ? Pivots::stored_bytes_of(n, m, until.early(), tiles_) : 0;
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    const Bytes asked = full ? Pivots::residual_bytes(n, m, task.run.threads(), tiles_) : Bytes(0);
    const Bytes bytes = Pivots::bytes(n, m, until.early(), task.run.threads(), tiles_, kind) + copy + asked;
    // The upper limit includes the memory of rules that grow the factor column by column, because
    // the rule is not known here.
    cost.bytes = bytes.most + (stored ? column_by_column_bytes(n) : 0);
    cost.likely_bytes = bytes.likely;
    cost.kernel_evaluations = Pivots::evaluations(n, m, kind);
    cost.m = m;
    cost.likely_m = likely;
    // The factor 1.1 allows for the kernel values among the candidates of each round.
    cost.likely_evaluations =
        1.1 * static_cast<double>(n) * static_cast<double>(likely + 1) * (stored ? 1 : 1 + rounds / 8);
    cost.flops = flops * (stored ? 1 : 1 + rounds / 3);
    return cost;
}

mercer_cost PivotForecast::pivot_cost(const mercer_task &task, const mercer_shape &shape,
                                      const mercer_pivot_stop &stop) {
    const int64_t n = shape.n, m = read_stop(stop).m;
    if (m > n) fail(MERCER_E_VALUE, "m = %" PRId64 ", must be <= n = %" PRId64, m, n);
    const bool f32 = shape.dtype == MERCER_F32;
    asked_ = true;
    if (by_energy(stop.needs)) {
        factor_bytes_ = 0;
        const int32_t how = energy_selection(stop, n, centred_);
        if (how == MERCER_SELECT_IN_FACTOR)
            return f32 ? in_factor_cost<float>(task, n, stop, stores_factor_, tiles_, &factor_bytes_)
                       : in_factor_cost<double>(task, n, stop, stores_factor_, tiles_, &factor_bytes_);
        return f32 ? energy_cost<float>(task, n, stop, how, tiles_) : energy_cost<double>(task, n, stop, how, tiles_);
    }
    return f32 ? cost_of<float>(task, n, stop) : cost_of<double>(task, n, stop);
}

mercer_cost PivotForecast::gram_cost(const mercer_task &task, const mercer_shape &shape, int32_t flags,
                                     int64_t columns) {
    const GramService found = shape.dtype == MERCER_F32
                                  ? gram_service<float>(task.run, shape.n, flags, columns, tiles_)
                                  : gram_service<double>(task.run, shape.n, flags, columns, tiles_);
    asked_ = true;
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    cost.bytes = found.bytes.most;
    cost.likely_bytes = found.bytes.likely;
    cost.kernel_evaluations = pass_evaluations(shape.n);
    cost.passes = found.store == Store::matrix;
    return cost;
}

int32_t energy_selection(const mercer_pivot_stop &stop, int64_t n, bool centred) {
    constexpr double most_products = 2e10; // of kernel values in the passes of an exact selection
    if (stop.selection < MERCER_SELECT_AUTO || stop.selection > MERCER_SELECT_QUANTILE)
        fail(MERCER_E_PLUGIN, "pivot_cholesky: selection = %d is unknown", stop.selection);
    if (centred && stop.selection == MERCER_SELECT_IN_FACTOR)
        fail(MERCER_E_VALUE, "reducer.selection = in-factor: lift.centred_gram needs one of the other selections");
    if (stop.selection != MERCER_SELECT_AUTO) return stop.selection;
    if (centred) return MERCER_SELECT_EXACT;
    const double rows = static_cast<double>(n), m = static_cast<double>(std::min(stop.m, n));
    return stop.maxerr > 0 || rows * rows * m <= most_products ? MERCER_SELECT_EXACT : MERCER_SELECT_IN_FACTOR;
}

void check_energy_rule(const mercer_pivot_rule &rule, const mercer_pivot_stop &stop, int32_t how) {
    if (!rule.score || rule.init || rule.update)
        fail(MERCER_E_PLUGIN,
             "pivot_cholesky: a rule that needs energies must have a score, and neither init nor update");
    if (!(rule.delta >= 0)) fail(MERCER_E_PLUGIN, "pivot_cholesky: delta = %g, must be >= 0", rule.delta);
    if (rule.delta > 0 && how != MERCER_SELECT_EXACT)
        fail(MERCER_E_PLUGIN, "pivot_cholesky: delta = %g needs selection = MERCER_SELECT_EXACT", rule.delta);
    if (how == MERCER_SELECT_IN_FACTOR && stop.factor)
        fail(MERCER_E_PLUGIN, "pivot_cholesky: MERCER_SELECT_IN_FACTOR gives no factor");
    if (how == MERCER_SELECT_IN_FACTOR && stop.maxerr > 0)
        fail(MERCER_E_VALUE,
             "reducer.maxerr = %g needs a selection that knows all residuals: selection = exact, rows, "
             "sketch or quantile",
             stop.maxerr);
}

mercer_pivots run_pivots(ColumnEnergy &selection, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, const EnergySelection &how) {
    check_energy_rule(rule, stop, how.how);
    selection.select(task, rule, read_stop(stop), how);
    mercer_pivots out{};
    out.struct_size = sizeof out;
    out.count = selection.count();
    out.index = selection.index();
    out.residual = selection.residual();
    out.mse = selection.mean_residual();
    out.trace = selection.trace_left();
    out.rank_reached = selection.rank_reached();
    out.passes = selection.counts().passes;
    out.refreshes = selection.counts().refreshes;
    out.columns = selection.counts().columns;
    if (!stop.factor) return out;
    out.factor = selection.factor();
    out.factor_row_stride = selection.stride();
    out.factor_col_stride = 1;
    return out;
}

template mercer_pivots run_pivots(PartialCholesky<float> &, mercer_task &, const mercer_pivot_rule &,
                                  const mercer_pivot_stop &, Buffer<double> &);
template mercer_pivots run_pivots(PartialCholesky<double> &, mercer_task &, const mercer_pivot_rule &,
                                  const mercer_pivot_stop &, Buffer<double> &);

} // namespace mercer
