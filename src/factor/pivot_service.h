// The services pivot_cholesky and pivot_cost of plugin.h, and gram_cost, for the same forecasts.
#pragma once
#include "column_by_column.h"

namespace mercer {

// Runs a rule on an empty factor. The result points into the factor, or into copy if the columns of
// an f32 factor are requested. read_stop and run_pivots fail with E_PLUGIN if a rule or stop is
// invalid.
PivotStop read_stop(const mercer_pivot_stop &stop);
template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy);

// The cost of a factor, for the forecast of a reducer.
class PivotForecast : public ForeseenProblem {
  public:
    // stores_factor: factors stay in memory; otherwise their columns are recomputed.
    PivotForecast(TileBytes tiles, bool stores_factor) : tiles_(tiles), stores_factor_(stores_factor) {}
    mercer_cost pivot_cost(const mercer_task &task, const mercer_shape &shape, const mercer_pivot_stop &stop) override;
    mercer_cost gram_cost(const mercer_task &task, const mercer_shape &shape, int32_t flags, int64_t columns) override;
    bool was_asked() const { return asked_; } // the costs given include those of tiles
    // Of the factor that was last asked about; 0: it is not stored.
    int64_t factor_bytes() const { return factor_bytes_; }

  private:
    template <class T>
    mercer_cost cost_of(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop);
    TileBytes tiles_;
    bool stores_factor_, asked_ = false;
    int64_t factor_bytes_ = 0;
};

} // namespace mercer
