// Forecasts the resources and the time that a fit will need, from its shape and budget, and from a
// few hundred rows if these may be read.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// The strategies that are feasible for `auto` with this shape and budget.
struct Strategies {
    bool exact = false;     // passes over the kernel matrix
    int64_t most_rank = 0;  // largest rank of a factor; 0: no projection is possible
    int64_t most_rows = 0;  // largest number of sampled rows of its residual; 0: pairs only
    int64_t most_width = 0; // number of directions that these rows are projected on
    std::string why;        // why only one strategy is feasible
};
// The resources that a fit will need, and the costs of its stages.
struct Forecast {
    mercer_forecast figures{};
    Run::Stages stages;
    Strategies strategies;
    std::string strategy;      // the strategy that will be chosen, and why
    bool stores_factor = true; // the reducer's partial Cholesky factor fits in memory
    int64_t centres = 0;       // the largest number that the reducer may select
    bool by_likely = false;    // judged by likely figures, because the number of centres depends on the rows
};
// When a forecast may read some rows. cheap: only if this is at most 1 % of the work and calls no
// callback; always: in any case.
enum class Sample { cheap, always };
// Forecasts a fit from its shape and budget. E_BUDGET if the fit would be refused; E_UNSUPPORTED if
// the number of rows is unknown.
Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Sample sample);
struct ForeseenCentres {
    mercer_cost cost{}; // forecast of the reducer; m: largest number of centres
    int64_t factor = 0; // bytes of the factor that the reducer hands over; 0: none
    bool rows = true;   // centres are rows of the data
    int64_t kept = 0;   // bytes of the assignment
    bool represents_rows = false;
};
// The rows that a reducer will see, and the type of their kernel values.
struct ReducedRows {
    const Expression &kernel;
    const Source &source;
    bool f32;
};
ForeseenCentres forecast_centres(Run &run, const Recipe &recipe, const Data &data, const ReducedRows &rows,
                                 bool stores_factor);

} // namespace mercer
