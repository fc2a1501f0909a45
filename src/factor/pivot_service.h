// The services pivot_cholesky and pivot_cost of plugin.h.
#pragma once
#include "../host/task.h"
#include "partial_cholesky.h"

namespace mercer {

// Runs a rule on an empty factor: what it returns points into the factor and, where columns of an f32 one are wanted, into copy.
// E_PLUGIN for a rule or stop that makes no sense.
PivotStop read_stop(const mercer_pivot_stop &stop);
template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy);

// What a factor would cost, for the forecast of a reducer.
class PivotForecast : public ForeseenProblem {
  public:
    // holds_factor: partial Cholesky factors stay in memory, else their columns are made again.
    PivotForecast(TileBytes tiles, bool holds_factor) : tiles_(tiles), holds_factor_(holds_factor) {}
    mercer_cost pivot_cost(const mercer_task &task, const mercer_shape &shape, const mercer_pivot_stop &stop) override;
    bool was_asked() const { return asked_; }              // the costs given contain those of the tiles
    int64_t factor_bytes() const { return factor_bytes_; } // of the factor asked for last, where it is held; else 0

  private:
    template <class T>
    mercer_cost cost_of(const mercer_task &task, int64_t n, const PivotStop &until, bool columns);
    TileBytes tiles_;
    bool holds_factor_, asked_ = false;
    int64_t factor_bytes_ = 0;
};

} // namespace mercer
