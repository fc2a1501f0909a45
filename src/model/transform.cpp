// The table of output operations, and all of them that are sums F = k(Q, C) W: scores W = A, density W = w / n, residual
// W = [A, nu], Hotelling's T^2 W = A; a denominator g is one column more. Errors: a row of F to about m u sum |k W|, what
// follows from it as it stands; a residual is a difference of numbers of size k(x, x) and no more exact than u k(x, x).
#include "outputs.h"

#include "../gram/matrix.h"
#include "../gram/missing.h"
#include "evaluate.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// ---- what each needs of a model

[[noreturn]] void cannot(const char *operation, const char *why) {
    fail(MERCER_E_UNSUPPORTED, "this model has no '%s': %s", operation, why);
}

// Eigenvalues are divided by: there must be one for each component, and above 0.
void need_eigenvalues(const Model &model, const char *operation) {
    const Tensor *lambda = model.tensor("lambda");
    if (model.tensor("v")) cannot(operation, "its eigenvalues are those of a walk, not variances");
    if (!lambda) cannot(operation, "it has no eigenvalues (tensor 'lambda')");
    for (int64_t j = 0; j < model.r(); ++j)
        if (!(tensor_data<double>(*lambda)[j] > 0))
            fail(MERCER_E_UNSUPPORTED, "this model has no '%s': lambda = %g of component %" PRId64 ", must be > 0",
                 operation, tensor_data<double>(*lambda)[j], j);
}

std::vector<Output> scores_outputs(const Model &model, const OutputOptions &options) {
    if (options.whiten) need_eigenvalues(model, "whiten");
    return {{"scores", "coordinates on the components", model.r()}};
}

std::vector<Output> density_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_DENSITY)) cannot("density", "its centres carry no weights");
    return {{"density", "w^T k_C(x) / n", 1}};
}

std::vector<Output> residual_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_RESIDUAL)) cannot("residual", "its components are not orthonormal directions");
    return {{"residual", "squared distance to the components", 1}};
}

std::vector<Output> t2_outputs(const Model &model, const OutputOptions &) {
    need_eigenvalues(model, "t2");
    return {{"t2", "sum of squared whitened scores", 1}};
}

std::vector<Output> gradient_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_GRADIENT)) cannot("gradient", model.why_no_gradient().c_str());
    checked_bytes("a gradient", model.r(), model.d(), sizeof(double));
    return {{"gradient", "df_j/dx_c in column j d + c", model.r() * model.d()}};
}

std::vector<Output> labels_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_LABELS)) cannot("labels", "it was not fitted to clusters");
    return {{"labels", "clusters, by falling weight", 1, MERCER_I64}};
}

// ---- the operations

// f, row by row: done(row, f) on any thread.
template <class T, class Done>
void for_scores(const Request<T> &request, Done &&done) {
    const Model &model = request.model;
    const int64_t r = model.r(), rows = model.tensor("A")->rows;
    const Tensor *b = model.tensor("b"), *v = model.tensor("v");
    std::vector<double> offset(static_cast<size_t>(r));
    if (b) std::copy_n(tensor_data<double>(*b), r, offset.data());
    Evaluator<T> evaluator(request.run, model, request.data);
    Weights<T> w(request.run, rows, r + (v != nullptr));
    w.columns(0, *model.tensor("A"));
    double scale = 0; // of g
    if (v) {
        w.column(r, *v, 1);
        for (int64_t i = 0; i < rows; ++i) scale += std::fabs(tensor_data<double>(*v)[i]);
    }
    const double far = scale * (sizeof(T) == 4 ? 1e-30 : 1e-290);
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i) {
            double *row = sums + i * w.stride;
            if (v) {
                if (!(std::fabs(row[r]) > far) && evaluator.tiles().has_log())
                    evaluator.relative_row(w, panel.row0 + i, row);
                const double g = row[r] != 0 ? row[r] : 1; // a kernel that is 0 at every centre says nothing: f = -b
                for (int64_t j = 0; j < r; ++j) row[j] /= g;
            }
            for (int64_t j = 0; j < r; ++j) row[j] -= offset[static_cast<size_t>(j)];
            done(panel.row0 + i, row);
        }
    });
}

template <class T>
void scores(const Request<T> &request) {
    const int64_t r = request.model.r();
    std::vector<double> roots; // to divide by
    for (int64_t j = 0; request.options.whiten && j < r; ++j)
        roots.push_back(std::sqrt(tensor_data<double>(*request.model.tensor("lambda"))[j]));
    for_scores(request, [&](int64_t row, double *f) {
        for (size_t j = 0; j < roots.size(); ++j) f[j] /= roots[j];
        request.outs[0].put(row, 0, f, r);
    });
}

