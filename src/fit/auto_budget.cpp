#include "auto_budget.h"

#include "../lift/components.h"
#include "../lift/projected.h"
#include "auto_search.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace mercer {
namespace {

constexpr int64_t most_rows = int64_t{1} << 20; // largest number of rows in a sample of the residual
// Smaller relative errors of eigenvalues would be below the rounding errors of an f32 factor.
constexpr double least_f32_accuracy = 1e-4;

// A choice for samples of the residual: the number of directions, and the largest number of rows.
struct Sampling {
    int64_t width, rows;
};

// The total memory of the projected strategy with a factor of m columns. A factor that grows beyond
// its first two sizes is counted twice, because growing copies it.
int64_t projected_bytes(const PlanTask &exact, int64_t m, const Sampling &sampling, int64_t read) {
    PlanTask task = exact;
    task.m = m;
    const SpanBytes of = span_bytes(task, {.rows = sampling.rows, .width = sampling.width});
    const int64_t copy = m > first_ranks[1] ? of.factor : 0,
                  beside = of.stored + std::max({copy, of.growing.most, of.evidence.most});
    return base_bytes(exact.source, exact.weighted, m, exact.f32) +
           std::max(read, of.factor + std::max(beside, of.project.most));
}

// Returns the sample sizes to try, largest first. With the last one no row of the residual is
// sampled, and sampled pairs alone must certify. Sampled rows may take an eighth of the budget
// (`limit`), or more if that is too little for a pilot.
std::vector<Sampling> samplings(const Components &choice, int64_t limit, int64_t useful) {
    constexpr int64_t few = 4000;
    const int64_t r = choice.most_ask(), wide = 2 * r + 20;
    auto rows = [&](int64_t width) {
        return std::min(useful, std::clamp(limit / 8 / (8 * padded_columns<float>(width) + 24), pilot_rows, most_rows));
    };
    return {{wide, rows(wide)}, {r, rows(r)}, {r, std::min(few, rows(r))}, {r, 0}};
}

} // namespace

void Outlook::grew(int64_t from, int64_t to, double before, double left) {
    if (from > 0 && to > from && left > 0)
        decay = std::clamp(std::log(before / left) / std::log(static_cast<double>(to) / static_cast<double>(from)), 0.1,
                           20.0);
}

Outlook::Sample Outlook::expected(double trace, double failure) const {
    RitzSpectrum all = known.all;
    all.trace = trace;
    const double norm = known.norm * std::pow(trace / known.trace, 1.5);
    // Without sampled rows, the bound of the norm from sampled pairs must certify alone. If it is
    // not expected to, 1 row is returned, which exceeds most_rows_ = 0.
    if (most_rows_ == 0) return {known.r, norm <= 0.9 * known.target ? 0 : 1};
    Sample out{0, 4000};
    for (int round = 0; round < 2; ++round) {
        out.p = choose_width(all, norm, known.r, std::min(out.s, most_rows_), failure, Sides::both);
        out.s = rows_expected(leading(all, out.p), norm, failure, Sides::both, known.r, known.target, most_rows_);
    }
    return out;
}

Outlook::Size Outlook::cheapest(int64_t count, double left, int64_t least, double failure) const {
    Size best{least, INFINITY};
    for (int64_t m = least;; m = std::min(most_rank_, m + (m + 7) / 8)) {
        const double grown = static_cast<double>(m) / static_cast<double>(count);
        const Sample sample = expected(left * std::pow(grown, -decay), failure);
        const int64_t columns = f32_ ? padded_columns<float>(sample.p) : padded_columns<double>(sample.p);
        const double s = known.correction * static_cast<double>(sample.s),
                     fixed = costs_.factor(count, m) + (m == known.m ? 0 : costs_.projection(m)),
                     cost = sample.s > most_rows_ ? INFINITY : fixed + costs_.rows(s, columns);
        if (cost < best.cost) best = {m, cost};
        if (m == most_rank_ || fixed > std::min(best.cost, exact_cost_)) return best;
    }
}

