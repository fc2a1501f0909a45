// Fewer centres for a model (the reduced-set problem). The components and the mean of the model are
// projected onto the span of centres B, which a reducer selects from the model's centres C with
// their weights. Let P be the projection, and let the columns of Phi_C and Phi_B be the feature
// vectors of C and B:
//
//   v_l = Phi_C A_l, mu = Phi_C nu;   P v = Phi_B T A_l, P mu = Phi_B T nu
//   K_BB = L L^T, T = L^-T L^-1 K_BC
//   A' = T A,   nu' = T nu,   b' = b - <v - P v, mu>
//
// P v is the vector of the span that is nearest to v, so A'^T k_B is the best approximation of
// A^T k_C in the kernel's norm. With this b' the error is f - f' = <v - P v, phi(x) - mu>. No other
// constant gives a smaller mean square of the error over any points of mean mu, and nowhere is the
// error larger than |v - P v| |phi(x) - mu|. Because <P v, mu> = <P v, P mu>, the relation
// b = A^T K nu also holds for A', nu' and b'.
//
// If the components were orthonormal, they are replaced by V'' = P V G^-1/2, G = (P V)^T P V: the
// orthonormal vectors in the span that are nearest to V (the polar factor). With e = |v - P v|^2
// their squared distance from V is e + e^2/4 + ..., hardly more than e if e is small. If the
// projection of a component depends linearly on those before it, up to rounding, this component and
// all later ones are dropped (rank_reached).
// The new weight w of each centre in B is the total weight of the centres in C that are nearest to
// it: the density estimate of the reduced set.
//
// Cost: that of the reducer, and m0^2/2 + 2 m m0 + 3 m^2/2 kernel values for m0 old and m new
// centres, all but the reducer's in f64; m^3/3 + 2 m^2 r flops. Memory: m0 (d + 3 r) + m^2 numbers.
// Error of the reported figures: u_64 |A_l|^2 k, where k is the largest k(x, x).
#include "compress_task.h"

#include "../factor/expansion_algebra.h"
#include "../fit/reduce.h"
#include "../fit/report.h"
#include "../fit/voronoi.h"
#include "../lift/control_limits.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// The r x r matrix R of V'' = P V R: the polar factor if the components are made orthonormal,
// otherwise the identity, which is not stored.
struct Turn {
    int64_t r = 0;
    std::optional<PolarFactor> polar{};
    double at(int64_t i, int64_t j) const { return polar ? polar->at(i, j) : i == j; }
};

// Drops component l and all later ones if the squared pivot l of G is at most the root of the unit
// roundoff, because half of the digits of the orthonormalised component would be rounding errors.
Turn turn_of(const std::vector<double> &g, int64_t q, int64_t r, bool orthonormal, bool f32) {
    if (!orthonormal || r == 0) return {r};
    PolarFactor polar = polar_factor(g, q, r, std::sqrt(unit_roundoff(f32)));
    return {polar.r, std::move(polar)};
}

double share(double left, double whole) { return whole > 0 ? std::max(left, 0.0) / whole : 0; }

// Writes what follows from the inner products g of the projected vectors alone: b, lambda, scatter,
// and the distances of the projections from the original vectors.
void write_forms(const Model &model, const Originals &originals, const std::vector<double> &g, const Turn &turn,
                 Lifted &out) {
    const auto in_span = [&](int64_t i, int64_t j) { return g[static_cast<size_t>(i + j * originals.count)]; };
    const Tensor *b = model.tensor("b"), *lambda = model.tensor("lambda");
    std::vector<double> offset, values;
    Json &report = out.details["compressed"];
    report = record({{"residual", Json::array()}});
    for (int64_t l = 0; l < turn.r; ++l) {
        double own = 0, mean = 0; // <v_l, v''_l> and <mu, v''_l>
        for (int64_t i = 0; i < turn.r; ++i) {
            own += turn.at(i, l) * in_span(i, l);
            if (originals.mean >= 0) mean += turn.at(i, l) * in_span(i, originals.mean);
        }
        const double length = turn.polar ? 1 : in_span(l, l), whole = originals.product(l, l);
        report["residual"].push_back(share(whole - 2 * own + length, whole));
        offset.push_back(b ? tensor_data<double>(*b)[l] : 0);
        if (b && originals.mean >= 0) offset.back() += mean - originals.product(l, originals.mean);
        if (lambda) values.push_back(tensor_data<double>(*lambda)[l]);
    }
    out.tensors["b"] = vector_tensor(offset);
    if (lambda) out.tensors["lambda"] = vector_tensor(values);
    if (const Tensor *scatter = model.tensor("scatter")) {
        const double *all = tensor_data<double>(*scatter);
        out.tensors["scatter"] = vector_tensor(std::vector<double>(all, all + turn.r));
    }
    if (originals.mean < 0) return;
    const double square = in_span(originals.mean, originals.mean),
                 whole = originals.product(originals.mean, originals.mean);
    report["mean_residual"] = share(whole - square, whole);
    out.mean_square = square;
}

