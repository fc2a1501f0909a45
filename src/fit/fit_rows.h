// The stages of a fit of some rows, without the report and the model file. `fit` runs them for all
// data. A driver that fits parts of the data separately can run them for each part, in a child run
// with a share of the budget (core/run.h).
#pragma once
#include "../model/checkpoint.h"
#include "auto_search.h"

namespace mercer {

struct Fitted {
    Forecast ahead;
    Prepared prepared;
    std::optional<Strategy> strategy; // set by the driver `auto` only
    std::string reducer;              // name of the reducer that chose the centres; "all" without a reducer
    const Lift *lift = nullptr;
    Reduction reduction;
    Centres centres;
    Plan plan;
    Lifted lifted;
    std::unique_ptr<Checkpoint> checkpoint; // nullptr: no part of the fit has state, or the run has no checkpoint
};
// data: rows that can be read any number of times (data_of in prepare.h). Fails with E_BUDGET
// before any work if the fit exceeds the budget.
Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data);

// The driver `one fit`: takes prepared rows through the recipe's reducer and lift.
void fit_once(const FitTask &task, Fitted &out);

// Opens the checkpoint of the run, unless the run has none or it is open already. It must be called
// before the lift, or a driver with state of its own, begins. Fails with E_VALUE if the file
// belongs to another fit.
void open_checkpoint(const FitTask &task, Fitted &out);

// ---- the steps of which drivers consist

// Makes centres from what a reducer returned, for this lift.
void take_centres(const FitTask &task, const Lift &lift, Reduction reduction, Fitted &out);
// Returns the task of planning the lift of these centres, within the memory that was forecast.
PlanTask plan_task_of(const FitTask &task, const Fitted &fitted);
// Lifts the centres as planned. Fails with E_BUDGET before any work if the plan exceeds the memory
// that was forecast.
void lift_centres(const FitTask &task, Plan plan, Fitted &out);

} // namespace mercer
