// Derives the certificates of a model from bounds of means and covariances (reduction_bounds.cpp).
// mmd is the bound of the means and B that of the covariance operators T of the rows and T_C of the
// centres; P and P_C are the projections on the first D components of T and T_C; kappa is the value
// of k(x, x), the same for all x:
//
//   eigenvalues   each differs by at most B, and by at most the bound of the l2 norm of all
//                 differences                                          (Weyl; Hoffman and Wielandt)
//   density       |density of all rows - density of the centres| <= sqrt(kappa) mmd everywhere
//   projection    |P - P_C|_HS <= sqrt2 B / (g - B) for the gap g > B below eigenvalue D of T_C
//                                                                       (Davis and Kahan)
//   excess        tr P T - tr P_C T <= sqrt(2 D) B, because P_C is best for T_C and
//                 |P - P_C|_HS <= sqrt(2 D)
//
// Centring adds mmd (2 |mu_C| + mmd) to the bound of the covariance and nothing to that of the
// eigenvalues.
#include "reduction.h"

#include "by_span.h"
#include "certificates.h"
#include "dense_check.h"

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

// Certifies that each eigenvalue of all rows differs from that of the model by at most the bound
// `each`, to which the rounding error of the model's eigenvalue is added.
void value_certificates(const Tensor &lambda, double rounding, const Best &each, Certificates &out) {
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
    append(out, eigenvalue_certificates(bounds, lambda.rows, each.failure, 1));
}

void direction_certificates(const Tensor &lambda, const Best &covariance, Certificates &out) {
    if (std::isnan(covariance.value)) return;
    const double *values = tensor_data<double>(lambda);
    for (int64_t j = 0; j < lambda.rows; ++j) {
        const double trivial = std::sqrt(2.0 * static_cast<double>(j + 1));
        out.push_back(
            component_certificate("excess", j, covariance.by, trivial * covariance.value, covariance.failure));
        if (j + 1 == lambda.rows) return; // the next eigenvalue is unknown
        const double gap = values[j] - values[j + 1];
        out.push_back(projection_certificate(
            j, covariance.by,
            covariance.value < gap ? std::sqrt(2.0) * covariance.value / (gap - covariance.value) : INFINITY,
            covariance.failure));
    }
}

} // namespace

Certificates quantisation_certificates(const ReducedModel &of, const Claims &claims) {
    Lifted &model = of.model;
    if (!of.prepared.kernel.is_psd()) {
        model.uncertified = "the kernel is not known to be positive semi-definite";
        return {};
    }
    auto [found, kappa, rounding] = quantise(of);
    const bool centred = of.values.lift_centred != 0;
    if (centred) centre(found, model.mean_square.value_or(0));
    Certificates out;
    Best mmd, covariance, eigenvalues;
    const Quantisation *exact = !found.empty() && found.back().by == std::string("exact") ? &found.back() : nullptr;
    auto add = [&out](const char *name, double value, double measured, const Quantisation &one) {
        if (std::isnan(value)) return;
        out.push_back({.name = name, .value = value, .failure = one.failure, .by = one.by, .measured = measured});
    };
    for (const Quantisation &one : found) {
        add("mmd", one.mmd, exact ? exact->true_mmd : NAN, one);
        add("covariance", one.covariance, exact && !centred ? exact->true_covariance : NAN, one);
        if (claims.values) add("eigenvalues", one.eigenvalues, NAN, one);
        mmd.offer(one.mmd, one);
        covariance.offer(one.covariance, one);
        eigenvalues.offer(one.eigenvalues, one);
        eigenvalues.offer(one.covariance, one);
    }
    if (claims.density && !std::isnan(mmd.value) && !std::isnan(kappa))
        out.push_back({.name = "density", .value = std::sqrt(kappa) * mmd.value, .failure = mmd.failure, .by = mmd.by});
    if (claims.values) value_certificates(model.tensors["lambda"], rounding, eigenvalues, out);
    if (claims.directions) direction_certificates(model.tensors["lambda"], covariance, out);
    return out;
}

void certify_reduction(const ReducedModel &of, bool directions, const Certificates &quantisation) {
    Lifted &model = of.model;
    if (!of.prepared.kernel.is_psd()) return;
    of.run.stage("certify");
    Certificates all = model.certificates; // those that Ritz refinement has given the model
    append(all, quantisation);
    append(all, spanned_certificates(of, directions));
    model.certificates = tightest(all);
    if (of.affordable.measures) add_measured(measure_truth(of, directions), model.certificates);
}

Affordable plan_reduction_certificates(const PlanTask &task, int64_t model, int64_t components, const Cost &span,
                                       Cost &cost) {
    Affordable out;
    if (!task.recipe.reducer()) return out;
    PlanTask beside = task;
    beside.budget_left -= model;
    const Bytes before(cost.likely_bytes, cost.bytes);
    cost.likely_bytes = cost.bytes = 0;
    plan_quantisation(beside, cost);
    out.spans = plan_span_certificates(beside, span, cost);
    out.measures = plan_measurement(beside, components, cost);
    const Bytes own(cost.likely_bytes, cost.bytes);
    cost.likely_bytes = before.likely, cost.bytes = before.most;
    cost.needs(own + model);
    return out;
}

} // namespace mercer
