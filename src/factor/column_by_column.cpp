// Pivoted Cholesky, one pivot at a time: score all rows, choose the next pivot, append its column
// to L. Scores are computed in slabs of rows on all threads. The largest score, the sum of the
// scores (for a draw), and whether any candidate is left are found by ordered reductions, so that
// any number of threads gives the same pivots. In addition to the rule's own work, a step costs
// O(n) for the scores, and n kernel values and 2 n s flops for the column after s pivots. m pivots
// take m sweeps, which read n m^2/2 numbers of L. Error: that of the factor (columns.cpp), because
// nothing else is computed here.
#include "column_by_column.h"

#include "../core/slabs.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// Implements the functions of mercer_pivot_state that a rule may call. An exception becomes the
// error of the task.
template <class T>
struct ResidualOf {
    mercer_task &task;
    PartialCholesky<T> &factor;

    template <class Body>
    static int32_t serve(const mercer_pivot_state *state, Body &&body) {
        const auto &self = *static_cast<const ResidualOf *>(state->self);
        return self.task.guard([&] { body(self.factor); });
    }
    static int32_t columns(const mercer_pivot_state *state, const int64_t *index, int64_t count, double *out,
                           int64_t ldo) {
        return serve(state, [&](auto &factor) {
            if (count < 0 || ldo < factor.n())
                fail(MERCER_E_PLUGIN, "columns: count and ldo must be >= 0 and >= n = %lld",
                     static_cast<long long>(factor.n()));
            if (count > 0) factor.residual_columns(index, count, out, ldo);
        });
    }
    static int32_t product(const mercer_pivot_state *state, const double *v, double *out) {
        return serve(state, [&](auto &factor) { factor.residual_product(v, out); });
    }
    static int32_t row_squares(const mercer_pivot_state *state, const double *weights, double *out) {
        return serve(state, [&](auto &factor) { factor.residual_row_squares(weights, out); });
    }
    static int32_t factor_rows(const mercer_pivot_state *state, const int64_t *index, int64_t count, double *out) {
        return serve(state, [&](auto &factor) { factor.factor_rows(index, count, out); });
    }
};

template <class T>
class ColumnByColumn {
  public:
    ColumnByColumn(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule)
        : factor_(factor), task_(task), rule_(rule), residual_{task, factor}, state_(pivot_state(factor)),
          scores_(task.run.buffer<double>(factor.n())), column_(task.run.buffer<double>(rule.update ? factor.n() : 0)) {
        slabs_.reserve(static_cast<size_t>(factor.n() / slab_rows + 1));
        if (rule.needs != MERCER_PIVOT_FULL) return;
        state_.self = &residual_;
        state_.columns = ResidualOf<T>::columns;
        state_.product = ResidualOf<T>::product;
        state_.row_squares = ResidualOf<T>::row_squares;
        state_.factor_rows = ResidualOf<T>::factor_rows;
    }
    ColumnByColumn(const ColumnByColumn &) = delete; // state_ points to residual_

    // Returns true if no row above the rank floor is left.
    bool run(const PivotStop &stop) {
        const int64_t most = std::min(stop.m, factor_.n());
        // Columns for which there is memory; doubled when all are used.
        int64_t room = PartialCholesky<T>::first_capacity(most, stop.early());
        auto share = [&](double steps) { return steps / static_cast<double>(most); };
        {
            Run::Span span(task_.run, 0, 0);
            factor_.reserve(room);
            if (rule_.init && !continues(task_, rule_.init(rule_.user, &state_))) return false;
        }
        while (state_.step < most && !(state_.step > 0 && factor_.reached(stop))) {
            const auto step = static_cast<double>(state_.step);
            task_.run.progress(share(step));
            int64_t pivot = -1;
            {
                Run::Span span(task_.run, share(step), share(step));
                if (state_.step == room) factor_.reserve(room = std::min(most, 2 * room));
                pivot = choose();
            }
            if (pivot < 0) return !candidates_;
            const double middle = step + (rule_.update ? 0.5 : 1);
            {
                Run::Span span(task_.run, share(step), share(middle));
                // append() computes the residual of the pivot again, more accurately. It skips the
                // row if this residual is at the rank floor, and the row is then no candidate any
                // more.
                if (factor_.append(&pivot, 1) == 0) continue;
            }
            const mercer_pivot_state now = pivot_state(factor_);
            state_.step = now.step, state_.index = now.index, state_.mse = now.mse, state_.least = now.least;
            Run::Span span(task_.run, share(middle), share(step + 1));
            if (rule_.update && !update(pivot)) return false;
        }
        return false;
    }

  private:
    static constexpr int64_t slab_rows = 4096;
    // What score() found among the candidates of one slab of rows.
    struct Slab {
        // best: the largest score; -1: there is none. sum: the sum of weight times score.
        double best = -1, sum = 0;
        bool candidates = false;
        double until = 0; // the sum over all slabs up to this one, inclusive
    };