LikelyAttempt likely_attempt(const Costs &costs, const CoreValues &values, const Strategies &strategies) {
    const int64_t r = Components(values, static_cast<int64_t>(costs.n)).ask(),
                  m = std::min(strategies.most_rank, std::max<int64_t>(192, 2 * r + 20));
    const double s = std::min({20 / values.accuracy, 2000.0, static_cast<double>(strategies.most_rows)});
    return {m, s, costs.attempt(m, s, std::min(r, m))};
}

// If the budget is tight, the function first gives up directions and sampled rows of the residual,
// and only then columns of the first factor.
Strategies find_strategies(const PlanTask &exact, int64_t bytes, int64_t read) {
    const CoreValues &values = exact.recipe.values();
    const int64_t n = exact.source.rows(), limit = exact.run.budget()->limit(), r = likely_components(values, n);
    const Costs costs(exact.source, r);
    Strategies out;
    out.exact = bytes <= exact.budget_left;
    const double most_columns = out.exact ? costs.worth() : costs.n;
    const int64_t most = std::clamp(static_cast<int64_t>(most_columns), std::min(n, first_ranks[1]), n),
                  least = std::min(n, std::clamp(r, least_rank, first_ranks[1]));
    const std::vector<Sampling> ways = samplings(
        Components(values, most), limit, out.exact ? static_cast<int64_t>(costs.worth_rows()) + pilot_rows : most_rows);
    Sampling sampling = ways.front();
    auto fits = [&](int64_t m) { return projected_bytes(exact, m, sampling, read) <= limit; };
    // Chooses the sampling, and returns the size of the first factor; 0: no factor fits in the
    // budget.
    auto begins_with = [&] {
        for (int64_t first = first_ranks[1];; first /= 2) {
            for (const Sampling &way : ways)
                if (sampling = way; fits(std::min(n, std::max(first, least))))
                    return std::min(n, std::max(first, least));
            if (first <= least) return int64_t{0};
        }
    };
    const bool provable = !exact.f32 || values.accuracy >= least_f32_accuracy;
    if (!provable) {
        out.why = format("a factor in f32 cannot certify an accuracy below %g", least_f32_accuracy);
    } else if (out.exact && costs.exact() <= costs.attempt(first_ranks[1], pilot_rows, 1)) {
        out.why = "with so few rows exact passes are cheaper";
    } else if (out.most_rank = begins_with(); out.most_rank == 0) {
        out.why = "a factor does not fit in the memory budget";
    } else {
        out.most_rows = sampling.rows, out.most_width = sampling.width;
        // Bisection: a factor of most_rank columns fits in the budget; one of `above` columns does
        // not, or `above` exceeds `most`.
        for (int64_t above = most + 1; above - out.most_rank > 1;) {
            const int64_t middle = out.most_rank + (above - out.most_rank) / 2;
            (fits(middle) ? out.most_rank : above) = middle;
        }
        if (!out.exact)
            out.why = format("exact passes do not fit in the memory budget: they need %.0f MiB",
                             static_cast<double>(limit + bytes - exact.budget_left) / 0x1p20);
    }
    if (out.exact || out.most_rank > 0) return out;
    PlanTask factor = exact;
    factor.m = least;
    factor.budget_left = limit - base_bytes(exact.source, exact.weighted, least, exact.f32);
    const int64_t needed = projected_bytes(exact, least, ways.back(), read) - limit;
    if (provable && needed < bytes - exact.budget_left)
        refuse_over_budget(factor, factor.budget_left + needed, "including their factor");
    refuse_over_budget(exact, bytes, "in exact passes");
    return out;
}