template <class T>
void t2(const Request<T> &request) {
    for_scores(request, [&](int64_t row, const double *f) {
        double sum = 0;
        for (int64_t j = 0; j < request.model.r(); ++j)
            sum += f[j] * f[j] / tensor_data<double>(*request.model.tensor("lambda"))[j];
        request.outs[0].put(row, sum);
    });
}

// The rule of fit/clusters.h: the row of largest rule_j . (e, -1), e = (1, f_1 ... f_p) / |.|.
template <class T>
void labels(const Request<T> &request) {
    const Tensor &rule = *request.model.tensor("clusters");
    const int64_t p = rule.cols - 2;
    for_scores(request, [&](int64_t row, const double *f) {
        double square = 1, best = -INFINITY;
        int64_t label = 0;
        for (int64_t l = 0; l < p; ++l) square += f[l] * f[l];
        for (int64_t j = 0; j < rule.rows; ++j) {
            const double *c = tensor_data<double>(rule) + j * rule.cols;
            double score = c[0];
            for (int64_t l = 0; l < p; ++l) score += c[l + 1] * f[l];
            score = score / std::sqrt(square) - c[p + 1];
            if (score > best) best = score, label = j;
        }
        request.outs[0].put(row, std::isfinite(square) ? static_cast<double>(label) : NAN);
    });
}

template <class T>
void density(const Request<T> &request) {
    const Model &model = request.model;
    Evaluator<T> evaluator(request.run, model, request.data);
    Weights<T> w(request.run, model.m(), 1);
    w.column(0, *model.tensor("w"), 1 / static_cast<double>(model.n()));
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i) request.outs[0].put(panel.row0 + i, sums[i * w.stride]);
    });
}

// |phi(x) - mean - projection|^2 = k(x, x) - 2 nu^T k_C(x) + nu^T K nu - |f(x)|^2, clamped at 0.
template <class T>
void residual(const Request<T> &request) {
    const Model &model = request.model;
    const int64_t r = model.r();
    const Tensor *b = model.tensor("b"), *nu = model.tensor("nu");
    Evaluator<T> evaluator(request.run, model, request.data);
    Weights<T> w(request.run, model.m(), r + (nu != nullptr));
    w.columns(0, *model.tensor("A"));
    if (nu) w.column(r, *nu, 1);
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        std::vector<T> own(static_cast<size_t>(panel.rows));
        evaluator.tiles().self(request.run, panel, true, own.data());
        for (int64_t i = 0; i < panel.rows; ++i) {
            const double *row = sums + i * w.stride;
            double value =
                static_cast<double>(own[static_cast<size_t>(i)]) + (nu ? model.mean_square() - 2 * row[r] : 0);
            for (int64_t j = 0; j < r; ++j) {
                double f = row[j] - (b ? tensor_data<double>(*b)[j] : 0);
                value -= f * f;
            }
            request.outs[0].put(panel.row0 + i, std::max(value, 0.0));
        }
    });
}

void check_queries(const Model &model, const Source &data) {
    if (model.indices() && data.kind() != Source::Kind::objects)
        fail(MERCER_E_SHAPE, "queries are rows of %" PRId64 " columns, must be objects, as those fitted on",
             data.cols());
    if (const auto *matrix = dynamic_cast<const MatrixSource *>(&data);
        matrix && model.indices() && matrix->columns() != model.m() && matrix->columns() != model.n())
        fail(MERCER_E_SHAPE,
             "the matrix of queries has %" PRId64 " columns, must have %" PRId64 " (one a centre) or %" PRId64
             " (one a row fitted on)",
             matrix->columns(), model.m(), model.n());
    if (model.indices()) check_objects(model.kernel(), static_cast<const ObjectSource &>(data));
    if (!model.indices() && data.kind() == Source::Kind::objects)
        fail(MERCER_E_SHAPE, "queries are objects, must be rows of %" PRId64 " columns, as those fitted on", model.d());
    if (!model.indices() && data.cols() != model.d())
        fail(MERCER_E_SHAPE, "queries have %" PRId64 " columns, the model was fitted on %" PRId64, data.cols(),
             model.d());
}

