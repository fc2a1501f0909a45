// Fewer centres for a model (the reduced-set problem). The components and the mean of the model are
// projected onto the span of centres B, which a reducer selects from the model's centres C with
// their weights.
//
//   v_l = Phi_C A_l, mu = Phi_C nu;   P v = Phi_B T A_l, P mu = Phi_B T nu
//   K_BB = L L^T, T = L^-T L^-1 K_BC
//   A' = T A,   nu' = T nu,   b' = b - <v - P v, mu>
//
// P v is the vector of the span that is nearest to v, so A'^T k_B is the best approximation of
// A^T k_C in the kernel's norm. With this b' the error is f - f' = <v - P v, phi(x) - mu>. No other
// constant gives a smaller mean square of the error over any points of mean mu, and nowhere is the
// error larger than |v - P v| |phi(x) - mu|. Because <P v, mu> = <P v, P mu>, b = A^T K nu still
// holds.
//
// If the components were orthonormal, they are replaced by V'' = P V G^-1/2, G = (P V)^T P V: the
// orthonormal vectors in the span that are nearest to V (the polar factor). With e = |v - P v|^2
// their squared distance is e + e^2/4 + ..., hardly more if e is small. If G cannot distinguish a
// component from those before it, this component and all later ones are dropped (rank_reached).
// The new weight w of each centre in B is the total weight of the centres in C that are nearest to
// it: the density estimate of the reduced set.
//
// Cost: that of the reducer, and m0^2/2 + 2 m m0 + m^2/2 kernel values for m0 old and m new
// centres, all but the reducer's in f64; m^3/3 + 2 m^2 r flops. Memory: m0 (d + 3 r) + m^2. Error
// of the reported figures: u_64 |A_l|^2 k, where k is the largest k(x, x).
#include "derive.h"

#include "../core/blas.h"
#include "../core/rounding.h"
#include "../fit/reduce.h"
#include "../fit/report.h"
#include "../fit/voronoi.h"
#include "../gram/object_matrix.h"
#include "../gram/row_sums.h"
#include "../lift/control_limits.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// The vectors to project, W = [A, nu, w] without nu or w if the model lacks them, and their inner
// products.
struct Held {
    int64_t r = 0, mean = -1, density = -1, count = 0; // r: columns of A; mean, density: columns of nu, w; -1: absent
    std::vector<double> products;                      // W^T K_CC W

    explicit Held(const Model &model) : r(model.r()), count(r) {
        if (model.tensor("nu")) mean = count++;
        const Tensor *w = model.can(MERCER_CAN_DENSITY) ? model.tensor("w") : nullptr;
        double sum = 0;
        for (int64_t i = 0; w && i < model.m(); ++i) { // without weights there is no density estimate
            const double weight = tensor_data<double>(*w)[i];
            if (weight < 0) return;
            sum += weight;
        }
        if (sum > 0) density = count++;
    }
    double product(int64_t i, int64_t j) const { return products[static_cast<size_t>(i + j * count)]; }
    Weights<double> columns(Run &run, const Model &model) const {
        Weights<double> out(run, model.m(), count);
        const Tensor &a = *model.tensor("A");
        for (int64_t i = 0; i < out.rows; ++i)
            for (int64_t j = 0; j < r; ++j) out.values[i * out.stride + j] = entry_of(a, i * r + j);
        if (mean >= 0) out.column(mean, tensor_data<double>(*model.tensor("nu")), 1);
        if (density >= 0) out.column(density, tensor_data<double>(*model.tensor("w")), 1);
        return out;
    }
};

// Returns W^T k(X, X) W, and adds its kernel values to evaluations.
std::vector<double> inner_products(Run &run, const Expression &kernel, const Points<double> &x,
                                   const Weights<double> &w, int64_t &evaluations) {
    const int64_t q = w.cols;
    std::vector<double> out(static_cast<size_t>(q * q));
    const GramOperator<double> gram(run, kernel, x, Store::nothing);
    gram.product(
        run, false, q,
        [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
            for (int64_t i = 0; i < rows; ++i) std::copy_n(w.values.data() + (row0 + i) * w.stride, q, to + i * stride);
        },
        [&](double *y, int64_t stride) { // BLAS sees a row-major matrix as its transpose
            gemm('N', 'T', q, q, w.rows, 1.0, w.values.data(), w.stride, y, stride, 0.0, out.data(), q);
        });
    evaluations += gram.kernel_evaluations();
    return out;
}