namespace {

// Up to this number of components, the simulation also tries more directions than components. For
// more components, this would take too long.
constexpr int64_t tried_up_to = 64;

// Simulates the search of auto_search.cpp without reading further data. The traces, norms and
// eigenvalues that the search would compute from its factors are taken from `spectrum`, which was
// estimated from a sample of the rows. Sampled rows of the residual are assumed to certify as much
// as is expected of them.
class SimulatedSearch {
  public:
    SimulatedSearch(const SpectrumEstimate &spectrum, const PlanTask &exact, const Strategies &strategies)
        : spectrum_(spectrum), values_(exact.recipe.values()), strategies_(strategies),
          n_(static_cast<double>(exact.source.rows())), unit_(unit_roundoff(exact.f32)),
          costs_(exact.source, likely_components(values_, exact.source.rows())),
          exact_cost_(strategies.exact ? costs_.exact() : INFINITY),
          pairs_(norm_values(exact.kernel, exact.source, false)), end_(std::min(strategies.most_rank, spectrum.rank())),
          r_(spectrum.components(values_, exact.source.rows())), shares_(share_failure(values_.delta, Sides::both)),
          outlook_(costs_, strategies, exact_cost_, exact.f32) {
        const double together = 1 + std::sqrt(static_cast<double>(r_)),
                     least = spectrum.eigenvalue(r_) / spectrum.eigenvalue(1);
        out_.tol = std::min(values_.accuracy * least / together / 2, 1e-6);
    }

    SimulatedStrategy run() {
        out_.exact = end_ == 0;
        for (int64_t m : first_ranks)
            if (end_ > 0) grow(std::min(m, end_));
        for (int64_t number = 1; !out_.exact && !attempt(number); ++number)
            if (!advance(number)) return out_.exact = strategies_.exact, out_;
        return out_;
    }

  private:
    double left(int64_t m) const { return n_ * spectrum_.left(m); }
    double failure(int64_t number) const { return attempt_failure(shares_.rows, number); }

    void grow(int64_t m) {
        outlook_.grew(out_.m, m, left(out_.m), left(m));
        out_.cost += costs_.factor(out_.m, m);
        out_.m = m;
    }

    RitzSpectrum spectrum(int64_t r) const {
        RitzSpectrum all;
        const int64_t wide = r <= tried_up_to ? 2 * r + 20 : r;
        for (int64_t i = 1; i <= std::max(std::min({out_.m, wide, strategies_.most_width}), r); ++i)
            all.theta.push_back(n_ * spectrum_.eigenvalue(i));
        all.next = all.theta.back(), all.n = static_cast<int64_t>(n_), all.trace = left(out_.m);
        all.eta = unit_ * n_ * (spectrum_.eigenvalue(1) + std::max(spectrum_.self() - spectrum_.variance(), 0.0));
        return all;
    }

    bool attempt(int64_t number) {
        const int64_t m = out_.m, r = std::min(r_, m);
        const RitzSpectrum all = spectrum(r);
        const double target = values_.accuracy * n_ * spectrum_.eigenvalue(r), total = all.total();
        out_.cost += costs_.projection(m);
        out_.evaluations = n_ * static_cast<double>(m + 1);
        if (m == spectrum_.rank() || total <= target) return true;
        out_.evaluations += pairs_;
        // slack: the term of frobenius_bound (certify/bounds.h) that remains if all sampled pairs
        // are alike.
        const double seen = n_ * spectrum_.norm(m) / total, pairs = static_cast<double>(Evidence<double>::pairs),
                     slack = 7 * std::log(2 / attempt_failure(shares_.pairs, number)) / (3 * pairs),
                     norm = total * std::min(std::sqrt(seen * seen + slack), 1.0);
        if (norm <= target) return true;
        outlook_.known = {m, r, left(m), norm, target, all, 1};
        if (strategies_.most_rows == 0) return false;
        const Outlook::Size here = outlook_.cheapest(m, left(m), m, failure(number));
        if (here.m != m || !(here.cost < exact_cost_)) return false;
        const Outlook::Sample rows = outlook_.expected(left(m), failure(number));
        const double drawn = static_cast<double>(rows.s + pilot_rows);
        out_.evaluations += n_ * drawn;
        out_.cost += costs_.rows(drawn, padded_columns<float>(rows.p));
        return true;
    }

