#include "fit_report.h"

#include "report.h"

namespace mercer {

Json report_text(const Run &run, const Recipe &recipe, const Fitted &fitted) {
    const auto &[forecast, prepared, road, lift, reduction, centres, plan, lifted] = fitted;
    const mercer_forecast &ahead = forecast.figures;
    Json text = Json::object();
    text["format"] = 1;
    text["version"] = MERCER_VERSION;
    text["requires"] = required_plugins(prepared.kernel);
    text["method"] = recipe.values().method;
    text["kernel"] = prepared.kernel.text();
    text["reducer"] = recipe.values().reducer;
    text["lift"] = recipe.values().lift;
    text["solver"] = plan.solver ? plan.solver->name : "dense";
    std::map<std::string, std::string> parameters =
        prepared.kernel.stored(); // bandwidths have been resolved to numbers
    for (auto &[name, value] : recipe.stored())
        if (name.rfind("kernel.", 0) != 0) parameters[name] = value;
    text["parameters"] = parameter_json(parameters);
    text["n"] = prepared.source->rows();
    if (centres.tensors.count("C.values")) text["d"] = prepared.source->cols();
    write_facts(lifted, reduction.report, text);
    const double m = static_cast<double>(centres.m()), evaluations = static_cast<double>(lifted.kernel_evaluations);
    auto figure = [](const mercer_figure &foreseen, double happened) -> Json {
        return record({{"likely", foreseen.likely}, {"most", foreseen.most}, {"happened", happened}});
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
    if (recipe.is_auto()) {
        text["road"] = auto_json(road.report);
        text["forecast"]["road"] = ahead.passes.likely > 0 ? "exact" : "projected";
        text["forecast"]["why"] = forecast.road;
        text["lift"] = lift->traits.name;
        if (!road.exact) text["reducer"] = "rpcholesky";
    }
    text["peak_bytes"] = run.budget()->peak();
    text["timings"] = timings_json(run);
    return text;
}

} // namespace mercer
