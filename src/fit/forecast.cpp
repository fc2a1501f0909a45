// A forecast combines the plan of the lift with the costs of reading and reducing, and with the
// memory that is stored throughout the fit (base).
//
//   bytes   base + max(read, reduce, lift)
//   flops   2 d for each kernel value + 2 m^2 for each vector that the kernel matrix multiplies
//           + those of the solver and of factors
//
// The costs of the stages, in proportion to which the progress bar advances, are in flops at the
// speed of a matrix product. A kernel value costs 2 d + 15 of them in f32, where 15 stands for the
// exponential, and twice that in f64. The flops of a factorisation or of a sweep over tall blocks
// count tenfold, because they run at a tenth of that speed (core/cost.h).
#include "forecast.h"

#include "../factor/pivot_service.h"
#include "../lift/components.h"
#include "driver.h"
#include "prepare.h"
#include "reduce.h"
#include "spectrum_estimate.h"
#include "voronoi.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Returns the kernel with every bandwidth set to 1, because bandwidths are unknown before the rows
// are read. The forms and facts of its leaves and the choice of fused code do not depend on them.
Expression kernel_by_shape(Run &run, const Recipe &recipe, const Source &source) {
    Expression kernel = recipe.kernel();
    kernel.finish(run, source.cols(), [](const Leaf &, const std::string &) { return 1.0; });
    return kernel;
}

double as_double(int64_t value) { return static_cast<double>(value); }

// 50 flops for each entry, because reading is limited by the speed of memory and by checks, and 2e9
// flops for a bandwidth rule, which sorts 5 x 10^5 distances.
double read_cost(const Source &source) { return 50 * as_double(source.rows()) * as_double(source.cols()) + 2e9; }

double reduce_cost(const Source &source, const CentresForecast &centres, bool f32) {
    const mercer_cost &cost = centres.cost;
    const double share = as_double(cost.likely_m) / as_double(cost.m);
    return cost.likely_evaluations * value_cost(source.cols(), f32) + 1.5 * cost.flops * share * share * (f32 ? 1 : 2);
}

void forecast_assignment(const Run &run, const Recipe &recipe, const ReducedRows &rows, CentresForecast &out) {
    const Source &source = rows.source;
    const bool voronoi = static_cast<CentreWeights>(recipe.values().centre_weights) == CentreWeights::voronoi,
               given = recipe.reducer()->reducer.flags & MERCER_GIVES_ASSIGNMENT,
               kept = recipe.values().assignment != 0;
    out.represents_rows = find_lift(recipe.values().lift).weighs && (voronoi || given);
    // 8 bytes for each row, and another 8 if the model stores a copy.
    if (out.represents_rows || kept) out.kept = (kept ? 16 : 8) * source.rows();
    if (!voronoi && (given || !kept)) return;
    const AssignCost cost = assign_cost(run, rows.kernel, source, rows.f32, out.cost.m);
    out.cost.bytes = std::max(out.cost.bytes, cost.bytes.most);
    out.cost.likely_bytes = std::max(out.cost.likely_bytes, cost.bytes.likely);
    out.cost.kernel_evaluations += cost.kernel_evaluations;
    out.cost.likely_evaluations +=
        as_double(cost.kernel_evaluations) * as_double(out.cost.likely_m) / as_double(out.cost.m);
}

// The memory that the host's services take while a reducer runs, which the plugin cannot know:
// tiles of the kernel values that it requests, or panels of the rows.
Bytes service_bytes(const Run &run, const Recipe &recipe, const ReducedRows &rows, bool values) {
    const auto &[kernel, source, f32] = rows;
    const int64_t n = source.rows();
    if (values) // with panels of the rows, because the plugin's callback receives rows and values together
        return sweep_bytes(run, kernel, source, f32, Others::all) +
               Bytes(0, std::min(sweep_keeps, (f32 ? 4 : 8) * n * source.cols()));
    if (!(recipe.reducer()->reducer.flags & MERCER_NEEDS_VECTORS)) return 0;
    return held_by(run.threads(), blocks_of(n), 8 * std::min(tile_rows, n) * source.cols());
}

} // namespace