    // Returns the next pivot, or -1 if there is none.
    int64_t choose() {
        const bool draw = rule_.needs == MERCER_PIVOT_SAMPLE;
        if (!draw) factor_.read_contents();
        score();
        if (best_ < 0 || (draw && sum_ == 0)) return -1;
        return draw ? drawn() : largest();
    }

    void score() {
        slabs_.clear();
        best_ = -1, sum_ = 0, candidates_ = false;
        auto fill = [&](int64_t row0, int64_t rows, Slab &slab) {
            double *scores = scores_.data() + row0;
            if (rule_.score)
                rule_.score(rule_.user, &state_, row0, rows, scores);
            else
                std::copy_n(factor_.residual() + row0, rows, scores);
            for (int64_t i = 0; i < rows; ++i) {
                const bool candidate = factor_.candidate(row0 + i);
                slab.candidates |= candidate;
                if (!candidate || !(scores[i] >= 0)) scores[i] = -1;
                slab.best = std::max(slab.best, scores[i]);
                if (scores[i] > 0) slab.sum += factor_.weight(row0 + i) * scores[i];
            }
        };
        reduce_slabs<Slab>(task_.run, {factor_.n(), slab_rows}, fill, [&](Slab &slab) {
            best_ = std::max(best_, slab.best);
            candidates_ |= slab.candidates;
            slab.until = sum_ += slab.sum;
            slabs_.push_back(slab);
        });
    }

    // Returns the first row, in the order of precedes(), whose score ties with the best of all.
    // Only slabs whose best score ties with it are searched.
    int64_t largest() const {
        int64_t first = -1;
        const double tied = pivot_tie * best_;
        for (size_t s = 0; s < slabs_.size(); ++s) {
            if (slabs_[s].best < tied) continue;
            const int64_t row0 = static_cast<int64_t>(s) * slab_rows, end = std::min(row0 + slab_rows, factor_.n());
            for (int64_t i = row0; i < end; ++i)
                if (scores_[i] >= tied && (first < 0 || factor_.precedes(i, first))) first = i;
        }
        return first;
    }

    // Draws a row with probability proportional to its weight times its score: the row at which the
    // cumulative sum exceeds a random point. Because of rounding, the sum over the rows of a slab
    // may stay just below the point; the last row of the slab with score > 0 is then drawn.
    int64_t drawn() const {
        if (!std::isfinite(sum_))
            fail(MERCER_E_PLUGIN, "pivot_cholesky: scores have the sum %g, must be finite for a draw", sum_);
        const double at = std::min(task_.random.uniform(state_.step, 0) * sum_, std::nextafter(sum_, 0.0));
        size_t s = 0;
        while (slabs_[s].until <= at) ++s;
        double left = at - (s > 0 ? slabs_[s - 1].until : 0);
        const int64_t row0 = static_cast<int64_t>(s) * slab_rows, end = std::min(row0 + slab_rows, factor_.n());
        int64_t last = -1;
        for (int64_t i = row0; i < end; ++i) {
            if (scores_[i] <= 0) continue;
            last = i;
            left -= factor_.weight(i) * scores_[i];
            if (left < 0) break;
        }
        return last;
    }

    // Returns false if the rule ends the selection.
    bool update(int64_t pivot) {
        const T *from = factor_.factor() + state_.step - 1;
        {
            Run::Span span(task_.run, 0, 0);
            parallel_for(task_.run, (factor_.n() + slab_rows - 1) / slab_rows, [&](int64_t s) {
                for (int64_t i = s * slab_rows; i < std::min(factor_.n(), (s + 1) * slab_rows); ++i)
                    column_[i] = static_cast<double>(from[i * factor_.stride()]);
            });
        }
        return continues(task_, rule_.update(rule_.user, &state_, pivot, column_.data()));
    }

    PartialCholesky<T> &factor_;
    mercer_task &task_;
    const mercer_pivot_rule &rule_;
    ResidualOf<T> residual_;
    mercer_pivot_state state_;
    Buffer<double> scores_, column_;
    std::vector<Slab> slabs_;
    double best_ = -1, sum_ = 0;
    // True if some row is above the rank floor, and so may become a pivot, whatever its score.
    bool candidates_ = false;
};

} // namespace

bool continues(mercer_task &task, int32_t status) {
    if (status == MERCER_PIVOT_STOP) return false;
    task.check_callback(status);
    return true;
}

template <class T>
mercer_pivot_state pivot_state(const PartialCholesky<T> &factor) {
    mercer_pivot_state state{};
    state.struct_size = sizeof state;
    state.n = factor.n();
    state.step = factor.count();
    state.residual = factor.residual();
    state.weights = factor.weights();
    state.index = factor.index();
    state.mse = factor.mean_residual();
    state.least = factor.least();
    return state;
}

template <class T>
bool grow_column_by_column(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                           const PivotStop &stop) {
    return ColumnByColumn<T>(factor, task, rule).run(stop);
}

#define INSTANTIATE(T)                                                                                                 \
    template mercer_pivot_state pivot_state(const PartialCholesky<T> &);                                               \
    template bool grow_column_by_column(PartialCholesky<T> &, mercer_task &, const mercer_pivot_rule &,                \
                                        const PivotStop &)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

} // namespace mercer