// The centres of the model to compress, in the form of the rows of a fit.
Prepared centres_as_rows(const DeriveTask &task, const Model &model, const Held &held) {
    Prepared out;
    out.source = model.centres();
    out.kernel = model.kernel();
    if (model.indices()) {
        const auto all = task.data ? std::dynamic_pointer_cast<const ObjectSource>(task.data->source) : nullptr;
        if (!all)
            fail(MERCER_E_ARGUMENT,
                 "data: the centres of the model are objects, so the objects that it was fitted on are required");
        if (all->rows() != model.n())
            fail(MERCER_E_SHAPE, "data: %" PRId64 " objects, but the model was fitted on %" PRId64, all->rows(),
                 model.n());
        check_objects(out.kernel, *all);
        if (const auto *matrix = dynamic_cast<const MatrixSource *>(all.get())) matrix->check_fit(task.run);
        out.source = std::make_shared<ObjectSource>(all, model.indices(), model.m());
        for (Leaf &leaf : out.kernel.leaves)
            if (!leaf.plugin && all->psd()) leaf.facts.flags |= MERCER_PSD;
    } else if (task.data) {
        fail(MERCER_E_ARGUMENT, "data: must be NULL, because the model stores its centres");
    }
    out.kernel.need_psd("'compress'");
    out.f32 = model.dtype() == MERCER_F32;
    out.weights = RowWeights(model.m());
    if (held.density < 0) return out;
    const double *w = tensor_data<double>(*model.tensor("w"));
    CountedVector<double> weights(w, w + model.m());
    scale_weights(weights, model.m());
    out.weights = std::move(weights);
    return out;
}

void check_model(const Model &model) {
    const Expression &kernel = model.kernel();
    if (model.tensor("v"))
        fail(MERCER_E_UNSUPPORTED, "compress: models with a denominator g (tensor 'v') are not supported");
    if (model.has_frequencies())
        fail(MERCER_E_UNSUPPORTED, "compress: models of random features (tensor 'frequencies') are not supported");
    if (kernel.has_user() && !kernel.user && !model.indices())
        fail(MERCER_E_UNSUPPORTED, "the model's user kernel is not set: restore it with mercer_model_bind");
}

// True if at least as many centres are requested as there are, and no other parameter can end the
// selection earlier.
bool wants_all(const Recipe &recipe, int64_t m) {
    if (!recipe.reducer()) return true;
    const Params &params = recipe.reducer_params();
    bool all = false;
    for (size_t i = 0; i < params.table().rows().size(); ++i) {
        const mercer_row &row = params.table().rows()[i].row;
        const std::string value = params.get(static_cast<int64_t>(i));
        int64_t count = 0;
        if (row.name == std::string("m"))
            all = parse_number(value, &count) && count >= m;
        else if (value != row.initial)
            return false;
    }
    return all;
}

// Coordinates in the span of B, Z = L^-1 K_BC W, and the coefficients that belong to them.
class Span {
  public:
    Span(Run &run, const Prepared &prepared, const Centres &centres, int64_t &evaluations)
        : centres_(centres),
          basis_(run, {centres.source, {}, prepared.kernel, centres.numbers(), centres.m(), nullptr}, centres.m()) {
        CountedVector<int64_t> order(static_cast<size_t>(centres.m()));
        for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
        basis_.append(order.data(), centres.m());
        evaluations += basis_.evaluations();
        // Directions that are only rounding in the model's type are dropped: their coefficients
        // would be large and cancel.
        rank_ = basis_.count();
        for (int64_t k = 0; prepared.f32 && k < rank_; ++k)
            if (!(entry(k, k) * entry(k, k) > rounding_floor(true, k + 1) * entry(0, 0) * entry(0, 0))) rank_ = k;
        triangle_ = std::move(run.buffer<double>(rank_, rank_).zero());
        for (int64_t i = 0; i < rank_; ++i)
            for (int64_t j = 0; j <= i; ++j) triangle_[i + j * rank_] = entry(i, j);
    }
    int64_t rank() const { return rank_; }
    const int64_t *index() const { return basis_.index(); } // places of the pivots among B
    // K_BC W, m x q, row-major.
    Buffer<double> sums(Run &run, const Expression &kernel, Points<double> c, const Weights<double> &w) const {
        Points<double> b = points_of<double>(kernel, centres_);
        b.lean();
        c.lean();
        const Tiles<double> tiles(kernel, b, c);
        Buffer<double> out = run.buffer<double>(b.rows(), w.cols);
        RowSums<double>(run, tiles, false).evaluate(w, [&](const Panel<double> &panel, double *row) {
            for (int64_t i = 0; i < panel.rows; ++i)
                std::copy_n(row + i * w.stride, w.cols, out.data() + (panel.row0 + i) * w.cols);
        });
        return out;
    }
    // Z^T, q x rank, column-major.
    Buffer<double> coordinates(Run &run, const Buffer<double> &sums, int64_t q) const {
        Buffer<double> out = run.buffer<double>(q, rank_);
        for (int64_t k = 0; k < rank_; ++k) std::copy_n(sums.data() + index()[k] * q, q, out.data() + k * q);
        trsm('T', q, rank_, triangle_.data(), rank_, out.data(), q);
        return out;
    }
    // Turns Z^T (q x rank) into coefficients of the pivots, in place.
    void coefficients(int64_t q, Buffer<double> &z) const { trsm('N', q, rank_, triangle_.data(), rank_, z.data(), q); }

