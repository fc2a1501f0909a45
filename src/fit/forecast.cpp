// The figures of a forecast: those of the lift's plan, of reading and of reducing, and the memory
// that is stored throughout.
//
//   bytes   base + max(read, reduce, lift)
//   flops   2 d for each kernel value + 2 m^2 for each column that is multiplied by the kernel matrix
//           + those of the solver and of factors
//
// The cost of a stage, which divides the progress, is in flops at the speed of a matrix product. A
// kernel value costs 2 d + 15 in f32 (15: the exponential, FACTS B3.12) and twice that in f64. A
// factorisation or a sweep over tall blocks runs at a tenth of that speed.
#include "forecast.h"

#include "../factor/pivot_service.h"
#include "../lift/components.h"
#include "auto_budget.h"
#include "auto_search.h"
#include "prepare.h"
#include "sample_weights.h"
#include "voronoi.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Returns the kernel with every bandwidth set to 1: the forms, the facts and the choice of fused
// values do not depend on it.
Expression foreseen_kernel(Run &run, const Recipe &recipe, const Source &source) {
    Expression kernel = recipe.kernel();
    kernel.finish(run, source.cols(), [](const Leaf &, const std::string &) { return 1.0; });
    return kernel;
}

double as_double(int64_t value) { return static_cast<double>(value); }

// Reading is limited by the speed of memory and by checks; a bandwidth rule sorts 5 x 10^5 distances.
double read_cost(const Source &source) { return 50 * as_double(source.rows()) * as_double(source.cols()) + 2e9; }

double reduce_cost(const Source &source, const ForeseenCentres &centres, bool f32) {
    const mercer_cost &cost = centres.cost;
    const double share = as_double(cost.likely_m) / as_double(cost.m);
    return cost.likely_evaluations * value_cost(source.cols(), f32) + 1.5 * cost.flops * share * share * (f32 ? 1 : 2);
}

void foresee_assignment(const Run &run, const Recipe &recipe, const Expression &kernel, const Source &source,
                        ForeseenCentres &out) {
    const bool voronoi = static_cast<CentreWeights>(recipe.values().centre_weights) == CentreWeights::voronoi,
               given = recipe.reducer()->reducer.flags & MERCER_GIVES_ASSIGNMENT,
               kept = recipe.values().assignment != 0;
    out.represents_rows = find_lift(recipe.values().lift).weighs && (voronoi || given);
    if (out.represents_rows || kept) out.kept = (kept ? 16 : 8) * source.rows(); // the model has a copy of its own
    if (!voronoi && (given || !kept)) return;
    const AssignCost cost = assign_cost(run, kernel, source, tile_is_f32(recipe, source), out.cost.m);
    out.cost.bytes = std::max(out.cost.bytes, cost.bytes.most);
    out.cost.likely_bytes = std::max(out.cost.likely_bytes, cost.bytes.likely);
    out.cost.kernel_evaluations += cost.kernel_evaluations;
    out.cost.likely_evaluations +=
        as_double(cost.kernel_evaluations) * as_double(out.cost.likely_m) / as_double(out.cost.m);
}

// Memory that the host's services take, which a plugin cannot know: tiles of the values that it
// requests, or panels of the rows.
Bytes service_bytes(const Run &run, const Recipe &recipe, const Expression &kernel, const Source &source, bool values) {
    const int64_t n = source.rows();
    const bool f32 = tile_is_f32(recipe, source);
    if (values) // the plugin's callback receives the rows along with their values
        return sweep_bytes(run, kernel, source, f32, Others::all) +
               Bytes(0, std::min(sweep_keeps, (f32 ? 4 : 8) * n * source.cols()));
    if (!(recipe.reducer()->reducer.flags & MERCER_NEEDS_VECTORS)) return 0;
    return held_by(run.threads(), blocks_of(n), 8 * std::min(tile_rows, n) * source.cols());
}

} // namespace

