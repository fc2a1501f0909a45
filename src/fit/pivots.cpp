// Pivoted partial Cholesky, column by column:  K ~ L L^T, l = (K_p - L L_p^T) / sqrt(d_p), d -= l^2  (specification reduced
// sets 7; sampling 4.1). The kernel matrix is never formed or updated: one column a step.
// Cost m n kernel values and n m^2 flops; memory n (m + 2). The residual diagonal d is exact to about u_tile max k(x, x);
// pivots below that are noise, which is where it stops (rank reached).
#include "problem.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

constexpr double tie = 1 - 1e-10; // scores this close to the best are equal; the lowest row is taken

class Driver {
  public:
    Driver(Problem &problem, mercer_task &task, double u_tile, const mercer_pivot_rule &rule,
           const mercer_pivot_stop &stop)
        : problem_(problem), task_(task), u_tile_(u_tile), rule_(rule), n_(problem.shape().n),
          most_(std::min(stop.m, n_)), stop_(stop) {
        if (rule.needs != MERCER_PIVOT_BOUND && rule.needs != MERCER_PIVOT_SAMPLE)
            fail(MERCER_E_PLUGIN, "pivot_cholesky: needs = %d is unknown", rule.needs);
        if (stop.m < 1) fail(MERCER_E_PLUGIN, "pivot_cholesky: m = %" PRId64 ", must be >= 1", stop.m);
        index_ = array<int64_t>(most_);
        factor_ = array<double>(n_ * most_);
        residual_ = array<double>(n_);
        score_ = array<double>(n_);
        weight_ = array<double>(n_);
        problem.weights(weight_);
    }

    mercer_pivots run() {
        problem_.diagonal(residual_);
        const double largest = *std::max_element(residual_, residual_ + n_);
        mercer_pivot_state state{sizeof state, n_, 0, residual_};
        if (rule_.init) task_.check_callback(rule_.init(rule_.user, &state));
        bool rank_reached = false;
        while (state.step < most_) {
            task_.run.progress(static_cast<double>(state.step) / static_cast<double>(most_));
            const double floor =
                std::max(1e-10, 16 * u_tile_ + static_cast<double>(state.step + 1) * 0x1p-53) * largest;
            int64_t pivot = choose(state, floor);
            if (pivot < 0) {
                rank_reached = true;
                break;
            }
            append(state.step, pivot);
            ++state.step;
            if (rule_.update)
                task_.check_callback(rule_.update(rule_.user, &state, pivot, factor_ + (state.step - 1) * n_));
            if ((stop_.mse > 0 && mean_residual() <= stop_.mse) ||
                (stop_.maxerr > 0 && *std::max_element(residual_, residual_ + n_) <= stop_.maxerr))
                break;
        }
        return {sizeof(mercer_pivots), state.step,   index_, stop_.factor ? factor_ : nullptr, 1, n_, residual_,
                mean_residual(),       rank_reached, 0};
    }

  private:
    template <class T>
    T *array(int64_t count) {
        return static_cast<T *>(task_.allocate(checked_bytes("pivoted Cholesky", count, 1, sizeof(T))));
    }

    double mean_residual() const {
        double sum = 0;
        for (int64_t i = 0; i < n_; ++i) sum += residual_[i];
        return sum / static_cast<double>(n_);
    }

    // -1: nobody is left above the floor.
    int64_t choose(const mercer_pivot_state &state, double floor) {
        if (rule_.score)
            rule_.score(rule_.user, &state, 0, n_, score_);
        else
            std::copy_n(residual_, n_, score_);
        double best = -1, sum = 0;
        for (int64_t i = 0; i < n_; ++i) {
            if (!(residual_[i] > floor) || !(score_[i] >= 0) || weight_[i] == 0) score_[i] = -1; // chosen: residual 0
            best = std::max(best, score_[i]);
            sum += std::max(score_[i], 0.0);
        }
        if (best < 0) return -1;
        if (rule_.needs == MERCER_PIVOT_SAMPLE) {
            double left = task_.random.uniform(state.step, 0) * sum;
            int64_t last = -1;
            for (int64_t i = 0; i < n_; ++i) {
                if (score_[i] <= 0) continue;
                last = i;
                left -= score_[i];
                if (left < 0) return i;
            }
            if (last >= 0) return last; // rounding left a crumb
        }
        for (int64_t i = 0; i < n_; ++i)
            if (score_[i] >= tie * best) return i;
        return -1;
    }

    void append(int64_t step, int64_t pivot) {
        double *column = factor_ + step * n_;
        {
            Run::Span span(task_.run, static_cast<double>(step) / static_cast<double>(most_),
                           static_cast<double>(step + 1) / static_cast<double>(most_));
            problem_.columns(&pivot, 1, column, n_);
        }
        std::vector<double> row(static_cast<size_t>(step));
        for (int64_t k = 0; k < step; ++k) row[static_cast<size_t>(k)] = factor_[pivot + k * n_];
        gemm('N', 'N', n_, 1, step, -1.0, factor_, n_, row.data(), std::max<int64_t>(step, 1), 1.0, column, n_);
        const double root = std::sqrt(residual_[pivot]);
        for (int64_t i = 0; i < n_; ++i) column[i] /= root;
        for (int64_t k = 0; k < step; ++k) column[index_[k]] = 0;
        column[pivot] = root;
        index_[step] = pivot;
        for (int64_t i = 0; i < n_; ++i) residual_[i] = std::max(residual_[i] - column[i] * column[i], 0.0);
        residual_[pivot] = 0;
    }

    Problem &problem_;
    mercer_task &task_;
    double u_tile_;
    const mercer_pivot_rule &rule_;
    int64_t n_, most_;
    const mercer_pivot_stop &stop_;
    int64_t *index_;
    double *factor_, *residual_, *score_, *weight_; // rows of weight 0 are no candidates
};

} // namespace

mercer_pivots pivot_cholesky(Problem &problem, mercer_task &task, double u_tile, const mercer_pivot_rule &rule,
                             const mercer_pivot_stop &stop) {
    return Driver(problem, task, u_tile, rule, stop).run();
}

} // namespace mercer