  private:
    double entry(int64_t i, int64_t j) const { return basis_.factor()[index()[i] * basis_.stride() + j]; }
    const Centres &centres_;
    PartialCholesky<double> basis_;
    Buffer<double> triangle_;
    int64_t rank_ = 0;
};

// The symmetric r x r matrix R of V'' = P V R. If the components are made orthonormal (`turned`), r
// is the number of leading components that G can distinguish, and R is G^-1/2 of these. Otherwise
// all components stay as they are, and R is the identity.
struct Turn {
    int64_t r = 0;
    bool turned = false;
    std::vector<double> matrix;
    double at(int64_t i, int64_t j) const { return turned ? matrix[static_cast<size_t>(i + j * r)] : i == j; }
};

// Returns how many of the first r components g (G with stride q) can distinguish.
int64_t told_apart(const std::vector<double> &g, int64_t q, int64_t r, double floor) {
    std::vector<double> l = g;
    r = potrf_leading(r, l, q);
    for (int64_t j = 0; j < r; ++j) {
        const double pivot = l[static_cast<size_t>(j + j * q)];
        if (!(pivot * pivot > floor)) return j;
    }
    return r;
}

Turn turn_of(const std::vector<double> &g, int64_t q, int64_t r, bool orthonormal, double floor) {
    if (!orthonormal || r == 0) return {r, false, {}};
    Turn out{told_apart(g, q, r, floor), true, {}};
    const int64_t p = out.r;
    const auto square = static_cast<size_t>(p * p);
    std::vector<double> copy(square), values(static_cast<size_t>(p)), v(square);
    for (int64_t j = 0; j < p; ++j) std::copy_n(g.data() + j * q, p, copy.data() + j * p);
    if (p > 0) eigh_top(p, copy.data(), p, p, values.data(), v.data(), p);
    std::vector<double> scaled = v;
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < p; ++i)
            scaled[static_cast<size_t>(i + j * p)] /= std::sqrt(values[static_cast<size_t>(j)]);
    out.matrix.resize(square);
    if (p > 0) gemm('N', 'T', p, p, p, 1.0, scaled.data(), p, v.data(), p, 0.0, out.matrix.data(), p);
    return out;
}

double share(double left, double whole) { return whole > 0 ? std::max(left, 0.0) / whole : 0; }

// Writes what follows from G = Z^T Z alone: b, lambda, and the distances from the model.
void write_forms(const Model &model, const Held &held, const std::vector<double> &g, const Turn &turn, Lifted &out) {
    const auto in_span = [&](int64_t i, int64_t j) { return g[static_cast<size_t>(i + j * held.count)]; };
    const Tensor *b = model.tensor("b"), *lambda = model.tensor("lambda");
    std::vector<double> offset, values;
    Json &report = out.details["compressed"];
    report = record({{"residual", Json::array()}});
    for (int64_t l = 0; l < turn.r; ++l) {
        double own = 0, mean = 0; // <v, v''>, <mu, v''>
        for (int64_t i = 0; i < turn.r; ++i) {
            own += turn.at(i, l) * in_span(i, l);
            if (held.mean >= 0) mean += turn.at(i, l) * in_span(i, held.mean);
        }
        const double length = turn.turned ? 1 : in_span(l, l), whole = held.product(l, l);
        report["residual"].push_back(share(whole - 2 * own + length, whole));
        offset.push_back(b ? tensor_data<double>(*b)[l] : 0);
        if (b && held.mean >= 0) offset.back() += mean - held.product(l, held.mean);
        if (lambda) values.push_back(tensor_data<double>(*lambda)[l]);
    }
    out.tensors["b"] = vector_tensor(offset);
    if (lambda) out.tensors["lambda"] = vector_tensor(values);
    if (const Tensor *scatter = model.tensor("scatter")) {
        const double *all = tensor_data<double>(*scatter);
        out.tensors["scatter"] = vector_tensor(std::vector<double>(all, all + turn.r));
    }
    if (held.mean < 0) return;
    const double square = in_span(held.mean, held.mean), whole = held.product(held.mean, held.mean);
    report["mean_residual"] = share(whole - square, whole);
    out.mean_square = square;
}

