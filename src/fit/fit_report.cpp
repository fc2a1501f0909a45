#include "fit_report.h"

#include "report.h"

#include <cmath>

namespace mercer {
namespace {

// The attempts of `auto` to certify, the strategy that it chose, and why.
Json strategy_json(const Strategy &strategy, double accuracy) {
    Json out = record({{"accuracy", accuracy}, {"attempts", Json::array()}});
    const auto share = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    for (const Attempt &look : strategy.attempts) {
        Json one = record({{"m", look.m}, {"trace", share(look.trace)}});
        if (!std::isnan(look.norm)) one["norm"] = share(look.norm);
        for (const auto &[name, count] :
             {std::pair("directions", look.directions), std::pair("needed", look.needed), std::pair("rows", look.rows)})
            if (count > 0) one[name] = count;
        one["proved"] = share(look.proved);
        out["attempts"].push_back(std::move(one));
    }
    out["taken"] = strategy.exact ? "exact" : "projected";
    out["why"] = strategy.why;
    return out;
}

// How many rows a selection by column energies could choose from before each pivot. survival: the
// share of the candidates that were still there one pivot later, on average; by the model of the
// paper on AKFA it is n^(-1/l), if l pivots use up all n rows.
Json selection_json(const std::vector<int64_t> &candidates, int64_t n) {
    Json out = record({{"candidates", candidates}});
    const double first = static_cast<double>(candidates.front()), last = static_cast<double>(candidates.back()),
                 steps = static_cast<double>(candidates.size() - 1);
    if (steps == 0) return out;
    out["survival"] = std::pow(last / first, 1 / steps);
    out["survival_model"] = std::pow(static_cast<double>(n), -1 / (steps + 1));
    return out;
}

} // namespace

Json report_text(const Run &run, const Recipe &recipe, const Fitted &fitted) {
    const auto &[forecast, prepared, strategy, reducer, lift, reduction, centres, plan, lifted, checkpoint] = fitted;
    const mercer_forecast &ahead = forecast.figures;
    Json text = Json::object();
    text["format"] = 1;
    text["version"] = MERCER_VERSION;
    text["requires"] = required_plugins(prepared.kernel);
    text["method"] = recipe.values().method;
    text["kernel"] = prepared.kernel.text();
    text["reducer"] = reducer;
    text["lift"] = lift->traits.name;
    text["solver"] = plan.solver ? plan.solver->name : "dense";
    std::map<std::string, std::string> parameters =
        prepared.kernel.stored(); // bandwidths have been resolved to numbers
    for (auto &[name, value] : recipe.stored())
        if (name.rfind("kernel.", 0) != 0) parameters[name] = value;
    text["parameters"] = parameter_json(parameters);
    text["n"] = prepared.source->rows();
    if (centres.tensors.count("C.values")) text["d"] = prepared.source->cols();
    write_facts(lifted, reduction.report, text);
    if (!reduction.candidates.empty())
        text["selection"] = selection_json(reduction.candidates, prepared.source->rows());
    const double m = static_cast<double>(centres.m()), evaluations = static_cast<double>(lifted.kernel_evaluations);
    auto figure = [](const mercer_figure &figures, double happened) -> Json {
        return record({{"likely", figures.likely}, {"most", figures.most}, {"happened", happened}});
    };
    text["forecast"] =
        record({{"seconds", record({{"likely", ahead.seconds}, {"happened", run.seconds()}})},
                {"rows_looked_at", ahead.rows},
                {"bytes", figure(ahead.bytes, static_cast<double>(run.budget()->peak()))},
                {"kernel_evaluations", figure(ahead.kernel_evaluations, evaluations)},
                {"passes", figure(ahead.passes, static_cast<double>(lifted.passes))},
                {"flops", figure(ahead.flops, flops_of(prepared.source->cols(), m, evaluations, lifted.columns) +
                                                  plan.flops_each * lifted.products + reduction.flops)},
                {"dense_seconds", ahead.dense_seconds},
                {"streams", ahead.streams != 0}});
    if (strategy) {
        text["strategy"] = strategy_json(*strategy, recipe.values().accuracy);
        text["forecast"]["strategy"] = ahead.passes.likely > 0 ? "exact" : "projected";
        text["forecast"]["why"] = forecast.strategy;
    }
    text["peak_bytes"] = run.budget()->peak();
    text["timings"] = timings_json(run);
    return text;
}

} // namespace mercer