void fill_with_nan(const Source &data, int64_t cols, const mercer_view &out) {
    Target target(out, data);
    const std::vector<double> lost(static_cast<size_t>(cols), NAN);
    for (int64_t i = 0; i < data.rows(); ++i) target.put(i, 0, lost.data(), cols);
}

const char *dtype_text(int32_t dtype) {
    return dtype == MERCER_F32 ? "1 (MERCER_F32)" : dtype == MERCER_F64 ? "2 (MERCER_F64)" : "3 (MERCER_I64)";
}

void check_array(const Model &model, const Source &data, const Output &output, size_t index, const mercer_view &out) {
    const std::string name = index ? format("outs[%zu]", index) : "out";
    if (out.rows != data.rows() || out.cols < output.cols)
        fail(MERCER_E_SHAPE, "%s is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, name.c_str(), out.rows,
             out.cols, data.rows(), output.cols);
    const int32_t given = output.dtype ? output.dtype : model.dtype();
    if (out.dtype != given && !(out.dtype == MERCER_F64 && given == MERCER_F32))
        fail(MERCER_E_ARGUMENT, "%s: dtype = %s, this model gives %s", name.c_str(), dtype_text(out.dtype),
             dtype_text(given));
    mercer_view written = out; // columns beyond the output's stay as they are
    written.cols = output.cols;
    check_apart(name.c_str(), written, "data", data);
}

} // namespace

const std::vector<Operation> &operations() {
    static const auto options = [](const char *operation, std::initializer_list<mercer_param> rows) {
        return std::make_shared<const ParamTable>(operation, rows.begin(), static_cast<int64_t>(rows.size()),
                                                  sizeof(OutputOptions));
    };
    static const std::vector<Operation> table = {
        {"scores", "coordinates on the components: f(x) = A^T k_C(x) / g(x) - b",
         options("scores", {MERCER_PARAM_BOOL(OutputOptions, whiten, "false", "", MERCER_SHORT,
                                              "divide each by the root of its eigenvalue: of variance 1 on the data")}),
         scores_outputs, scores<float>, scores<double>},
        {"density", "kernel density estimate w^T k_C(x) / n, without the kernel's normalising constant",
         options("density", {}), density_outputs, density<float>, density<double>},
        {"residual", "squared distance in feature space to the span of the components (SPE); see /limits of the report",
         options("residual", {}), residual_outputs, residual<float>, residual<double>},
        {"t2", "Hotelling's T^2, the sum of f_j(x)^2 / lambda_j; see /limits of the report", options("t2", {}),
         t2_outputs, t2<float>, t2<double>},
        {"gradient", "df/dx, with respect to the columns as they are given: df_j/dx_c in column j d + c",
         options("gradient", {}), gradient_outputs, gradient<float>, gradient<double>},
        {"labels", "clusters, numbered from 0 by falling weight; of models by the method 'ncut'", options("labels", {}),
         labels_outputs, labels<float>, labels<double>},
    };
    return table;
}

void transform(Run &run, const Model &model, const Operation &operation, const OutputOptions &options,
               const std::shared_ptr<const Source> &data, const std::vector<mercer_view> &outs) {
    check_queries(model, *data);
    const std::vector<Output> outputs = operation.outputs(model, options);
    for (size_t k = 0; k < outputs.size(); ++k)
        if (outs[k].data) check_array(model, *data, outputs[k], k, outs[k]);
    if (model.kernel().has_user() && !model.kernel().user && data->kind() != Source::Kind::objects &&
        !model.has_frequencies())
        fail(MERCER_E_UNSUPPORTED, "the model's user kernel is not here: give it back with mercer_model_bind");
    const auto rows = model.leaves_missing() ? complete_rows(run, data) : data;
    std::vector<Target> targets;
    for (size_t k = 0; k < outs.size(); ++k) {
        if (rows != data) fill_with_nan(*data, outputs[k].cols, outs[k]);
        targets.emplace_back(outs[k], *rows);
    }
    if (rows->rows() == 0) return;
    if (model.dtype() == MERCER_F32)
        operation.f32({run, model, options, rows, targets});
    else
        operation.f64({run, model, options, rows, targets});
    for (size_t k = 0; k < outputs.size(); ++k)
        if (const int64_t row = targets[k].first_lost(); row >= 0)
            fail(MERCER_E_NUMERICAL, "%s of row %" PRId64 ": beyond %s, or undefined where kernel values are",
                 outputs[k].name, row, outs[k].dtype == MERCER_F32 ? "f32" : "f64");
}

} // namespace mercer
