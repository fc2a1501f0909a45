// The service pivot_cholesky of plugin.h. A rule that scores by the residual alone runs in rounds.
// A rule with its own score or update needs every column and runs column by column, with m sweeps
// that read n m^2/2 numbers.
#include "pivot_service.h"

#include "../operator/gram_cost.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

template <class T>
class OneByOne {
  public:
    OneByOne(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule)
        : factor_(factor), task_(task), rule_(rule), score_(task.run.buffer<double>(factor.n())),
          column_(task.run.buffer<double>(rule.update ? factor.n() : 0)) {}

    // Returns true if no row above the floor is left.
    bool run(const PivotStop &stop, mercer_pivot_state &state) {
        const int64_t most = std::min(stop.m, factor_.n());
        while (state.step < most && !(state.step > 0 && factor_.reached(stop))) {
            auto share = [&](int64_t step) { return static_cast<double>(step) / static_cast<double>(most); };
            task_.run.progress(share(state.step));
            const int64_t pivot = choose(state);
            if (pivot < 0) return true;
            {
                Run::Span span(task_.run, share(state.step), share(state.step + 1));
                if (factor_.append(&pivot, 1) == 0) continue; // no candidate any more: d is at the rank floor
            }
            ++state.step;
            if (!rule_.update) continue;
            for (int64_t i = 0; i < factor_.n(); ++i)
                column_[i] = static_cast<double>(factor_.factor()[i * factor_.stride() + state.step - 1]);
            task_.check_callback(rule_.update(rule_.user, &state, pivot, column_.data()));
        }
        return false;
    }

  private:
    int64_t choose(const mercer_pivot_state &state) {
        const int64_t n = factor_.n();
        if (rule_.score)
            rule_.score(rule_.user, &state, 0, n, score_.data());
        else
            std::copy_n(factor_.residual(), n, score_.data());
        const bool draw = rule_.needs == MERCER_PIVOT_SAMPLE;
        if (!draw) factor_.read_contents();
        double best = -1, sum = 0;
        int64_t last = -1;
        for (int64_t i = 0; i < n; ++i) {
            if (!factor_.candidate(i) || !(score_[i] >= 0)) score_[i] = -1;
            best = std::max(best, score_[i]);
            if (score_[i] > 0) sum += factor_.weight(i) * score_[i], last = i;
        }
        if (best < 0) return -1;
        double left = draw ? task_.random.uniform(state.step, 0) * sum : 0;
        for (int64_t i = 0; draw && i <= last; ++i) {
            if (score_[i] <= 0) continue;
            left -= factor_.weight(i) * score_[i];
            if (left < 0 || i == last) return i; // rounding may leave a remainder
        }
        int64_t first = -1;
        for (int64_t i = 0; i < n; ++i)
            if (score_[i] >= pivot_tie * best && (first < 0 || factor_.precedes(i, first))) first = i;
        return first;
    }

    PartialCholesky<T> &factor_;
    mercer_task &task_;
    const mercer_pivot_rule &rule_;
    Buffer<double> score_, column_;
};

} // namespace

PivotStop read_stop(const mercer_pivot_stop &stop) {
    if (stop.m < 1) fail(MERCER_E_PLUGIN, "pivot_cholesky: m = %" PRId64 ", must be >= 1", stop.m);
    return {stop.m, stop.mse, stop.maxerr, stop.trace};
}

template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy) {
    if (rule.needs != MERCER_PIVOT_BOUND && rule.needs != MERCER_PIVOT_SAMPLE)
        fail(MERCER_E_PLUGIN, "pivot_cholesky: needs = %d is unknown", rule.needs);
    const PivotStop until = read_stop(stop);
    mercer_pivot_state state{sizeof state, factor.n(), 0, factor.residual()};
    if (rule.init) task.check_callback(rule.init(rule.user, &state));
    bool rank_reached = false;
    if (rule.score || rule.update) {
        rank_reached = OneByOne<T>(factor, task, rule).run(until, state);
    } else {
        rule.needs == MERCER_PIVOT_SAMPLE ? factor.grow_sampled(until, task.random) : factor.grow_greedy(until);
        rank_reached = factor.rank_reached();
    }
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

template <class T>
mercer_cost PivotForecast::cost_of(const mercer_task &task, int64_t n, const PivotStop &until, bool columns) {
    using Pivots = PartialCholesky<T>;
    const int64_t m = until.m, likely = until.early() ? (m + 1) / 2 : m;
    const Factor kind = columns || stores_factor_ ? Factor::stored : Factor::recomputed;
    const bool stored = kind == Factor::stored;
    const int64_t copy = columns && sizeof(T) == 4 ? checked_bytes("the factor's columns", n, m, 8) : 0;
    const double flops = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(m),
                 rounds = static_cast<double>(Pivots::rounds(m));
    if (stored) factor_bytes_ = Pivots::stored_bytes_of(n, m, until.early(), tiles_);
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    const Bytes bytes = Pivots::bytes(n, m, until.early(), task.run.threads(), tiles_, kind) + copy;
    // Rules with a score or update of their own need n scores and one column.
    cost.bytes = bytes.most + (stored ? 16 * n : 0);
    cost.likely_bytes = bytes.likely;
    cost.kernel_evaluations = Pivots::evaluations(n, m, kind);
    cost.m = m;
    cost.likely_m = likely;
    // The factor 1.1 allows for the values within rounds.
    cost.likely_evaluations =
        1.1 * static_cast<double>(n) * static_cast<double>(likely + 1) * (stored ? 1 : 1 + rounds / 8);
    cost.flops = flops * (stored ? 1 : 1 + rounds / 3);
    return cost;
}

mercer_cost PivotForecast::pivot_cost(const mercer_task &task, const mercer_shape &shape,
                                      const mercer_pivot_stop &stop) {
    const PivotStop until = read_stop(stop);
    const int64_t n = shape.n, m = until.m;
    if (m > n) fail(MERCER_E_VALUE, "m = %" PRId64 ", must be <= n = %" PRId64, m, n);
    const bool f32 = shape.dtype == MERCER_F32;
    asked_ = true;
    return f32 ? cost_of<float>(task, n, until, stop.factor) : cost_of<double>(task, n, until, stop.factor);
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

template mercer_pivots run_pivots(PartialCholesky<float> &, mercer_task &, const mercer_pivot_rule &,
                                  const mercer_pivot_stop &, Buffer<double> &);
template mercer_pivots run_pivots(PartialCholesky<double> &, mercer_task &, const mercer_pivot_rule &,
                                  const mercer_pivot_stop &, Buffer<double> &);

} // namespace mercer