// Writes A and nu. x: the coefficients of the pivots of K_BB, which go to the rows of these
// centres; the other centres of B get zeros.
template <class T>
void write_coefficients(const CentreSpan &span, int64_t m, const Buffer<double> &x, const Originals &originals,
                        const Turn &turn, Lifted &out) {
    Tensor a = make_tensor<T>(m, turn.r);
    std::fill_n(tensor_data<T>(a), m * turn.r, T(0));
    CountedVector<double> nu(static_cast<size_t>(m));
    for (int64_t k = 0; k < span.rank(); ++k) {
        const double *row = x.data() + k * originals.count;
        const int64_t place = span.index()[k];
        for (int64_t j = 0; j < turn.r; ++j) {
            double sum = 0;
            for (int64_t i = 0; turn.polar && i < turn.r; ++i) sum += row[i] * turn.at(i, j);
            tensor_data<T>(a)[place * turn.r + j] = static_cast<T>(turn.polar ? sum : row[j]);
        }
        if (originals.mean >= 0) nu[static_cast<size_t>(place)] = row[originals.mean];
    }
    out.tensors["A"] = std::move(a);
    if (originals.mean >= 0) out.tensors["nu"] = vector_tensor(nu);
}

// Writes the new weights w, whose sum is that of the old ones, and the distance between the old and
// the new density estimate.
void write_density(Run &run, const Model &model, const Prepared &prepared, const Centres &centres,
                   const Originals &originals, const Buffer<double> &sums, Lifted &out) {
    double total = 0, own = 0;
    for (int64_t i = 0; i < model.m(); ++i) total += tensor_data<double>(*model.tensor("w"))[i];
    const int64_t m = centres.m();
    Weights<double> w(run, m, 1);
    std::vector<double> weights;
    for (int64_t i = 0; i < m; ++i) {
        weights.push_back(centres.weights[static_cast<size_t>(i)] / static_cast<double>(model.m()) * total);
        w.values[i * w.stride] = weights.back();
        own += weights.back() * sums[i * originals.count + originals.density];
    }
    const Points<double> b = points_of<double>(prepared.kernel, centres);
    const double length = inner_products(run, prepared.kernel, {b, w}, out.kernel_evaluations).front(),
                 whole = originals.product(originals.density, originals.density);
    out.details["compressed"]["density_residual"] = share(whole - 2 * own + length, whole);
    out.tensors["w"] = vector_tensor(weights);
}

template <class T>
Limits limits_of_rows(Run &run, const Prepared &prepared, const Centres &centres, const Lifted &out) {
    const Points<T> x(prepared.source, {}, leaf_specs(prepared.kernel));
    return limits_at<T>(run, prepared.kernel, x, points_of<T>(prepared.kernel, centres), out, prepared.weights.data(),
                        "centres");
}

// Writes the limits of T2 and of the residual, as quantiles over the old centres, if the scores of
// the model can be whitened.
void write_limits(Run &run, const Prepared &prepared, const Centres &centres, Lifted &out) {
    if (!Whitening(out.tensors).why_not().empty()) return;
    out.limits = prepared.f32 ? limits_of_rows<float>(run, prepared, centres, out)
                              : limits_of_rows<double>(run, prepared, centres, out);
    out.kernel_evaluations += prepared.source->rows() * centres.m();
    if (!(out.capabilities & MERCER_CAN_RESIDUAL)) out.limits->residual.reset();
}