ForeseenCentres forecast_centres(Run &run, const Recipe &recipe, const Data &data, const Source &source,
                                 bool stores_factor) {
    const int64_t n = source.rows();
    ForeseenCentres out;
    out.cost.struct_size = sizeof out.cost;
    if (!recipe.reducer()) { // all rows that count
        const CountedVector<double> weights = sample_weights(data, source);
        out.cost.m = std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; });
        out.cost.likely_m = out.cost.m;
        return out;
    }
    const bool f32 = tile_is_f32(recipe, source);
    const mercer_shape shape{.struct_size = sizeof shape,
                             .n = n,
                             .d = source.cols(),
                             .r = foreseen_components(recipe.values(), n),
                             .dtype = f32 ? MERCER_F32 : MERCER_F64,
                             .form = 0,
                             .flags = 0,
                             .reserved = 0,
                             .landmarks = data.landmarks.rows,
                             .h = NAN,
                             .kappa = NAN};
    const Expression kernel = foreseen_kernel(run, recipe, source);
    PivotForecast pivots(f32 ? tiles_of<float>(kernel, source) : tiles_of<double>(kernel, source), stores_factor);
    mercer_task task(run, Random(0, Stage::reducer));
    task.foreseen = &pivots;
    task.perform(*recipe.reducer(), "forecast", [&] {
        return recipe.reducer()->reducer.forecast(&host_table(), &task, recipe.reducer_params().values(), &shape,
                                                  &out.cost);
    });
    out.factor = pivots.factor_bytes();
    out.rows = !(recipe.reducer()->reducer.flags & MERCER_GIVES_POINTS) ||
               (data.has_landmarks() && data.landmarks.dtype == MERCER_I64);
    out.cost.m = std::clamp<int64_t>(out.cost.m, 1, std::max(n, data.landmarks.rows));
    if (out.cost.likely_m == 0) out.cost.likely_m = out.cost.m;
    if (out.cost.likely_bytes == 0) out.cost.likely_bytes = out.cost.bytes;
    if (out.cost.likely_evaluations == 0) out.cost.likely_evaluations = as_double(out.cost.kernel_evaluations);
    const bool values = out.cost.kernel_evaluations > 0 && !pivots.was_asked();
    const Bytes services = service_bytes(run, recipe, kernel, source, values);
    out.cost.bytes += services.most, out.cost.likely_bytes += services.likely;
    foresee_assignment(run, recipe, kernel, source, out);
    return out;
}

