// A fit of rows without report or file: what the whole fit runs, and what those will run that fit parts of the data (blocks,
// groups, streams, ranks), each in a child run with its share of the budget (core/run.h).
#pragma once
#include "auto_search.h"

namespace mercer {

struct Fitted {
    Forecast ahead;
    Prepared prepared;
    Road road; // of the method `auto`
    const Lift *lift = nullptr;
    Reduction reduction;
    Centres centres;
    Plan plan;
    Lifted lifted;
};
// data: rows that can be read at will (prepare.h: data_of). E_BUDGET before any work where they do not fit.
Fitted fit_rows(Run &run, const Recipe &recipe, const Data &data);

} // namespace mercer
