// A fit of rows, without report and file. A fit of all data runs it. Fits of parts of the data (blocks,
// groups, streams, ranks) will run it too, each in a child run with its share of the budget
// (core/run.h).
#pragma once
#include "../model/checkpoint.h"
#include "auto_search.h"

namespace mercer {

struct Fitted {
    Forecast ahead;
    Prepared prepared;
    std::optional<Strategy> strategy; // of `auto`
    std::string reducer;              // the name of what chose the centres
    const Lift *lift = nullptr;
    Reduction reduction;
    Centres centres;
    Plan plan;
    Lifted lifted;
    std::unique_ptr<Checkpoint> checkpoint; // nullptr: nothing has state, or the run has no checkpoint
};
// data: rows that can be read any number of times (data_of in prepare.h). Fails with E_BUDGET before
// any work if the fit exceeds the budget.
Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data);

// The driver `one fit`: takes prepared rows through the recipe's reducer and lift.
void fit_once(const FitTask &task, Fitted &out);

// Opens the run's checkpoint, if it has one and it is not open yet. For drivers and lifts that have
// state; E_VALUE if the file belongs to another fit.
void open_checkpoint(const FitTask &task, Fitted &out);

// The steps of which drivers consist. take_centres makes centres of what a reducer returned, for this
// lift; plan_task_of is the task of planning their lift within the budget of the forecast; lift_centres
// lifts them as planned, and fails with E_BUDGET before any work if the plan exceeds that budget.
void take_centres(const FitTask &task, const Lift &lift, Reduction reduction, Fitted &out);
PlanTask plan_task_of(const FitTask &task, const Fitted &fitted);
void lift_centres(const FitTask &task, Plan plan, Fitted &out);

} // namespace mercer
