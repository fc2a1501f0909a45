// Forecasts the resources and the time that a fit will need, from its shape and budget, and from a
// few hundred rows if these may be read.
#pragma once
#include "../lift/lift.h"

namespace mercer {

class SpectrumEstimate;

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
struct CentresForecast {
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
CentresForecast forecast_centres(Run &run, const Recipe &recipe, const Data &data, const ReducedRows &rows,
                                 bool stores_factor);

// What drivers are told (driver.h): of a forecast, and of a fit.
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

// One fit of all rows with a lift, planned from shape and budget. Forecasts of drivers are made from
// it.
class PlannedFit {
  public:
    PlannedFit(const ForecastTask &task, const Lift &lift);
    PlannedFit(const PlannedFit &) = delete;
    // The tasks of planning the lift of the largest and of the likely number of centres, and their
    // plans.
    PlanTask most() const { return task_of(way_.centres, way_.centres.cost.m, way_.sizes); }
    PlanTask likely() const { return task_of(way_.centres, way_.centres.cost.likely_m, fewer_); }
    const Plan &plan() const { return way_.plan; }
    const Plan &usually() const { return usually_; }
    // The memory needed beside what is stored throughout the fit, and by reading alone.
    int64_t bytes() const { return std::max(way_.plan.bytes, way_.sizes.before.most); }
    int64_t read_bytes() const { return read_.most; }

    // Fails with E_BUDGET if the budget is too small. Returns true if this was judged by the likely
    // plan, because the number of centres depends on the rows; the fit must then judge again.
    bool refuse() const;
    Forecast by_shape() const; // without text and seconds
    mercer_forecast figures_of(const Plan &plan) const { return figures_of(plan, way_.centres.cost.m, way_.sizes); }
    bool sample_is_cheap(const Forecast &ahead) const;
    std::unique_ptr<SpectrumEstimate> sample_rows() const; // nullptr: no row may be read, or the sample cannot be used
    // Replaces the likely figures and the stages by those of the likely plan, which the estimate, if
    // there is one, corrects.
    void expect(const SpectrumEstimate *spectrum, Plan &plan, Forecast &ahead) const;
    // Adds the seconds of the fit, and those of the sample, which was begun at `begin`.
    void finish(const Plan &plan, const SpectrumEstimate *spectrum, double begin, Forecast &ahead) const;

  private:
    struct Sizes {    // in bytes
        int64_t base; // stored throughout the fit
        Bytes before; // needed before the lift, to read and to reduce
    };
    struct Way { // one way to reduce and lift
        bool stores_factor;
        CentresForecast centres;
        Sizes sizes;
        Plan plan;
        int64_t bytes() const { return sizes.base + std::max(sizes.before.most, plan.bytes); }
    };
    Way way_of(bool stores_factor) const;
    Bytes before_lift(const Bytes &reducer, int64_t m) const;
    PlanTask task_of(const CentresForecast &centres, int64_t m, const Sizes &sizes) const;
    mercer_forecast figures_of(const Plan &plan, int64_t m, const Sizes &sizes) const; // m: at most the largest number
    Run::Stages stages_of(const Plan &plan) const;

    const ForecastTask &task_;
    const Source &source_;
    const Lift &lift_;
    bool f32_;
    Expression kernel_;
    Bytes read_;
    Way way_;
    Sizes fewer_; // for the likely number of centres
    Plan usually_;
};
Forecast forecast_once(const ForecastTask &task); // of the driver `one fit`

} // namespace mercer