// Writes A and nu: the coefficients of the pivots at their places among B, zeros elsewhere.
template <class T>
void write_coefficients(const Span &span, int64_t m, const Buffer<double> &x, const Held &held, const Turn &turn,
                        Lifted &out) {
    Tensor a = make_tensor<T>(m, turn.r);
    std::fill_n(tensor_data<T>(a), m * turn.r, T(0));
    CountedVector<double> nu(static_cast<size_t>(m));
    for (int64_t k = 0; k < span.rank(); ++k) {
        const double *row = x.data() + k * held.count;
        const int64_t place = span.index()[k];
        for (int64_t j = 0; j < turn.r; ++j) {
            double sum = 0;
            for (int64_t i = 0; turn.turned && i < turn.r; ++i) sum += row[i] * turn.at(i, j);
            tensor_data<T>(a)[place * turn.r + j] = static_cast<T>(turn.turned ? sum : row[j]);
        }
        if (held.mean >= 0) nu[static_cast<size_t>(place)] = row[held.mean];
    }
    out.tensors["A"] = std::move(a);
    if (held.mean >= 0) out.tensors["nu"] = vector_tensor(nu);
}

// Writes w, with the same sum as before, and the distance between the two density estimates.
void write_density(Run &run, const Model &model, const Prepared &prepared, const Centres &centres, const Held &held,
                   const Buffer<double> &sums, Lifted &out) {
    double total = 0, own = 0;
    for (int64_t i = 0; i < model.m(); ++i) total += tensor_data<double>(*model.tensor("w"))[i];
    const int64_t m = centres.m();
    Weights<double> w(run, m, 1);
    std::vector<double> weights;
    for (int64_t i = 0; i < m; ++i) {
        weights.push_back(centres.weights[static_cast<size_t>(i)] / static_cast<double>(model.m()) * total);
        w.values[i * w.stride] = weights.back();
        own += weights.back() * sums[i * held.count + held.density];
    }
    const Points<double> b = points_of<double>(prepared.kernel, centres);
    const double length = inner_products(run, prepared.kernel, b, w, out.kernel_evaluations).front(),
                 whole = held.product(held.density, held.density);
    out.details["compressed"]["density_residual"] = share(whole - 2 * own + length, whole);
    out.tensors["w"] = vector_tensor(weights);
}

template <class T>
Limits limits_of_rows(Run &run, const Prepared &prepared, const Centres &centres, const Lifted &out) {
    const Points<T> x(prepared.source, {}, leaf_specs(prepared.kernel));
    return limits_at<T>(run, prepared.kernel, x, points_of<T>(prepared.kernel, centres), out, prepared.weights.data(),
                        "centres");
}

// Writes the limits of T2 and of the residual over the old centres, if the model has eigenvalues
// and all are above 0.
void write_limits(Run &run, const Prepared &prepared, const Centres &centres, Lifted &out) {
    const auto lambda = out.tensors.find("lambda");
    if (lambda == out.tensors.end()) return;
    for (int64_t l = 0; l < lambda->second.rows; ++l)
        if (!(tensor_data<double>(lambda->second)[l] > 0)) return;
    out.limits = prepared.f32 ? limits_of_rows<float>(run, prepared, centres, out)
                              : limits_of_rows<double>(run, prepared, centres, out);
    out.kernel_evaluations += prepared.source->rows() * centres.m();
    if (!(out.capabilities & MERCER_CAN_RESIDUAL)) out.limits->residual.reset();
}