CentresForecast forecast_centres(Run &run, const Recipe &recipe, const Data &data, const ReducedRows &rows,
                                 bool stores_factor) {
    const auto &[kernel, source, f32] = rows;
    const int64_t n = source.rows();
    CentresForecast out;
    out.cost.struct_size = sizeof out.cost;
    if (!recipe.reducer()) { // the centres are all rows of positive weight
        out.cost.m = sample_weights(data, source).positive();
        out.cost.likely_m = out.cost.m;
        return out;
    }
    const mercer_shape shape{.struct_size = sizeof shape,
                             .n = n,
                             .d = source.cols(),
                             .r = likely_components(recipe.values(), n),
                             .dtype = f32 ? MERCER_F32 : MERCER_F64,
                             .form = 0,
                             .flags = 0,
                             .reserved = 0,
                             .landmarks = data.landmarks.rows,
                             .h = NAN,
                             .kappa = NAN};
    PivotForecast pivots(f32 ? tiles_of<float>(kernel, source) : tiles_of<double>(kernel, source), stores_factor,
                         recipe.values().centred_gram != 0);
    mercer_task task(run, Random(0, Stage::reducer));
    task.foreseen = &pivots;
    task.perform(*recipe.reducer(), "forecast", [&] {
        return recipe.reducer()->reducer.forecast(&host_table(), &task, recipe.reducer_params().values(), &shape,
                                                  &out.cost);
    });
    mercer_task::check_cost(out.cost, *recipe.reducer());
    out.factor = pivots.factor_bytes();
    out.rows = !(recipe.reducer()->reducer.flags & MERCER_GIVES_POINTS) ||
               (data.has_landmarks() && data.landmarks.dtype == MERCER_I64);
    out.cost.m = std::clamp<int64_t>(out.cost.m, 1, std::max(n, data.landmarks.rows));
    if (const int64_t most = most_centres(recipe, out.cost.m); most < out.cost.m) out.cost.m = most, out.factor = 0;
    if (out.cost.likely_m == 0 || out.cost.likely_m > out.cost.m) out.cost.likely_m = out.cost.m;
    if (out.cost.likely_bytes == 0) out.cost.likely_bytes = out.cost.bytes;
    if (out.cost.likely_evaluations == 0) out.cost.likely_evaluations = as_double(out.cost.kernel_evaluations);
    const bool values = out.cost.kernel_evaluations > 0 && !pivots.was_asked();
    const Bytes services = service_bytes(run, recipe, rows, values);
    out.cost.bytes += services.most, out.cost.likely_bytes += services.likely;
    forecast_assignment(run, recipe, rows, out);
    return out;
}

namespace {

// The memory that complete_rows (gram/subset.cpp) will hold if it looks for missing values.
int64_t missing_bytes(const Recipe &recipe, const Source &source) {
    const bool sought = static_cast<DataMissing>(recipe.values().data_missing) == DataMissing::rows &&
                        source.kind() == Source::Kind::dense && source.given_rows() == source.rows();
    return sought ? 9 * source.rows() : 0;
}

// Replaces the likely figures by those of a fit with fewer centres.
void expect_fewer(const mercer_forecast &fewer, mercer_forecast &out) {
    for (mercer_figure mercer_forecast::*figure : {&mercer_forecast::bytes, &mercer_forecast::kernel_evaluations,
                                                   &mercer_forecast::passes, &mercer_forecast::flops})
        (out.*figure).likely = std::min((fewer.*figure).likely, (out.*figure).most);
}

double effort_of(const Run::Stages &stages) {
    double out = 0;
    for (const auto &[stage, effort] : stages) out += effort;
    return out;
}

// The seconds of all stages: flops at the measured speed of a matrix product, and kernel values at
// their own speed if a sample of the rows measured it. The cost of the stage `certify` is left out,
// because its kernel values are already included in those of the forecast.
double seconds_of(const Run &run, const Source &source, const Forecast &ahead, const Plan &plan, bool f32,
                  const SpectrumEstimate *spectrum) {
    const double threads = source.in_passes() ? 1 : as_double(std::min(run.threads(), available_threads())),
                 rate = product_rate() * threads, nominal = value_cost(source.cols(), f32),
                 values = ahead.figures.kernel_evaluations.likely;
    double effort = effort_of(ahead.stages);
    for (const auto &[stage, cost] : ahead.stages)
        if (std::string_view(stage) == "certify") effort -= cost;
    // The products of a projection (a plan without a solver) run at three quarters of the speed of
    // a large matrix product, as measured for n >= 10 000. Their flops are therefore multiplied by
    // 4/3 here, instead of by slow_work / 2 as in lift_stages.
    if (!plan.solver) effort -= (slow_work / 2 - 4.0 / 3) * plan.flops_each * plan.products.likely;
    double each = nominal / rate;
    if (spectrum) each = spectrum->value_seconds() / (spectrum->serial() ? 1 : threads) / (plan.rough ? 2 : 1);
    return std::max(effort - values * nominal, 0.0) / rate + values * each;
}

} // namespace

