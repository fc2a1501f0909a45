// A fit of rows, without report and file. A fit of all data runs it. Fits of parts of the data (blocks,
// groups, streams, ranks) will run it too, each in a child run with its share of the budget
// (core/run.h).
#pragma once
#include "auto_search.h"

namespace mercer {

struct Fitted {
    Forecast ahead;
    Prepared prepared;
    Strategy strategy; // the strategy that `auto` took
    const Lift *lift = nullptr;
    Reduction reduction;
    Centres centres;
    Plan plan;
    Lifted lifted;
};
// data: rows that can be read any number of times (data_of in prepare.h). Fails with E_BUDGET before
// any work if the fit exceeds the budget.
Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data);

} // namespace mercer