    // Returns false if exact passes are cheaper, or if there is no larger factor.
    bool advance(int64_t number) {
        const int64_t before = out_.m;
        for (int64_t least = std::min(end_, before * 9 / 8 + 1); out_.m < end_; least = out_.m) {
            Outlook::Size next = outlook_.cheapest(out_.m, left(out_.m), least, failure(number));
            if (next.cost >= exact_cost_ && strategies_.exact) return false;
            if (next.cost >= exact_cost_) next.m = end_;
            if (next.m == out_.m) return true;
            grow(std::min({next.m, 2 * out_.m, end_}));
        }
        return out_.m > before;
    }

    const SpectrumEstimate &spectrum_;
    const CoreValues &values_;
    const Strategies &strategies_;
    double n_, unit_;
    Costs costs_;
    double exact_cost_, pairs_;
    int64_t end_, r_;
    Shares shares_;
    Outlook outlook_;
    SimulatedStrategy out_;
};

// Exact passes of `auto` over f32 data use f64 unless a factor has shown that f32 keeps the
// accuracy. This function raises the largest figures to those of f64 passes (`wider`), and replaces
// the likely figures by them if there will be no factor.
void expect_wider(const mercer_forecast &wider, Forecast &out) {
    const bool sure = out.strategies.most_rank == 0; // no factor, so f64 passes are certain
    for (mercer_figure mercer_forecast::*figure : {&mercer_forecast::bytes, &mercer_forecast::kernel_evaluations,
                                                   &mercer_forecast::passes, &mercer_forecast::flops}) {
        mercer_figure &to = out.figures.*figure;
        to = {sure ? (wider.*figure).likely : to.likely, std::max(to.most, (wider.*figure).most)};
    }
}

} // namespace

SimulatedStrategy simulate_strategy(const SpectrumEstimate &spectrum, const PlanTask &exact,
                                    const Strategies &strategies) {
    return SimulatedSearch(spectrum, exact, strategies).run();
}

