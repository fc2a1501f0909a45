// Forecasts the resources and the time that a fit will need, from its shape and budget, and from a
// few hundred rows if these may be read.
#pragma once
#include "../lift/lift.h"

namespace mercer {

class SpectrumEstimate;

// The strategies that are feasible for `auto` with this shape and budget.
struct Strategies {
    bool exact = false;     // exact passes over the kernel matrix are possible
    int64_t most_rank = 0;  // largest number of columns of a factor; 0: no projection is possible
    int64_t most_rows = 0;  // largest number of sampled rows of the factor's residual; 0: only pairs may be sampled
    int64_t most_width = 0; // largest number of directions that these rows are projected on
    std::string why;        // why only one strategy is considered, if so
};
// The resources that a fit will need, and the costs of its stages.
struct Forecast {
    mercer_forecast figures{};
    Run::Stages stages;
    Strategies strategies;
    std::string strategy;      // the strategy that will be chosen, and why
    bool stores_factor = true; // the reducer's partial Cholesky factor fits in memory
    int64_t centres = 0;       // the largest number of centres that the reducer may select
    // True if the likely memory was compared with the budget instead of the largest, because the
    // number of centres depends on the rows.
    bool by_likely = false;
};
// When a forecast may read some rows. cheap: only if this is at most 1 % of the work and calls no
// callback, and never for `auto`; always: for any fit whose rows can be read again.
enum class Sample { cheap, always };
// Forecasts a fit from its shape and budget. Fails with E_BUDGET if the fit would be refused, and
// with E_UNSUPPORTED if the number of rows is unknown.
Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Sample sample);
struct CentresForecast {
    mercer_cost cost{}; // of the reducer; cost.m: largest number of centres
    int64_t factor = 0; // bytes of the factor that the reducer hands to the lift; 0: none
    bool rows = true;   // centres are rows of the data; false: they may be new points
    int64_t kept = 0;   // bytes of the assignment of rows to centres, if it is kept after reducing
    // The weight of each centre will be the total weight of the rows assigned to it.
    bool represents_rows = false;
};
// The rows that a reducer will see, and the type of their kernel values.
struct ReducedRows {
    const Expression &kernel;
    const Source &source;
    bool f32;
};
CentresForecast forecast_centres(Run &run, const Recipe &recipe, const Data &data, const ReducedRows &rows,
                                 bool stores_factor);

// The arguments of a driver's functions `forecast` and `fit` (driver.h).
struct ForecastTask {
    Run &run;
    const Recipe &recipe;
    const Data &data; // with at least one row
    Sample sample;
};
struct FitTask {
    Run &run;
    const Recipe &recipe;
    const Data &data;
};

// One fit of all rows with one lift, planned from shape and budget alone. The forecasts of drivers
// are made from it.
class PlannedFit {
  public:
    PlannedFit(const ForecastTask &task, const Lift &lift);
    PlannedFit(const PlannedFit &) = delete;
    // The task of planning the lift for the largest number of centres, and for the likely one.
    PlanTask most() const { return task_of(way_.centres, way_.centres.cost.m, way_.sizes); }
    PlanTask likely() const { return task_of(way_.centres, way_.centres.cost.likely_m, fewer_); }
    const Plan &plan() const { return way_.plan; }   // of most()
    const Plan &usually() const { return usually_; } // of likely()
    // The largest memory of any stage, in addition to what is stored throughout the fit.
    int64_t bytes() const { return std::max(way_.plan.bytes, way_.sizes.before.most); }
    int64_t read_bytes() const { return read_.most; } // the largest memory while the rows are read

    // Fails with E_BUDGET if the budget is too small. Returns true if it compared the likely plan
    // with the budget, because the number of centres depends on the rows; the fit must then compare
    // again.
    bool refuse() const;
    Forecast by_shape() const; // without the text of the strategy and the seconds
    mercer_forecast figures_of(const Plan &plan) const { return figures_of(plan, way_.centres.cost.m, way_.sizes); }
    bool sample_is_cheap(const Forecast &ahead) const;
    std::unique_ptr<SpectrumEstimate> sample_rows() const; // nullptr: no row may be read, or the sample cannot be used
    // Replaces the likely figures and the stages by those of `plan`, the likely plan. If there is
    // an estimate of the spectrum, it first corrects this plan.
    void expect(const SpectrumEstimate *spectrum, Plan &plan, Forecast &ahead) const;
    // Sets the expected seconds of the fit and, if a sample was taken, its number of rows and the
    // seconds since the time `begin`.
    void finish(const Plan &plan, const SpectrumEstimate *spectrum, double begin, Forecast &ahead) const;

  private:
    struct Sizes {
        int64_t base; // bytes that are stored throughout the fit
        Bytes before; // in addition, needed before the lift, to read and to reduce
    };
    struct Way { // how to reduce and lift, with the reducer's factor stored or recomputed
        bool stores_factor;
        CentresForecast centres;
        Sizes sizes;
        Plan plan;
        int64_t bytes() const { return sizes.base + std::max(sizes.before.most, plan.bytes); }
    };
    Way way_of(bool stores_factor) const;
    Bytes before_lift(const Bytes &reducer, int64_t m) const;
    PlanTask task_of(const CentresForecast &centres, int64_t m, const Sizes &sizes) const;
    mercer_forecast figures_of(const Plan &plan, int64_t m, const Sizes &sizes) const; // m: number of centres
    Run::Stages stages_of(const Plan &plan) const;

    const ForecastTask &task_;
    const Source &source_;
    const Lift &lift_;
    bool f32_;
    Expression kernel_;
    Bytes read_;
    Way way_;     // for the largest number of centres
    Sizes fewer_; // the sizes for the likely number of centres
    Plan usually_;
};
Forecast forecast_once(const ForecastTask &task); // the forecast of the driver `one fit`

} // namespace mercer
