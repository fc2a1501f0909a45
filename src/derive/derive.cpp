#include "derive.h"

#include "../core/threads.h"
#include "../fit/report.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

namespace {

// JSON numbers are exact up to this limit. Counts can reach it: a model that is derived from the
// same model given twice has more than twice as many ancestors.
constexpr double most_ancestors = 0x1p53;

// Returns the number of models from which this one descends; a model counts as often as it was
// used.
double ancestors_of(const Model &model) {
    const Json &text = model.text();
    if (const auto count = text.find("ancestors"); count != text.end() && count->is_number())
        return std::clamp(count->get<double>(), 0.0, most_ancestors);
    // Early reports of version 0.1.0 have no such count, but list all ancestors.
    const auto from = text.find("from");
    return from != text.end() && from->is_array() ? static_cast<double>(from->size()) : 0.0;
}

// Returns what a report says of a parent: a record of bounded size that does not include the
// parent's own parents, because reports must not grow with the number of ancestors.
Json parent_json(const Model &model) {
    Json out = Json::object();
    for (const char *name : {"operation", "method"})
        if (const auto found = model.text().find(name); found != model.text().end() && found->is_string())
            out[name] = found->get<std::string>().substr(0, 80);
    out["n"] = model.n(), out["m"] = model.m(), out["r"] = model.r();
    out["digest"] = digest_of(model);
    return out;
}

std::string number_of_models(int64_t count) { return format("%" PRId64 " model%s", count, count == 1 ? "" : "s"); }

Json forecast_json(const Run &run, const DerivationForecast &ahead) {
    const auto figure = [](double likely, double most) { return record({{"likely", likely}, {"most", most}}); };
    return record(
        {{"bytes",
          record({{"likely", ahead.bytes.likely}, {"most", ahead.bytes.most}, {"happened", run.budget()->peak()}})},
         {"kernel_evaluations", figure(ahead.kernel_evaluations.likely, ahead.kernel_evaluations.most)},
         {"flops", figure(ahead.flops.likely, ahead.flops.most)}});
}

} // namespace

std::map<std::string, DerivationFunctions> &derive_functions() {
    static std::map<std::string, DerivationFunctions> table = {{"compress", {compress, forecast_compress}},
                                                               {"truncate", {truncate, forecast_truncate}}};
    return table;
}

void check_count(const Recipe &recipe, int64_t count) {
    const Derivation &derivation = *recipe.derivation();
    const int64_t least = derivation.least_models, most = derivation.most_models;
    if (count >= least && count <= most) return;
    const std::string allowed = least == most   ? number_of_models(most)
                                : count < least ? "at least " + number_of_models(least)
                                                : "at most " + number_of_models(most);
    fail(MERCER_E_ARGUMENT, "count = %" PRId64 ", '%s' takes %s", count, derivation.name, allowed.c_str());
}

DerivationForecast forecast_derivation(const DeriveTask &task) {
    const char *name = task.recipe.derivation()->name;
    DerivationForecast ahead = derive_functions().at(name).forecast(task);
    const int64_t limit = task.run.budget()->limit();
    if (ahead.bytes.most > limit)
        fail(MERCER_E_BUDGET, "'%s' needs %.3f MiB in total, but the memory budget is %.3f MiB", name,
             std::ceil(static_cast<double>(ahead.bytes.most) / 0x1p20 * 1000) / 1000,
             static_cast<double>(limit) / 0x1p20);
    return ahead;
}

mercer_forecast forecast_figures(const Run &run, const DeriveTask &task, const DerivationForecast &ahead) {
    mercer_forecast out{};
    out.struct_size = sizeof out;
    out.bytes = {static_cast<double>(ahead.bytes.likely), static_cast<double>(ahead.bytes.most)};
    out.kernel_evaluations = ahead.kernel_evaluations;
    out.flops = ahead.flops;
    out.dense_seconds = dense_seconds(ahead.dense_order);
    out.streams = 1;
    const double threads = static_cast<double>(std::min(run.threads(), available_threads())),
                 d = static_cast<double>(task.models.front()->d()),
                 values = ahead.kernel_evaluations.likely * value_cost(task.models.front()->d(), false),
                 others = std::max(ahead.flops.likely - 2 * d * ahead.kernel_evaluations.likely, 0.0);
    out.seconds = (values + 2 * others) / (product_rate() * threads); // f64 takes twice the time of f32
    return out;
}

std::shared_ptr<const Model> derive(const DeriveTask &task) {
    const DerivationForecast ahead = forecast_derivation(task);
    DeriveTask planned = task;
    planned.ahead = &ahead;
    return derive_functions().at(task.recipe.derivation()->name).derive(planned);
}

Json derived_text(const DeriveTask &task, const Model &model) {
    const Json &before = model.text();
    Json text = Json::object(), parameters = Json::object();
    text["format"] = 1;
    text["version"] = MERCER_VERSION;
    text["requires"] = required_plugins(model.kernel());
    for (const char *name : {"method", "kernel", "lift", "solver", "n", "d", "columns", "total_variance", "error_bars"})
        if (before.contains(name)) text[name] = before[name];
    text["operation"] = task.recipe.derivation()->name;
    if (task.recipe.derivation()->reducer) text["reducer"] = task.recipe.values().reducer;
    const Json known = before.value("parameters", Json::object());
    for (const auto &[name, value] : known.items())
        if (name.rfind("kernel.", 0) == 0 || name.rfind("data.", 0) == 0) parameters[name] = value;
    parameters.update(parameter_json(task.recipe.stored()));
    text["parameters"] = std::move(parameters);
    text["from"] = Json::array();
    double ancestors = 0;
    for (const auto &from : task.models) {
        text["from"].push_back(parent_json(*from));
        ancestors = std::min(ancestors + 1 + ancestors_of(*from), most_ancestors);
    }
    text["ancestors"] = static_cast<int64_t>(ancestors);
    return text;
}

std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors) {
    if (task.ahead) text["forecast"] = forecast_json(task.run, *task.ahead);
    text["peak_bytes"] = task.run.budget()->peak();
    text["timings"] = timings_json(task.run);
    need_finite(text, tensors);
    auto out = Model::assemble(std::move(text), std::move(tensors), task.recipe.registry(), task.settings);
    if (model.kernel().has_user() && model.kernel().user) out = out->bind(model.kernel().user);
    task.run.progress(1);
    return out;
}

} // namespace mercer