// Without a simulation, the likely figures are those of likely_attempt, which follow from
// measurements: fits of 20 000 and 100 000 rows (clusters, a curve, normal and uniform data, and
// ijcnn1) took 128 to 580 columns, and 550 to 4000 sampled rows for accuracies of 0.001 and 0.01,
// but few rows or none for an accuracy of 0.1.
void forecast_strategy(const PlanTask &exact, int64_t read, const SimulatedStrategy *simulated, Forecast &ahead) {
    const Strategies &strategies = ahead.strategies;
    const CoreValues &values = exact.recipe.values();
    ahead.strategy = (strategies.exact ? "exact passes: " : "a projection: ") + strategies.why;
    if (strategies.most_rank == 0) return;
    const Costs costs(exact.source, likely_components(values, exact.source.rows()));
    if (strategies.exact)
        ahead.strategy =
            format("decided during the fit: a projection on some of the rows, if it certifies %g %% at less "
                   "than the cost of exact passes (it does if the eigenvalues decay fast), else exact passes",
                   100 * values.accuracy);
    mercer_forecast &out = ahead.figures;
    const double n = costs.n, most = static_cast<double>(strategies.most_rank),
                 pairs = norm_values(exact.kernel, exact.source, false),
                 attempts = 1 + std::log(std::max(most / static_cast<double>(first_ranks[0]), 1.0)) / std::log(9.0 / 8),
                 drawn = 5 * static_cast<double>(strategies.most_rows) + static_cast<double>(pilot_rows);
    mercer_forecast grown{}; // figures of the projected strategy if the factor grows to most_rank
    grown.bytes.most = static_cast<double>(
        projected_bytes(exact, strategies.most_rank, {strategies.most_width, strategies.most_rows}, read));
    grown.kernel_evaluations.most =
        static_cast<double>(PartialCholesky<double>::evaluations(exact.source.rows(), strategies.most_rank)) +
        attempts * (n * drawn + pairs);
    grown.flops.most = flops_of(exact.source.cols(), n, grown.kernel_evaluations.most, 0) + 3 * n * most * most;
    if (strategies.exact) { // exact passes may follow a search that fails
        out.bytes.most = std::max(out.bytes.most, grown.bytes.most);
        out.kernel_evaluations.most += grown.kernel_evaluations.most;
        out.flops.most += grown.flops.most;
    } else {
        grown.struct_size = out.struct_size;
        out = grown;
    }
    auto [m, s, cost] = likely_attempt(costs, values, strategies);
    if (simulated && !simulated->exact) m = simulated->m, cost = simulated->cost;
    out.dense_seconds = std::max(strategies.exact ? out.dense_seconds : 0, dense_seconds(static_cast<double>(m)));
    PlanTask likely = exact;
    likely.m = m;
    likely.budget_left = exact.run.budget()->limit() - base_bytes(exact.source, exact.weighted, m, exact.f32);
    const Plan plan = plan_projected(likely);
    const double bytes =
        std::min(out.bytes.most, static_cast<double>(base_bytes(exact.source, exact.weighted, m, exact.f32) +
                                                     std::max(read, plan.likely_bytes)));
    if (simulated && strategies.exact)
        ahead.strategy += simulated->exact
                              ? "; a sample of the rows makes exact passes likely"
                              : format("; a sample of the rows makes about %" PRId64 " landmarks likely", m);
    if (simulated && simulated->exact) {
        for (auto &[stage, effort] : ahead.stages)
            if (std::strcmp(stage, "reduce") == 0) effort += simulated->cost * (exact.f32 ? 1 : 2);
        return;
    }
    // Exact passes are likely, but the first attempt to certify may suffice. A likely figure that
    // equals the largest would look certain, so the two are made to differ.
    if (!simulated && strategies.exact && costs.exact() <= cost) {
        out.passes.most = std::max(out.passes.most, out.passes.likely + 1);
        if (out.bytes.likely == out.bytes.most) out.bytes.likely = std::min(out.bytes.likely, bytes);
        return;
    }
    out.bytes.likely = bytes;
    out.kernel_evaluations.likely = simulated ? simulated->evaluations : n * (static_cast<double>(m) + s) + pairs;
    out.passes.likely = 0;
    out.flops.likely = flops_of(exact.source.cols(), n, out.kernel_evaluations.likely, 0) + 2 * costs.projection(m);
    out.streams = 1;
    ahead.stages.resize(1); // keeps only the stage `read`
    ahead.stages.emplace_back("reduce", cost * (exact.f32 ? 1 : 2));
    for (const auto &stage : lift_stages(exact.source, plan, m)) ahead.stages.push_back(stage);
}

// This function reads a sample of the rows only for Sample::always, not for Sample::cheap. No
// sample is certain to be cheap compared to the fit, because the search may take only a fraction of
// the time that the shape suggests.
Forecast forecast_auto(const ForecastTask &task) {
    const PlannedFit exact(task, lift_named("weighted"));
    Forecast out = exact.by_shape();
    out.strategies = find_strategies(exact.most(), exact.bytes(), exact.read_bytes());
    const double begin = now_seconds();
    const auto spectrum = task.sample == Sample::always ? exact.sample_rows() : nullptr;
    Plan likely = exact.usually(), wide = plan_exact(exact.most(), false);
    SimulatedStrategy simulated;
    if (spectrum) {
        simulated = simulate_strategy(*spectrum, exact.most(), out.strategies);
        likely.tol = std::max(simulated.tol, 1e-9);
    }
    exact.expect(spectrum.get(), likely, out);
    wide.tol = likely.tol;
    if (spectrum) expect_spectrum(exact.most(), *spectrum, wide);
    expect_wider(exact.figures_of(wide), out);
    forecast_strategy(exact.most(), exact.read_bytes(), spectrum ? &simulated : nullptr, out);
    exact.finish(likely, spectrum.get(), begin, out);
    return out;
}

} // namespace mercer
