// The first k components of a model, as a model of their own.
//
//   A' = A[:, :k],  b' = b[:k],  lambda' = lambda[:k] ...
//
// Each component is computed as before, so the scores of the new model are the first k scores of
// the old one. The variances of the components that are left out are added to what the model is
// said to lose (mse_components, and `lost` of the ledger). If A is the upper triangular matrix of
// nested features (tensor `variance`), the centres behind the last one that these features use are
// left out as well, which gives exactly the model that a fit with these centres would make: its
// mean is nu' = A' b'. Cost: that of a copy. There is no rounding error but in the sums.
#include "derive.h"

#include "../fit/report.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>

namespace mercer {
namespace {

int64_t components_of(const DeriveTask &task) {
    const Model &model = *task.models.front();
    const int64_t asked = derivation_values<TruncateValues>(task.recipe).components;
    if (asked > model.r())
        fail(MERCER_E_VALUE, "output.components = %" PRId64 ", but the model has %" PRId64, asked, model.r());
    const Tensor *rule = model.can(MERCER_CAN_LABELS) ? model.tensor("clusters") : nullptr;
    if (asked > 0 && rule && rule->cols - 2 > asked)
        fail(MERCER_E_UNSUPPORTED,
             "output.components = %" PRId64 ", but the labels of the model need %" PRId64 " components", asked,
             rule->cols - 2);
    return asked > 0 ? asked : model.r();
}

// The number of centres that the first k components of nested features use.
int64_t centres_used(const Tensor &a, int64_t k) {
    int64_t used = a.rows;
    const auto is_zero = [&](int64_t row) {
        for (int64_t j = 0; j < k; ++j)
            if (entry_of(a, row * a.cols + j) != 0) return false;
        return true;
    };
    while (used > 0 && is_zero(used - 1)) --used;
    return used;
}

// Which part of a tensor the new model has: its first `rows` rows and `cols` columns.
struct Part {
    int64_t rows, cols;
};

Tensors first_of(const Model &model, int64_t k, int64_t m) {
    const bool fewer = m < model.m();
    Tensors out;
    for (const auto &[name, tensor] : model.tensors()) {
        Part part{tensor.rows, tensor.cols};
        if (name == "A") part.cols = k;
        if (name == "b" || name == "lambda" || name == "scatter" || name == "variance") part.rows = k;
        if (name == "covariance") part = {k, k};
        if (fewer) {
            if (name == "assignment") continue; // it may name a centre that is left out
            if (name == "A" || name == "C" || name == "nu" || name == "w" || name == "indices") part.rows = m;
            if (name == "C.offsets") part.rows = m + 1;
            if (name == "C.values" || name == "C.columns")
                part.rows = tensor_data<int64_t>(*model.tensor("C.offsets"))[m];
        }
        out[name] = leading_part(tensor, part.rows, part.cols);
    }
    return out;
}

// The mean of nested features on the span of the first k, nu = A b; and the weights of the centres,
// scaled so that their sum stays.
void finish_nested(const Model &model, int64_t k, Tensors &out) {
    const Tensor &a = out["A"];
    if (const auto nu = out.find("nu"); nu != out.end())
        for (int64_t i = 0; i < a.rows; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < k; ++j) sum += entry_of(a, i * k + j) * tensor_data<double>(out["b"])[j];
            tensor_data<double>(nu->second)[i] = sum;
        }
    const auto w = out.find("w");
    if (w == out.end()) return;
    const double *all = tensor_data<double>(*model.tensor("w"));
    double *kept = tensor_data<double>(w->second);
    const double whole = std::accumulate(all, all + model.m(), 0.0), part = std::accumulate(kept, kept + a.rows, 0.0);
    for (int64_t i = 0; part > 0 && i < a.rows; ++i) kept[i] *= whole / part;
}

// Keeps the entries of a list in the report that belong to the first k components.
void shorten(Json &text, const char *name, size_t count) {
    if (Json &list = text[name]; list.is_array() && list.size() > count)
        list.erase(list.begin() + static_cast<int64_t>(count), list.end());
}

Json certificates_of(const Json &before, int64_t k) {
    Json out = Json::array();
    for (const Json &one : before)
        if (!one.is_object() || !one.contains("component") || !one["component"].is_number() ||
            one["component"].get<double>() < static_cast<double>(k))
            out.push_back(one);
    return out;
}

Json report_of(const DeriveTask &task, const Model &model, int64_t k, const Tensors &tensors) {
    const Json &before = model.text();
    Json text = derived_text(task, model);
    text["outcome"] = outcome_names(model.summary().outcome & ~uint32_t{MERCER_RANK_REACHED});
    text["capabilities"] = capability_names(model.summary().capabilities);
    const auto found = [&](const char *name) { return before.contains(name) ? before[name] : Json(); };
    text["certificates"] = certificates_of(found("certificates"), k);
    for (const char *name :
         {"uncertified", "mean_square", "mse", "rank", "reported", "errors", "residuals", "clusters"})
        if (before.contains(name)) text[name] = before[name];
    const size_t count = static_cast<size_t>(k);
    if (text.contains("residuals")) shorten(text, "residuals", count);
    if (text.contains("error_bars") && text["error_bars"].is_object())
        for (const char *name : {"sd", "lower", "upper", "overlaps_noise"}) shorten(text["error_bars"], name, count);
    const Tensor *variances = model.tensor("variance") ? model.tensor("variance") : variances_of(model.tensors());
    double lost = 0;
    for (int64_t j = k; variances && j < model.r(); ++j) lost += tensor_data<double>(*variances)[j];
    if (const Json mse = found("mse_components"); mse.is_number()) text["mse_components"] = mse.get<double>() + lost;
    if (std::optional<Ledger> ledger = model.ledger()) {
        ledger->lost += lost * ledger->n_eff;
        text["ledger"] = ledger_json(*ledger);
    }
    if (text.contains("errors")) {
        shorten(text, "errors", count + 1);
        for (const char *name : {"mse", "mse_components"}) text[name] = text["errors"].back();
        text["rank"] = k;
        if (tensors.at("A").rows < model.m() && model.tensor("nu")) {
            const double *b = tensor_data<double>(tensors.at("b"));
            text["mean_square"] = std::inner_product(b, b + k, b, 0.0);
        }
    }
    if (before.contains("limits"))
        text["warnings"].push_back("the limits of t2 and residual were those of all components and are left out: set "
                                   "limits from rows of your own");
    text["kernel_evaluations"] = text["kernel_passes"] = 0;
    return text;
}

} // namespace

std::shared_ptr<const Model> truncate(const DeriveTask &task) {
    const Model &model = *task.models.front();
    const int64_t k = components_of(task);
    task.run.expect({{"lift", 1}});
    task.run.stage("lift");
    const bool nested = model.tensor("variance") != nullptr;
    const int64_t m = nested && k < model.r() ? centres_used(*model.tensor("A"), k) : model.m();
    Tensors tensors = first_of(model, k, m);
    if (m < model.m()) finish_nested(model, k, tensors);
    Json text = report_of(task, model, k, tensors); // before the tensors are moved
    return derived_model(task, model, std::move(text), std::move(tensors));
}

DerivationForecast forecast_truncate(const DeriveTask &task) {
    const Model &model = *task.models.front();
    const int64_t k = components_of(task);
    DerivationForecast out;
    for (const auto &[name, tensor] : model.tensors()) out.bytes = out.bytes + tensor.bytes.size();
    out.strategy = format("the first %" PRId64 " of %" PRId64 " components", k, model.r());
    return out;
}

} // namespace mercer