// Projects the components and the mean of the model onto the span of the new centres B.
Lifted project(const DeriveTask &task, const Model &model, const Prepared &prepared, const Centres &centres,
               Originals &originals) {
    Run &run = task.run;
    const Expression &kernel = prepared.kernel;
    Lifted out;
    run.stage("gram");
    const Weights<double> w = originals.columns(run, model);
    const Points<double> c(prepared.source, {}, leaf_specs(kernel));
    originals.products = inner_products(run, kernel, {c, w}, out.kernel_evaluations);
    const CentreSpan span(run, centres.rows_of(kernel), prepared.f32, out.kernel_evaluations);
    const Buffer<double> sums = images(run, kernel, points_of<double>(kernel, centres), {c, w}, out.kernel_evaluations);

    run.stage("lift");
    const int64_t q = originals.count;
    Buffer<double> z = span.coordinates(run, sums, q);
    const std::vector<double> g = inner_products(z, q);
    const uint32_t before = model.summary().capabilities;
    const bool orthonormal =
        before & MERCER_CAN_ORTHONORMAL && derivation_values<CompressValues>(task.recipe).orthonormal;
    const Turn turn = turn_of(g, q, originals.r, orthonormal, prepared.f32);
    span.coefficients(q, z);
    prepared.f32 ? write_coefficients<float>(span, centres.m(), z, originals, turn, out)
                 : write_coefficients<double>(span, centres.m(), z, originals, turn, out);
    write_forms(model, originals, g, turn, out);
    if (originals.density >= 0) write_density(run, model, prepared, centres, originals, sums, out);
    out.outcome = model.summary().outcome | (turn.r < originals.r ? MERCER_RANK_REACHED : 0);
    out.capabilities = before & MERCER_CAN_MEAN;
    if (orthonormal) out.capabilities |= before & (MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL);
    if (originals.density >= 0) out.capabilities |= MERCER_CAN_DENSITY;
    write_limits(run, prepared, centres, out);
    out.rank = span.rank();
    return out;
}

// Copies the tensors that do not depend on the centres: the input map and the shifts that the
// kernel subtracts before squared distances. with_all: copies all tensors.
Tensors copied(const Model &model, bool with_all) {
    Tensors out;
    for (const auto &[name, tensor] : model.tensors())
        if (with_all || name.rfind("T.", 0) == 0 || name.rfind("shift.", 0) == 0) out[name] = copy_of(tensor);
    return out;
}

std::shared_ptr<const Model> unchanged(const DeriveTask &task, const Model &model, const Originals &originals) {
    Json text = model.text(), derived = derived_text(task, model);
    for (const char *name : {"operation", "reducer", "parameters", "from", "ancestors"}) text[name] = derived[name];
    for (const char *name : {"kernel_evaluations", "kernel_passes"}) text[name] = 0;
    text["compressed"] = record({{"residual", Json::array()}});
    for (int64_t l = 0; l < model.r(); ++l) text["compressed"]["residual"].push_back(0.0);
    if (originals.mean >= 0) text["compressed"]["mean_residual"] = 0.0;
    if (originals.density >= 0) text["compressed"]["density_residual"] = 0.0;
    return derived_model(task, model, std::move(text), copied(model, true));
}

} // namespace

std::shared_ptr<const Model> compress(const DeriveTask &task) {
    Run &run = task.run;
    const Model &model = *task.models.front();
    check_compressible(model);
    Originals originals(model);
    const Prepared prepared = centres_as_rows(task, model, originals);
    run.expect({{"reduce", 45}, {"gram", 45}, {"lift", 10}});
    run.stage("reduce");
    if (copies_model(task.recipe, model, originals)) return unchanged(task, model, originals);
    Data rows;
    rows.source = prepared.source;
    Reduction reduction = reduce(run, task.recipe, rows, prepared, false);
    reduction.factor = {};
    assign_nearest(run, prepared, rows, reduction);
    reduction.weights = weights_of_rows(prepared, reduction);
    Centres centres = make_centres(run, prepared, reduction);
    Lifted out = project(task, model, prepared, centres, originals);

    Json text = derived_text(task, model);
    const Json::json_pointer place("/limits/kind");
    const Json *kind = out.limits && model.text().contains(place) ? &model.text().at(place) : nullptr;
    if (kind && kind->is_string() && kind->get_ref<const std::string &>() == "exact")
        out.warnings.push_back("the limits of t2 and residual were quantiles of the rows fitted on, and are now "
                               "quantiles of the old centres, which rows may exceed more often: set limits from "
                               "rows of your own");
    out.kernel_evaluations += reduction.kernel_evaluations;
    out.passes = 1;
    write_facts(out, reduction.report, text);
    Tensors tensors = copied(model, false);
    for (auto &[name, tensor] : centres.tensors) tensors[name] = std::move(tensor);
    for (auto &[name, tensor] : out.tensors) tensors[name] = std::move(tensor);
    if (model.indices())
        for (int64_t k = 0; k < centres.m(); ++k)
            tensor_data<int64_t>(tensors["indices"])[k] = model.indices()[centres.numbers()[k]];
    return derived_model(task, model, std::move(text), std::move(tensors));
}

} // namespace mercer