PlannedFit::PlannedFit(const ForecastTask &task, const Lift &lift)
    : task_(task), source_(*task.data.source), lift_(lift), f32_(tile_is_f32(task.recipe, source_)),
      kernel_(kernel_by_shape(task.run, task.recipe, source_)), read_(prepare_bytes(task.run, task.recipe, source_)),
      way_(way_of(true)) {
    if (task.recipe.reducer() && way_.bytes() > task.run.budget()->limit())
        if (Way recomputed = way_of(false); recomputed.bytes() < way_.bytes()) way_ = std::move(recomputed);
    const mercer_cost &cost = way_.centres.cost;
    fewer_ = way_.sizes;
    fewer_.base -= base_bytes(source_, task_.data.has_weights(), cost.m, f32_) -
                   base_bytes(source_, task_.data.has_weights(), cost.likely_m, f32_);
    usually_ = cost.likely_m < cost.m ? lift.plan(likely()) : way_.plan;
}

PlanTask PlannedFit::task_of(const CentresForecast &centres, int64_t m, const Sizes &sizes) const {
    return {.run = task_.run,
            .recipe = task_.recipe,
            .kernel = kernel_,
            .source = source_,
            .weighted = task_.data.has_weights(),
            .f32 = f32_,
            .m = m,
            .budget_left = task_.run.budget()->limit() - sizes.base,
            .rows = centres.rows,
            .handed = centres.factor,
            .represents_rows = centres.represents_rows};
}

Bytes PlannedFit::before_lift(const Bytes &reducer, int64_t m) const {
    const Bytes all = larger(read_, reducer + 16 * m); // 16 m: row numbers and weights of the centres
    // The memory that base_bytes counts for the centres is not needed before the lift.
    const int64_t later =
        base_bytes(source_, task_.data.has_weights(), m, f32_) - base_bytes(source_, task_.data.has_weights(), 0, f32_);
    return Bytes(std::max<int64_t>(all.likely - later, 0), std::max<int64_t>(all.most - later, 0));
}

PlannedFit::Way PlannedFit::way_of(bool stores_factor) const {
    Way out{stores_factor,
            forecast_centres(task_.run, task_.recipe, task_.data, {kernel_, source_, f32_}, stores_factor),
            {},
            {}};
    const mercer_cost &cost = out.centres.cost;
    out.sizes = {base_bytes(source_, task_.data.has_weights(), cost.m, f32_) + missing_bytes(task_.recipe, source_) +
                     out.centres.kept,
                 before_lift(Bytes(cost.likely_bytes, cost.bytes), cost.m)};
    out.plan = lift_.plan(task_of(out.centres, cost.m, out.sizes));
    return out;
}

bool PlannedFit::refuse() const {
    const mercer_cost &cost = way_.centres.cost;
    // If the number of centres depends on the rows and only the number of rows bounds it, the plan
    // for the likely number is compared with the budget here. The fit compares again when it knows
    // the actual number.
    if (cost.likely_m < cost.m && cost.m == source_.rows()) {
        const PlanTask usual = likely();
        refuse_over_budget(usual, usually_.bytes, usually_.how);
        refuse_over_budget(usual, before_lift(cost.likely_bytes, usual.m).most, "to read and reduce");
        return true;
    }
    refuse_over_budget(most(), way_.plan.bytes, way_.plan.how);
    refuse_over_budget(most(), way_.sizes.before.most, "to read and reduce");
    return false;
}

Forecast PlannedFit::by_shape() const {
    Forecast out;
    out.stores_factor = way_.stores_factor;
    out.centres = way_.centres.cost.m;
    out.figures = figures_of(way_.plan);
    out.stages = stages_of(usually_);
    return out;
}

Run::Stages PlannedFit::stages_of(const Plan &plan) const {
    Run::Stages out = {{"read", read_cost(source_)}, {"reduce", reduce_cost(source_, way_.centres, f32_)}};
    for (const auto &stage : lift_stages(source_, plan, way_.centres.cost.likely_m)) out.push_back(stage);
    return out;
}

