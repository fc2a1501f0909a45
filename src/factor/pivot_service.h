// The services pivot_cholesky and pivot_cost of plugin.h, and gram_cost, which serves the same
// forecasts.
#pragma once
#include "column_by_column.h"
#include "column_energy.h"

namespace mercer {

// Converts the stop that a plugin has passed. Fails with E_PLUGIN if it is invalid.
PivotStop read_stop(const mercer_pivot_stop &stop);
// Runs a rule on an empty factor. Fails with E_PLUGIN if the rule or the stop is invalid. The
// pointers in the result refer to the factor. If the columns of an f32 factor are requested, they
// are converted to f64 in `copy`, and the pointer to the columns refers to this copy.
template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy);

// Runs a rule that needs energies. Fails with E_PLUGIN if the rule or the stop is invalid. The
// result points into the selection.
mercer_pivots run_pivots(ColumnEnergy &selection, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop);

// Answers pivot_cost and gram_cost while a reducer makes its forecast.
class PivotForecast : public ForeseenProblem {
  public:
    // stores_factor: factors stay in memory; otherwise their columns are recomputed.
    PivotForecast(TileBytes tiles, bool stores_factor) : tiles_(tiles), stores_factor_(stores_factor) {}
    mercer_cost pivot_cost(const mercer_task &task, const mercer_shape &shape, const mercer_pivot_stop &stop) override;
    mercer_cost gram_cost(const mercer_task &task, const mercer_shape &shape, int32_t flags, int64_t columns) override;
    // True if pivot_cost or gram_cost was called: the costs that the reducer forecasts then include
    // those of tiles.
    bool was_asked() const { return asked_; }
    // The bytes of the factor for which pivot_cost was last called; 0: it is not stored.
    int64_t factor_bytes() const { return factor_bytes_; }

  private:
    template <class T>
    mercer_cost cost_of(const mercer_task &task, int64_t n, const mercer_pivot_stop &stop);
    TileBytes tiles_;
    bool stores_factor_, asked_ = false;
    int64_t factor_bytes_ = 0;
};

} // namespace mercer