namespace {

// Memory that complete_rows (gram/complete_rows.cpp) will hold.
int64_t missing_bytes(const Recipe &recipe, const Source &source) {
    const bool sought = static_cast<DataMissing>(recipe.values().data_missing) == DataMissing::rows &&
                        source.kind() == Source::Kind::dense && source.given_rows() == source.rows();
    return sought ? 9 * source.rows() : 0;
}

struct Sizes {    // in bytes
    int64_t base; // stored throughout the fit
    Bytes before; // needed before the lift, to read and to reduce
};

// The figures of a fit with m <= centres.cost.m centres.
mercer_forecast figures_of(const Source &source, const ForeseenCentres &centres, const Plan &plan, int64_t m,
                           const Sizes &sizes) {
    const double order = as_double(m), share = order / as_double(centres.cost.m);
    mercer_forecast out{};
    out.struct_size = sizeof out;
    auto in_all = [&](int64_t lift) {
        return as_double(sizes.base) + std::max(share * as_double(sizes.before.likely), as_double(lift));
    };
    // If the memory needed for any data, which follows from the shape alone, is this share of the
    // largest, the likely memory is the largest.
    constexpr double near = 0.95;
    out.bytes.most = as_double(sizes.base + std::max(sizes.before.most, plan.bytes));
    out.bytes.likely = in_all(plan.least_bytes) >= near * out.bytes.most
                           ? out.bytes.most
                           : std::min(in_all(plan.likely_bytes), near * out.bytes.most);
    out.kernel_evaluations = {centres.cost.likely_evaluations + plan.kernel_evaluations.likely,
                              as_double(centres.cost.kernel_evaluations) + plan.kernel_evaluations.most};
    out.passes = plan.passes;
    auto flops = [&](double evaluations, double columns, double products) {
        return flops_of(source.cols(), order, evaluations, columns) + plan.flops_each * products;
    };
    // How much work a reducer does depends on the data. The likely flops include it only if it
    // hands over a factor.
    const double reduced = share * share * centres.cost.flops;
    out.flops = {flops(out.kernel_evaluations.likely, plan.columns.likely, plan.products.likely) +
                     (centres.factor > 0 ? reduced : 0),
                 flops(out.kernel_evaluations.most, plan.columns.most, plan.products.most) + reduced};
    out.dense_seconds = dense_seconds(plan.dense_order);
    out.streams = plan.store != Store::matrix;
    return out;
}

// Replaces the likely figures by those of a fit with fewer centres.
void expect_fewer(const mercer_forecast &fewer, mercer_forecast &out) {
    for (mercer_figure mercer_forecast::*figure : {&mercer_forecast::bytes, &mercer_forecast::kernel_evaluations,
                                                   &mercer_forecast::passes, &mercer_forecast::flops})
        (out.*figure).likely = std::min((fewer.*figure).likely, (out.*figure).most);
}

// Exact passes of `auto` over f32 data use f64 unless f32 is known to keep the accuracy. This
// function takes that into account.
void expect_wider(const mercer_forecast &wider, Forecast &out) {
    const bool sure = out.strategies.most_rank == 0; // there will be no factor that could show that f32 suffices
    for (mercer_figure mercer_forecast::*figure : {&mercer_forecast::bytes, &mercer_forecast::kernel_evaluations,
                                                   &mercer_forecast::passes, &mercer_forecast::flops}) {
        mercer_figure &to = out.figures.*figure;
        to = {sure ? (wider.*figure).likely : to.likely, std::max(to.most, (wider.*figure).most)};
    }
}

// Takes a sample of the rows if that is allowed. A cheap sample must cost little compared to the fit,
// in time and in memory. This is never certain for `auto`: the sample simulates the search, and the fit
// may take a fraction of what its shape suggests.
std::unique_ptr<SpectrumEstimate> sample_rows(Run &run, const Recipe &recipe, const Data &data, Sample sample,
                                              double effort, double bytes) {
    const Source &source = *data.source;
    const int64_t rows = SpectrumEstimate::allowed(recipe, source);
    if (rows == 0) return nullptr;
    if (sample == Sample::cheap && (recipe.is_auto() || SpectrumEstimate::asks(recipe, source) ||
                                    100 * SpectrumEstimate::cost(source, rows) > effort ||
                                    as_double(SpectrumEstimate::bytes(source, rows)) > bytes))
        return nullptr;
    return SpectrumEstimate::take(run, recipe, data);
}

double effort_of(const Run::Stages &stages) {
    double out = 0;
    for (const auto &[stage, effort] : stages) out += effort;
    return out;
}

// The seconds of all stages, at the measured speed of a matrix product and, if the estimate computed
// kernel values, at their measured speed. The work of certificates is included in the kernel values.
double seconds_of(const Run &run, const Source &source, const Forecast &ahead, const Plan &plan, bool f32,
                  const SpectrumEstimate *spectrum) {
    const double threads = as_double(std::min(run.threads(), available_threads())), rate = product_rate() * threads,
                 nominal = value_cost(source.cols(), f32), values = ahead.figures.kernel_evaluations.likely;
    double effort = effort_of(ahead.stages);
    for (const auto &[stage, cost] : ahead.stages)
        if (std::string_view(stage) == "certify") effort -= cost;
    // The products of a projection run at three quarters of the speed of a large matrix product, as
    // measured for n >= 10 000.
    if (!plan.solver) effort -= (slow_work / 2 - 4.0 / 3) * plan.flops_each * plan.products.likely;
    double each = nominal / rate;
    if (spectrum) each = spectrum->value_seconds() / (spectrum->serial() ? 1 : threads) / (plan.rough ? 2 : 1);
    return std::max(effort - values * nominal, 0.0) / rate + values * each;
}

} // namespace

Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Sample sample) {
    const Source &source = *data.source;
    if (source.rows() < 0) fail(MERCER_E_UNSUPPORTED, "the number of rows is unknown until they are read");
    if (source.rows() < 1) fail(MERCER_E_DATA, "the data have 0 rows, must be >= 1");
    const bool f32 = tile_is_f32(recipe, source);
    const Expression kernel = foreseen_kernel(run, recipe, source);
    const Bytes read = prepare_bytes(run, recipe, source);
    const int64_t limit = run.budget()->limit();
    const Lift &lift = lift_named(recipe.is_auto() ? "weighted" : recipe.values().lift);
    struct Way { // one way to reduce and lift, and what it needs
        ForeseenCentres centres;
        Sizes sizes;
        Plan plan;
        int64_t bytes() const { return sizes.base + std::max(sizes.before.most, plan.bytes); }
    };
    auto task_of = [&](const ForeseenCentres &centres, const Sizes &sizes) {
        return PlanTask{.run = run,
                        .recipe = recipe,
                        .kernel = kernel,
                        .source = source,
                        .f32 = f32,
                        .m = centres.cost.m,
                        .budget_left = limit - sizes.base,
                        .rows = centres.rows,
                        .handed = centres.factor,
                        .represents_rows = centres.represents_rows};
    };
    auto before_lift = [&](const Bytes &reducer, int64_t m) { // 16 m: numbers and weights of the centres
        const Bytes all = larger(read, reducer + 16 * m);
        const int64_t later = base_bytes(source, m, f32) - base_bytes(source, 0, f32);
        return Bytes(std::max<int64_t>(all.likely - later, 0), std::max<int64_t>(all.most - later, 0));
    };
    auto way_of = [&](bool stores_factor) {
        Way out{forecast_centres(run, recipe, data, source, stores_factor), {}, {}};
        const mercer_cost &cost = out.centres.cost;
        out.sizes = {base_bytes(source, cost.m, f32) + missing_bytes(recipe, source) + out.centres.kept,
                     before_lift(Bytes(cost.likely_bytes, cost.bytes), cost.m)};
        out.plan = lift.plan(task_of(out.centres, out.sizes));
        return out;
    };
    Way way = way_of(true);
    bool stores_factor = true;
    if (recipe.reducer() && way.bytes() > limit)
        if (Way made_again = way_of(false); made_again.bytes() < way.bytes())
            way = std::move(made_again), stores_factor = false;
    const auto &[centres, sizes, plan] = way;
    const int64_t m = centres.cost.m;
    const PlanTask task = task_of(centres, sizes);
    PlanTask usual = task;
    usual.m = centres.cost.likely_m;
    Sizes fewer = sizes;
    fewer.base -= base_bytes(source, m, f32) - base_bytes(source, usual.m, f32);
    usual.budget_left = limit - fewer.base;
    const Plan usually = usual.m < m ? lift.plan(usual) : plan;

    Forecast out;
    out.stores_factor = stores_factor;
    out.centres = m;
    if (recipe.is_auto()) {
        out.strategies = find_strategies(task, std::max(plan.bytes, sizes.before.most), read.most);
    } else if (usual.m < m && m == source.rows()) { // m is known only after reading: fit() checks again
        out.by_likely = true;
        refuse_over_budget(usual, usually.bytes, usually.how);
        const int64_t likely = centres.cost.likely_bytes;
        refuse_over_budget(usual, before_lift(Bytes(likely, likely), usual.m).most, "to read and reduce");
    } else {
        refuse_over_budget(task, plan.bytes, plan.how);
        refuse_over_budget(task, sizes.before.most, "to read and reduce");
    }
    out.figures = figures_of(source, centres, plan, m, sizes);
    out.stages = {{"read", read_cost(source)}, {"reduce", reduce_cost(source, centres, f32)}};
    for (const auto &stage : lift_stages(source, usually, usual.m)) out.stages.push_back(stage);
    // What follows changes only the likely figures.
    const double begin = now_seconds();
    const auto spectrum = sample_rows(run, recipe, data, sample, effort_of(out.stages), out.figures.bytes.most);
    Plan likely = usually;
    SimulatedStrategy played;
    if (spectrum && recipe.is_auto())
        likely.tol = std::max((played = simulate_strategy(*spectrum, task, out.strategies)).tol, 1e-9);
    if (spectrum && std::string_view(lift.traits.name) == "weighted") expect_spectrum(usual, *spectrum, likely);
    if (spectrum && !likely.solver && spectrum->rank() < usual.m) // a factor of lower rank costs less
        likely.products.likely *= std::pow(as_double(spectrum->rank()) / as_double(usual.m), 2);
    if (spectrum || usual.m < m) expect_fewer(figures_of(source, centres, likely, usual.m, fewer), out.figures);
    if (recipe.is_auto()) {
        Plan wide = plan_exact(task, false);
        wide.tol = likely.tol;
        if (spectrum) expect_spectrum(task, *spectrum, wide);
        expect_wider(figures_of(source, centres, wide, m, sizes), out);
    }
    out.stages.resize(2);
    for (const auto &stage : lift_stages(source, likely, usual.m)) out.stages.push_back(stage);
    out.strategy = format("%" PRId64 " centres, %s", m, plan.how);
    if (recipe.is_auto()) foresee_strategy(task, read.most, spectrum ? &played : nullptr, out);
    if (spectrum) out.figures.rows = spectrum->rows(), out.figures.sample_seconds = now_seconds() - begin;
    out.figures.seconds = seconds_of(run, source, out, likely, f32 || likely.f32 || likely.rough, spectrum.get());
    run.log(1, ("forecast: " + out.strategy).c_str());
    return out;
}

} // namespace mercer