mercer_forecast PlannedFit::figures_of(const Plan &plan, int64_t m, const Sizes &sizes) const {
    const double order = as_double(m), share = order / as_double(way_.centres.cost.m);
    mercer_forecast out{};
    out.struct_size = sizeof out;
    auto in_all = [&](int64_t lift) {
        return as_double(sizes.base) + std::max(share * as_double(sizes.before.likely), as_double(lift));
    };
    // plan.least_bytes are needed for any data. If they are at least this share of the largest
    // memory, the forecast states the largest memory as the likely one.
    constexpr double near = 0.95;
    out.bytes.most = as_double(sizes.base + std::max(sizes.before.most, plan.bytes));
    out.bytes.likely = in_all(plan.least_bytes) >= near * out.bytes.most
                           ? out.bytes.most
                           : std::min(in_all(plan.likely_bytes), near * out.bytes.most);
    out.kernel_evaluations = {way_.centres.cost.likely_evaluations + plan.kernel_evaluations.likely,
                              as_double(way_.centres.cost.kernel_evaluations) + plan.kernel_evaluations.most};
    out.passes = plan.passes;
    auto flops = [&](double evaluations, double columns, double products) {
        return flops_of(source_.cols(), order, evaluations, columns) + plan.flops_each * products;
    };
    // How much work a reducer does depends on the data. The likely flops include its work only if
    // it hands a factor to the lift, because the flops of that factor follow from m.
    const double reduced = share * share * way_.centres.cost.flops;
    out.flops = {flops(out.kernel_evaluations.likely, plan.columns.likely, plan.products.likely) +
                     (way_.centres.factor > 0 ? reduced : 0),
                 flops(out.kernel_evaluations.most, plan.columns.most, plan.products.most) + reduced};
    out.dense_seconds = dense_seconds(plan.dense_order);
    out.streams = plan.store != Store::matrix;
    return out;
}

// A cheap sample calls no callback, and takes at most 1 % of the time of the fit and no more memory
// than the fit.
bool PlannedFit::sample_is_cheap(const Forecast &ahead) const {
    const int64_t rows = SpectrumEstimate::allowed(task_.recipe, source_);
    return !SpectrumEstimate::asks(task_.recipe, source_) &&
           100 * SpectrumEstimate::cost(source_, rows) <= effort_of(ahead.stages) &&
           as_double(SpectrumEstimate::bytes(source_, rows)) <= ahead.figures.bytes.most;
}

std::unique_ptr<SpectrumEstimate> PlannedFit::sample_rows() const {
    if (SpectrumEstimate::allowed(task_.recipe, source_) == 0) return nullptr;
    return SpectrumEstimate::take(task_.run, task_.recipe, task_.data);
}

void PlannedFit::expect(const SpectrumEstimate *spectrum, Plan &plan, Forecast &ahead) const {
    const int64_t m = way_.centres.cost.likely_m;
    // The sample estimates the spectrum of the kernel matrix. A lift that does not project solves
    // for the spectrum of a random walk, of which the sample says nothing.
    if (spectrum && lift_.traits.solves && lift_.traits.projects) expect_spectrum(likely(), *spectrum, plan);
    if (spectrum && !plan.solver && spectrum->rank() < m) // a projection on a factor of lower rank costs less
        plan.products.likely *= std::pow(as_double(spectrum->rank()) / as_double(m), 2);
    if (spectrum || m < way_.centres.cost.m) expect_fewer(figures_of(plan, m, fewer_), ahead.figures);
    ahead.stages = stages_of(plan);
}

void PlannedFit::finish(const Plan &plan, const SpectrumEstimate *spectrum, double begin, Forecast &ahead) const {
    if (spectrum) ahead.figures.rows = spectrum->rows(), ahead.figures.sample_seconds = now_seconds() - begin;
    ahead.figures.seconds = seconds_of(task_.run, source_, ahead, plan, f32_ || plan.f32 || plan.rough, spectrum);
}

Forecast forecast_once(const ForecastTask &task) {
    const PlannedFit fit(task, lift_named(task.recipe.values().lift));
    Forecast out = fit.by_shape();
    out.by_likely = fit.refuse();
    const double begin = now_seconds();
    const bool sampled = task.sample == Sample::always || fit.sample_is_cheap(out);
    const auto spectrum = sampled ? fit.sample_rows() : nullptr;
    Plan likely = fit.usually();
    fit.expect(spectrum.get(), likely, out); // changes only likely figures and the stages
    out.strategy = format("%" PRId64 " centres, %s", out.centres, fit.plan().how);
    fit.finish(likely, spectrum.get(), begin, out);
    return out;
}

Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Sample sample) {
    if (data.source->rows() < 0) fail(MERCER_E_UNSUPPORTED, "the number of rows is unknown until they are read");
    if (data.source->rows() < 1) fail(MERCER_E_DATA, "the data have 0 rows, must be >= 1");
    Forecast out = driver_named(driver_of(recipe).name).forecast({run, recipe, data, sample});
    run.log(1, ("forecast: " + out.strategy).c_str());
    return out;
}

} // namespace mercer
