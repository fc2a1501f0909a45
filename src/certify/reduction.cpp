// From bounds of means and covariances (reduction_bounds.cpp) to the certificates of a model, with B the bound of the covariance:
//
//   eigenvalues   within the best bound of all of them, each within B                        (Hoffman and Wielandt; Weyl)
//   density       sup |KDE - density| <= sqrt(kappa) mmd
//   projection    |P - P_C|_HS <= sqrt2 B / (g - B) for the gap g > B below a component        (Davis and Kahan)
//   excess        tr P T - tr P_C T <= sqrt(2 D) B: P_C is best for T_C, and |P - P_C|_HS <= sqrt(2 D)
//
// Centring adds mmd (2 |mu_C| + mmd) to the covariance and nothing to the eigenvalues.
#include "reduction.h"

#include "by_span.h"
#include "dense_check.h"
#include "report.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace mercer {
namespace {

// The smallest of several bounds of one quantity.
struct Best {
    double value = NAN, failure = 0;
    const char *by = "";
    void offer(double other, const Quantisation &from) {
        if (!std::isnan(other) && !(value <= other)) value = other, failure = from.failure, by = from.by;
    }
};

void centre(std::vector<Quantisation> &found, double mean_square) {
    const double length = std::sqrt(std::max(mean_square, 0.0));
    double mmd = NAN;
    for (Quantisation &one : found) {
        if (!std::isnan(one.mmd)) mmd = one.mmd;
        one.covariance += mmd * (2 * length + mmd);
    }
}

// Values err by rounding.
void value_entries(const Tensor &lambda, double rounding, const Best &each, Json &out) {
    if (std::isnan(each.value)) return;
    Bounds bounds;
    bounds.kind = each.by;
    for (int64_t j = 0; j < lambda.rows; ++j) {
        const double value = tensor_data<double>(lambda)[j];
        bounds.theta.push_back(value);
        bounds.value.push_back(value);
        bounds.lower.push_back(std::max(value - each.value - rounding, 0.0));
        bounds.upper.push_back(value + each.value + rounding);
    }
    for (Json &entry : eigenvalue_entries(bounds, lambda.rows, each.failure, 1)) out.push_back(std::move(entry));
}

void direction_entries(const Tensor &lambda, const Best &covariance, Json &out) {
    if (std::isnan(covariance.value)) return;
    const double *values = tensor_data<double>(lambda);
    for (int64_t j = 0; j < lambda.rows; ++j) {
        const double trivial = std::sqrt(2.0 * static_cast<double>(j + 1));
        out.push_back(component_entry("excess", j, covariance.by, trivial * covariance.value, covariance.failure));
        if (j + 1 == lambda.rows) return; // the next value is unknown
        const double gap = values[j] - values[j + 1];
        out.push_back(projection_entry(
            j, covariance.by,
            covariance.value < gap ? std::sqrt(2.0) * covariance.value / (gap - covariance.value) : INFINITY,
            covariance.failure));
    }
}

// Keeps one entry for each component and name; the better of two uncertain bounds has the sum of both failure probabilities.
Json tightest(const Json &entries) {
    Json out = Json::array();
    std::map<std::pair<std::string, int64_t>, size_t> places;
    auto width = [](const Json &entry) -> double {
        return entry.contains("upper") ? entry["upper"].get<double>() - entry["lower"].get<double>()
                                       : entry["value"].get<double>();
    };
    for (const Json &entry : entries) {
        if (!entry.contains("component")) {
            out.push_back(entry);
            continue;
        }
        const std::pair<std::string, int64_t> key(entry["name"], entry["component"]);
        const auto [at, is_new] = places.emplace(key, out.size());
        if (is_new) {
            out.push_back(entry);
            continue;
        }
        Json &held = out[at->second];
        if (!(width(entry) < width(held))) continue;
        const double other = held["probability"];
        held = entry;
        if (held["kind"] == "probable") held["probability"] = held["probability"].get<double>() - (1 - other);
    }
    return out;
}

} // namespace

Json quantisation_entries(const ReducedModel &of, const Claims &claims) {
    Lifted &model = of.model;
    if (!of.prepared.kernel.is_psd()) {
        model.text["uncertified"] = "the kernel is not known to be positive semi-definite";
        return Json::array();
    }
    auto [found, kappa, rounding] = quantise(of);
    const bool centred = of.values.lift_centred != 0;
    if (centred) centre(found, model.text["mean_square"]);
    Json out = Json::array();
    Best mmd, covariance, eigenvalues;
    const Quantisation *exact = !found.empty() && found.back().by == std::string("exact") ? &found.back() : nullptr;
    auto say = [&out](const char *name, double value, double measured, const Quantisation &one) {
        if (std::isnan(value)) return;
        Json entry = certificate_entry(name, value, one.failure);
        entry["by"] = one.by;
        if (!std::isnan(measured)) entry["measured"] = measured;
        out.push_back(std::move(entry));
    };
    for (const Quantisation &one : found) {
        say("mmd", one.mmd, exact ? exact->seen_mmd : NAN, one);
        say("covariance", one.covariance, exact && !centred ? exact->seen_covariance : NAN, one);
        if (claims.values) say("eigenvalues", one.eigenvalues, NAN, one);
        mmd.offer(one.mmd, one);
        covariance.offer(one.covariance, one);
        eigenvalues.offer(one.eigenvalues, one);
        eigenvalues.offer(one.covariance, one);
    }
    if (claims.density && !std::isnan(mmd.value) && !std::isnan(kappa)) {
        out.push_back(certificate_entry("density", std::sqrt(kappa) * mmd.value, mmd.failure));
        out.back()["by"] = mmd.by;
    }
    if (claims.values) value_entries(model.tensors["lambda"], rounding, eigenvalues, out);
    if (claims.directions) direction_entries(model.tensors["lambda"], covariance, out);
    return out;
}

void certify_standing(const ReducedModel &of, bool directions, Json stood) {
    Lifted &model = of.model;
    if (!of.prepared.kernel.is_psd()) return;
    of.run.stage("certify");
    Json entries = model.text.value("certificates", Json::array()); // of its own: Ritz's
    for (Json &entry : stood) entries.push_back(std::move(entry));
    for (Json &entry : spanned_entries(of, directions)) entries.push_back(std::move(entry));
    entries = tightest(entries);
    if (of.measures) add_measured(measure_truth(of, directions), entries);
    model.text["certificates"] = std::move(entries);
}

Foreseen foresee_standing(const PlanTask &task, int64_t model, int64_t components, const Cost &span, Cost &cost) {
    Foreseen out;
    if (!task.recipe.reducer()) return out;
    PlanTask beside = task;
    beside.budget_left -= model;
    const Bytes before(cost.likely_bytes, cost.bytes);
    cost.likely_bytes = cost.bytes = 0;
    foresee_quantisation(beside, cost);
    out.spans = foresee_spanned(beside, span, cost);
    out.measures = foresee_measured(beside, components, cost);
    const Bytes own(cost.likely_bytes, cost.bytes);
    cost.likely_bytes = before.likely, cost.bytes = before.most;
    cost.needs(own + model);
    return out;
}

} // namespace mercer
