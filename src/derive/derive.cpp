#include "derive.h"

#include "../fit/report.h"

#include <cinttypes>

namespace mercer {

std::map<std::string, Derive> &derive_functions() {
    static std::map<std::string, Derive> table = {{"compress", compress}};
    return table;
}

void check_count(const Recipe &recipe, int64_t count) {
    const Derivation &derivation = *recipe.derivation();
    if (count < 1 || count > derivation.most_models)
        fail(MERCER_E_ARGUMENT, "count = %" PRId64 ", '%s' takes %" PRId64 " model%s", count, derivation.name,
             derivation.most_models, derivation.most_models > 1 ? "s at most" : "");
}

std::shared_ptr<const Model> derive(const DeriveTask &task) {
    return derive_functions().at(task.recipe.derivation()->name)(task);
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
    for (const auto &from : task.models) {
        Json own = from->text();
        own.erase("from");
        own["m"] = from->m();
        own["r"] = from->r();
        text["from"].push_back(std::move(own));
    }
    for (const auto &from : task.models)
        for (const Json &earlier : from->text().value("from", Json::array())) text["from"].push_back(earlier);
    return text;
}

std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors) {
    text["peak_bytes"] = task.run.budget()->peak();
    text["timings"] = timings_json(task.run);
    need_finite(text, tensors);
    auto out = Model::assemble(std::move(text), std::move(tensors), task.recipe.registry(), task.settings);
    if (model.kernel().has_user() && model.kernel().user) out = out->bind(model.kernel().user);
    task.run.progress(1);
    return out;
}

} // namespace mercer
