// The services pivot_cholesky and pivot_cost of plugin.h. A rule that scores by the residual alone
// and does not need MERCER_PIVOT_FULL runs in rounds (partial_cholesky.cpp); any other rule runs
// column by column (column_by_column.cpp).
#include "pivot_service.h"

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

// A rule asks for m passes of energies, refreshes excluded, and one pass for each refresh. Two
// refreshes are likely; at most there is one before each pivot.
template <class T>
mercer_cost energy_cost(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop, const TileBytes &tiles) {
    const PivotStop until = read_stop(stop);
    const int64_t m = until.m, likely = until.early() ? (m + 1) / 2 : m, pass = pass_evaluations(n);
    const GramService found = gram_service<T>(task.run, n, MERCER_GRAM_STORED, 1, tiles);
    const bool stored = found.store == Store::matrix;
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    const Bytes bytes = found.bytes + ColumnEnergy::bytes(n, m, until.early(), stop.needs, task.run.threads()) +
                        (stop.factor ? checked_bytes("the factor's columns", n, m, 8) : 0);
    cost.bytes = bytes.most, cost.likely_bytes = bytes.likely;
    cost.m = m, cost.likely_m = likely;
    const double columns = 2 * static_cast<double>(n) * static_cast<double>(likely), rows = static_cast<double>(n);
    cost.kernel_evaluations = (stored ? 1 : m) * pass + m * n * n + 17 * n * m;
    cost.likely_evaluations =
        static_cast<double>(pass) * static_cast<double>(stored ? 1 : likely) + 2 * rows * rows + columns;
    cost.flops = 2 * rows * rows * static_cast<double>(m) + 3 * rows * static_cast<double>(m) * static_cast<double>(m);
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
        return f32 ? energy_cost<float>(task, n, stop, tiles_) : energy_cost<double>(task, n, stop, tiles_);
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

mercer_pivots run_pivots(ColumnEnergy &selection, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop) {
    if (!rule.score || rule.init || rule.update)
        fail(MERCER_E_PLUGIN,
             "pivot_cholesky: a rule that needs energies must have a score, and neither init nor update");
    if (!(rule.delta >= 0)) fail(MERCER_E_PLUGIN, "pivot_cholesky: delta = %g, must be >= 0", rule.delta);
    selection.select(task, rule, read_stop(stop));
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
