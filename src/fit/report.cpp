#include "report.h"

#include "../core/text.h"

#include <cinttypes>
#include <numeric>

namespace mercer {

Json parameter_json(const std::map<std::string, std::string> &stored) {
    Json out = Json::object();
    for (const auto &[name, text] : stored) {
        int64_t whole = 0;
        double real = 0;
        if (text == "true" || text == "false")
            out[name] = text == "true";
        else if (parse_number(text, &whole))
            out[name] = whole;
        else if (parse_number(text, &real))
            out[name] = real;
        else
            out[name] = text;
    }
    return out;
}

Json timings_json(const Run &run) {
    Json out = Json::object();
    for (const auto &[stage, seconds] : run.stage_seconds()) out[stage] = out.value(stage, 0.0) + seconds;
    out["total"] = run.seconds();
    return out;
}

Json report_text(const FitFacts &facts) {
    const auto &[run, recipe, prepared, reduction, centres, plan, lifted, ahead] = facts;
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
    text["outcome"] = outcome_names(lifted.outcome);
    text["capabilities"] = capability_names(lifted.capabilities);
    text["certificates"] = Json::array();
    text.update(lifted.text);
    for (auto &[name, value] : reduction.report) text["reported"]["reducer." + name] = value;
    text["kernel_evaluations"] = lifted.kernel_evaluations + static_cast<int64_t>(reduction.kernel_evaluations);
    text["kernel_passes"] = lifted.passes;
    const double m = static_cast<double>(centres.m()), evaluations = text["kernel_evaluations"];
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
    text["peak_bytes"] = run.budget()->peak();
    text["timings"] = timings_json(run);
    return text;
}

void warn_of_limit(const CoreValues &asked, const Tensors &tensors, Json &text) {
    const Tensor *found = variances_of(tensors);
    if (std::isnan(asked.variance) || asked.components == 0 || !found) return;
    const double total = text.at("total_variance").at("value");
    if (total <= 0) return;
    const double *values = tensor_data<double>(*found);
    const double share = std::accumulate(values, values + found->rows, 0.0) / total;
    if (found->rows < asked.components || share >= asked.variance * (1 - 1e-12)) return;
    text["warnings"].push_back(
        format("%" PRId64 " components explain %.3g %% of the variance, %.3g %% requested: output.components = %" PRId64
               " limits their number, 0 removes the limit",
               found->rows, 100 * share, 100 * asked.variance, asked.components));
}

} // namespace mercer
