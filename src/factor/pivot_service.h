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

// Returns how the pivots of a rule that needs energies are found: one of MERCER_SELECT_..., not
// AUTO. centred: the rule sees the centred matrix, for which there is no selection in a factor.
int32_t energy_selection(const mercer_pivot_stop &stop, int64_t n, bool centred);
// Fails with E_PLUGIN if a rule that needs energies or its stop is invalid, and with E_VALUE if the
// stop cannot be combined with this way of selection.
void check_energy_rule(const mercer_pivot_rule &rule, const mercer_pivot_stop &stop, int32_t how);
// Runs a rule that needs energies, after these checks. The result points into the selection.
mercer_pivots run_pivots(ColumnEnergy &selection, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, const EnergySelection &how);

// Answers pivot_cost and gram_cost while a reducer makes its forecast.
class PivotForecast : public ForeseenProblem {
  public:
    // stores_factor: factors stay in memory; otherwise their columns are recomputed. centred: rules
    // that need energies will see the centred matrix.
    PivotForecast(TileBytes tiles, bool stores_factor, bool centred = false)
        : tiles_(tiles), stores_factor_(stores_factor), centred_(centred) {}
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
    bool stores_factor_, centred_, asked_ = false;
    int64_t factor_bytes_ = 0;
};

} // namespace mercer