// Projects the model onto the span of B.
Lifted project(const DeriveTask &task, const Model &model, const Prepared &prepared, const Centres &centres,
               Held &held) {
    Run &run = task.run;
    const Expression &kernel = prepared.kernel;
    Lifted out;
    run.stage("gram");
    const Weights<double> w = held.columns(run, model);
    const Points<double> c(prepared.source, {}, leaf_specs(kernel));
    held.products = inner_products(run, kernel, c, w, out.kernel_evaluations);
    const Span span(run, prepared, centres, out.kernel_evaluations);
    const Buffer<double> sums = span.sums(run, kernel, c, w);
    out.kernel_evaluations += model.m() * centres.m();

    run.stage("lift");
    const int64_t q = held.count;
    Buffer<double> z = span.coordinates(run, sums, q);
    std::vector<double> g(static_cast<size_t>(q * q));
    gemm('N', 'T', q, q, span.rank(), 1.0, z.data(), q, z.data(), q, 0.0, g.data(), q);
    const uint32_t before = model.summary().capabilities;
    const bool orthonormal = before & MERCER_CAN_ORTHONORMAL && task.recipe.values().orthonormal;
    // Components are dropped if the squared pivot of G is at most the root of the unit roundoff:
    // half of the digits of the orthonormalised components would be rounding errors.
    const Turn turn = turn_of(g, q, held.r, orthonormal, std::sqrt(unit_roundoff(prepared.f32)));
    span.coefficients(q, z);
    prepared.f32 ? write_coefficients<float>(span, centres.m(), z, held, turn, out)
                 : write_coefficients<double>(span, centres.m(), z, held, turn, out);
    write_forms(model, held, g, turn, out);
    if (held.density >= 0) write_density(run, model, prepared, centres, held, sums, out);
    out.outcome = model.summary().outcome | (turn.r < held.r ? MERCER_RANK_REACHED : 0);
    out.capabilities = before & MERCER_CAN_MEAN;
    if (orthonormal) out.capabilities |= before & (MERCER_CAN_ORTHONORMAL | MERCER_CAN_MERGE | MERCER_CAN_RESIDUAL);
    if (held.density >= 0) out.capabilities |= MERCER_CAN_DENSITY;
    write_limits(run, prepared, centres, out);
    out.rank = span.rank();
    return out;
}

// Copies the input map and the shifts of squared distances, which belong to the kernel; with_all:
// copies all tensors.
Tensors copied(const Model &model, bool with_all) {
    Tensors out;
    for (const auto &[name, tensor] : model.tensors())
        if (with_all || name.rfind("T.", 0) == 0 || name.rfind("shift.", 0) == 0) out[name] = copy_of(tensor);
    return out;
}

std::shared_ptr<const Model> unchanged(const DeriveTask &task, const Model &model, const Held &held) {
    Json text = model.text(), derived = derived_text(task, model);
    for (const char *name : {"operation", "reducer", "parameters", "from"}) text[name] = derived[name];
    for (const char *name : {"kernel_evaluations", "kernel_passes"}) text[name] = 0;
    text["compressed"] = record({{"residual", Json::array()}});
    for (int64_t l = 0; l < model.r(); ++l) text["compressed"]["residual"].push_back(0.0);
    if (held.mean >= 0) text["compressed"]["mean_residual"] = 0.0;
    if (held.density >= 0) text["compressed"]["density_residual"] = 0.0;
    return derived_model(task, model, std::move(text), copied(model, true));
}

} // namespace

std::shared_ptr<const Model> compress(const DeriveTask &task) {
    Run &run = task.run;
    const Model &model = *task.models.front();
    check_model(model);
    Held held(model);
    const Prepared prepared = centres_as_rows(task, model, held);
    run.expect({{"reduce", 45}, {"gram", 45}, {"lift", 10}});
    run.stage("reduce");
    if (wants_all(task.recipe, model.m()) || model.m() == 0 || held.count == 0) return unchanged(task, model, held);
    Data rows;
    rows.source = prepared.source;
    Reduction reduction = reduce(run, task.recipe, rows, prepared, false);
    reduction.factor = {};
    assign_nearest(run, prepared, rows, reduction);
    reduction.weights = weights_of_rows(prepared, reduction);
    Centres centres = make_centres(run, prepared, reduction);
    Lifted out = project(task, model, prepared, centres, held);

    Json text = derived_text(task, model);
    const Json limits = model.text().value("limits", Json::object());
    if (limits.value("kind", std::string()) == "exact" && out.limits)
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
