// The table of output operations, and the operations that use sums F = k(Q, C) W: scores (W = A),
// density (W = w / n), residual (W = [A, nu]), Hotelling's T^2 and labels (W = A). In models with a
// denominator g, v is one more column of W. Errors: a row of F is accurate to about m u sum |k W|,
// which carries over to the outputs. A residual is a difference of numbers of size k(x, x), so its
// error is at least u k(x, x).
#include "outputs.h"

#include "../gram/object_matrix.h"
#include "../gram/subset.h"
#include "evaluate.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// ---- what each operation requires of a model

[[noreturn]] void cannot(const char *operation, const char *why) {
    fail(MERCER_E_UNSUPPORTED, "this model has no '%s': %s", operation, why);
}

void need_whitening(const Model &model, const char *operation) {
    if (const std::string &why = model.whitening().why_not(); !why.empty()) cannot(operation, why.c_str());
}

std::vector<Output> scores_outputs(const Model &model, const OutputOptions &options) {
    if (options.whiten) need_whitening(model, "whiten");
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
    need_whitening(model, "t2");
    return {{"t2", "sum of squared whitened scores", 1}};
}

std::vector<Output> gradient_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_GRADIENT)) cannot("gradient", model.why_no_gradient().c_str());
    checked_bytes("a gradient", model.r(), model.d(), sizeof(double));
    return {{"gradient", "df_j/dx_c in column j d + c", model.r() * model.d()}};
}

std::vector<Output> labels_outputs(const Model &model, const OutputOptions &) {
    if (!model.can(MERCER_CAN_LABELS))
        cannot("labels", "it has no clusters; the method 'ncut' computes them (mercer fit --method ncut)");
    return {{"labels", "cluster numbers, in order of decreasing weight", 1, MERCER_I64}};
}

// ---- the operations: each turns the values of one row into outputs

void put_scores(const Model &model, const OutputOptions &options, int64_t row, const RowValues &values, Target *outs) {
    const int64_t r = model.r();
    if (!options.whiten) return outs->put(row, 0, values.f, r);
    std::array<double, 64> white;
    for (int64_t from = 0, count; from < r; from += count) {
        count = std::min<int64_t>(r - from, white.size());
        for (int64_t j = 0; j < count; ++j)
            white[static_cast<size_t>(j)] = model.whitening().whitened(values.f, from + j);
        outs->put(row, from, white.data(), count);
    }
}

void put_t2(const Model &model, const OutputOptions &, int64_t row, const RowValues &values, Target *outs) {
    outs->put(row, model.whitening().t2(values.f, model.r()));
}

// The rule of lift/clusters.h: the label is the row j with the largest rule_j . (e, -1), where e is
// (1, f_1 ... f_p) divided by its length.
void put_labels(const Model &model, const OutputOptions &, int64_t row, const RowValues &values, Target *outs) {
    const Tensor &rule = *model.tensor("clusters");
    const int64_t p = rule.cols - 2;
    double square = 1, best = -INFINITY;
    int64_t label = 0;
    for (int64_t l = 0; l < p; ++l) square += values.f[l] * values.f[l];
    for (int64_t j = 0; j < rule.rows; ++j) {
        const double *c = tensor_data<double>(rule) + j * rule.cols;
        double score = c[0];
        for (int64_t l = 0; l < p; ++l) score += c[l + 1] * values.f[l];
        score = score / std::sqrt(square) - c[p + 1];
        if (score > best) best = score, label = j;
    }
    outs->put(row, std::isfinite(square) ? static_cast<double>(label) : NAN);
}

void put_density(const Model &, const OutputOptions &, int64_t row, const RowValues &values, Target *outs) {
    outs->put(row, values.density);
}

// |phi(x) - mean - projection|^2 = k(x, x) - 2 nu^T k_C(x) + nu^T K nu - |f(x)|^2, clamped at 0.
void put_residual(const Model &model, const OutputOptions &, int64_t row, const RowValues &values, Target *outs) {
    double value = values.self + (model.tensor("nu") ? model.mean_square() - 2 * values.mean : 0);
    for (int64_t j = 0; j < model.r(); ++j) value -= values.f[j] * values.f[j];
    outs->put(row, std::max(value, 0.0));
}

// ---- the pass that computes the values of all rows

// The first column of each part in W = [A, v, nu, w / n]; -1 for a part that no operation needs or
// the model does not have. r: the number of columns of A, which come first; count: the number of
// all columns.
struct Columns {
    int64_t r = 0, v = -1, nu = -1, w = -1, count = 0;
    Columns(const Model &model, unsigned needs) {
        const auto next = [&](unsigned need, const char *tensor) {
            return needs & need && model.tensor(tensor) ? count++ : -1;
        };
        if (needs & RowNeeds::coordinates) count = r = model.r();
        v = next(RowNeeds::coordinates, "v");
        nu = next(RowNeeds::mean, "nu");
        w = next(RowNeeds::density, "w");
    }
};

// Calls done(row, values) for every row, on any thread.
template <class T, class Done>
void for_rows(Run &run, const Model &model, const std::shared_ptr<const Source> &data, unsigned needs, Done &&done) {
    const Columns at(model, needs);
    const int64_t rows = model.tensor("A")->rows;
    const Tensor *b = model.tensor("b");
    std::vector<double> offset(static_cast<size_t>(at.r));
    if (b) std::copy_n(tensor_data<double>(*b), at.r, offset.data());
    Evaluator<T> evaluator(run, model, data);
    Weights<T> w(run, rows, at.count);
    if (at.r > 0) w.columns(0, tensor_data<T>(*model.tensor("A")), at.r);
    if (at.nu >= 0) w.column(at.nu, tensor_data<double>(*model.tensor("nu")), 1);
    if (at.w >= 0) w.column(at.w, tensor_data<double>(*model.tensor("w")), 1 / static_cast<double>(model.n()));
    // If |g| is at most this small share of sum |v|, x is so far from all centres that kernel
    // values underflow; relative_row then computes them again.
    double far = 0;
    if (at.v >= 0) {
        const double *v = tensor_data<double>(*model.tensor("v"));
        w.column(at.v, v, 1);
        for (int64_t i = 0; i < rows; ++i) far += std::fabs(v[i]);
        far *= sizeof(T) == 4 ? 1e-30 : 1e-290;
    }
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        std::vector<T> self(needs & RowNeeds::self ? static_cast<size_t>(panel.rows) : 0);
        if (!self.empty()) evaluator.tiles().self(run, panel, true, self.data());
        for (int64_t i = 0; i < panel.rows; ++i) {
            double *row = sums + i * w.stride;
            RowValues values{row};
            if (at.nu >= 0) values.mean = row[at.nu];
            if (at.w >= 0) values.density = row[at.w];
            if (!self.empty()) values.self = static_cast<double>(self[static_cast<size_t>(i)]);
            if (at.v >= 0) {
                if (!(std::fabs(row[at.v]) > far) && evaluator.tiles().has_log())
                    evaluator.relative_row(w, panel.row0 + i, row);
                // A kernel that is 0 at every centre carries no information: f = -b.
                const double g = row[at.v] != 0 ? row[at.v] : 1;
                for (int64_t j = 0; j < at.r; ++j) row[j] /= g;
            }
            for (int64_t j = 0; j < at.r; ++j) row[j] -= offset[static_cast<size_t>(j)];
            done(panel.row0 + i, values);
        }
    });
}

constexpr Operation operations[] = {
    {"scores", scores_outputs, RowNeeds::coordinates, put_scores},
    {"density", density_outputs, RowNeeds::density, put_density},
    {"residual", residual_outputs, RowNeeds::coordinates | RowNeeds::mean | RowNeeds::self, put_residual},
    {"t2", t2_outputs, RowNeeds::coordinates, put_t2},
    {"gradient", gradient_outputs, 0, nullptr, gradient<float>, gradient<double>},
    {"labels", labels_outputs, RowNeeds::coordinates, put_labels},
};

const Operation &operation_of(const OutputTraits &asked) {
    for (const Operation &operation : operations)
        if (std::string_view(operation.name) == asked.name) return operation;
    fail(MERCER_E_UNSUPPORTED, "operation '%s' is not implemented", asked.name);
}

// Makes one pass for all operations that share it, then one for each of the others.
template <class T>
void run_as(Run &run, const Model &model, const Operations &asked, const OutputOptions &options,
            const std::shared_ptr<const Source> &data, std::vector<Target> &targets) {
    struct Placed {
        const Operation *operation;
        Target *outs;
    };
    std::vector<Placed> sharing, alone;
    unsigned needs = 0;
    Target *outs = targets.data();
    for (const OutputTraits *named : asked) {
        const Operation &operation = operation_of(*named);
        (operation.put ? sharing : alone).push_back({&operation, outs});
        needs |= operation.needs;
        outs += operation.outputs(model, options).size();
    }
    const double passes = static_cast<double>(alone.size() + !sharing.empty());
    double pass = 0;
    const auto next = [&] {
        pass += 1;
        return Run::Span(run, (pass - 1) / passes, pass / passes);
    };
    if (!sharing.empty()) {
        const Run::Span span = next();
        for_rows<T>(run, model, data, needs, [&](int64_t row, const RowValues &values) {
            for (const Placed &one : sharing) one.operation->put(model, options, row, values, one.outs);
        });
    }
    for (const Placed &one : alone) {
        const Run::Span span = next();
        const Request<T> request{run, model, options, data, one.outs};
        if constexpr (sizeof(T) == 4)
            one.operation->f32(request);
        else
            one.operation->f64(request);
    }
}

void check_queries(const Model &model, const Source &data) {
    if (model.indices() && data.kind() != Source::Kind::objects)
        fail(MERCER_E_SHAPE, "queries are rows of %" PRId64 " columns, must be objects like those of the fit",
             data.cols());
    if (const auto *matrix = dynamic_cast<const MatrixSource *>(&data);
        matrix && model.indices() && matrix->columns() != model.m() && matrix->columns() != model.n())
        fail(MERCER_E_SHAPE,
             "the matrix of queries has %" PRId64 " columns, must have %" PRId64 " (one per centre) or %" PRId64
             " (one per row of the fit)",
             matrix->columns(), model.m(), model.n());
    if (model.indices()) check_objects(model.kernel(), static_cast<const ObjectSource &>(data));
    if (!model.indices() && data.kind() == Source::Kind::objects)
        fail(MERCER_E_SHAPE, "queries are objects, must be rows of %" PRId64 " columns like those of the fit",
             model.d());
    if (!model.indices() && data.cols() != model.d())
        fail(MERCER_E_SHAPE, "queries have %" PRId64 " columns, but the model was fitted on %" PRId64, data.cols(),
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

// The part of the array that an output writes: columns beyond its own stay unchanged.
mercer_view written(const Output &output, mercer_view out) {
    out.cols = output.cols;
    return out;
}

void check_array(const Model &model, const Source &data, const Output &output, size_t index, const mercer_view &out) {
    const std::string name = index ? format("outs[%zu]", index) : "out";
    if (out.rows != data.rows() || out.cols < output.cols)
        fail(MERCER_E_SHAPE, "%s is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, name.c_str(), out.rows,
             out.cols, data.rows(), output.cols);
    const int32_t given = output.dtype ? output.dtype : model.dtype();
    if (out.dtype != given && !(out.dtype == MERCER_F64 && given == MERCER_F32))
        fail(MERCER_E_ARGUMENT, "%s: dtype = %s, but this model returns %s", name.c_str(), dtype_text(out.dtype),
             dtype_text(given));
    check_apart(name.c_str(), written(output, out), "data", data);
}

void check_arrays(const Model &model, const Source &data, const std::vector<Output> &outputs,
                  const std::vector<mercer_view> &outs) {
    for (size_t k = 0; k < outputs.size(); ++k) {
        if (!outs[k].data) continue;
        check_array(model, data, outputs[k], k, outs[k]);
        for (size_t other = 0; other < k; ++other)
            if (outs[other].data && overlap(written(outputs[k], outs[k]), written(outputs[other], outs[other])))
                fail(MERCER_E_ARGUMENT, "outs[%zu] shares memory with outs[%zu]; must not", k, other);
    }
}

} // namespace

std::vector<Output> outputs_of(const Operations &asked, const Model &model, const OutputOptions &options) {
    std::vector<Output> all;
    for (const OutputTraits *asked_for : asked) {
        const std::vector<Output> own = operation_of(*asked_for).outputs(model, options);
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

void transform(Run &run, const Model &model, const Operations &asked, const OutputOptions &options,
               const std::shared_ptr<const Source> &data, const std::vector<mercer_view> &outs) {
    check_queries(model, *data);
    const std::vector<Output> outputs = outputs_of(asked, model, options);
    check_arrays(model, *data, outputs, outs);
    if (model.kernel().has_user() && !model.kernel().user && data->kind() != Source::Kind::objects &&
        !model.has_frequencies())
        fail(MERCER_E_UNSUPPORTED, "the model's user kernel is not set: restore it with mercer_model_bind");
    const auto rows = model.leaves_missing() ? complete_rows(run, data) : data;
    std::vector<Target> targets;
    for (size_t k = 0; k < outs.size(); ++k) {
        if (rows != data) fill_with_nan(*data, outputs[k].cols, outs[k]);
        targets.emplace_back(outs[k], *rows);
    }
    if (rows->rows() == 0) return;
    if (model.dtype() == MERCER_F32)
        run_as<float>(run, model, asked, options, rows, targets);
    else
        run_as<double>(run, model, asked, options, rows, targets);
    for (size_t k = 0; k < outputs.size(); ++k)
        if (const int64_t row = targets[k].first_lost(); row >= 0)
            fail(MERCER_E_NUMERICAL, "%s of row %" PRId64 ": it overflows %s, or its kernel values are undefined",
                 outputs[k].name, row, outs[k].dtype == MERCER_F32 ? "f32" : "f64");
}

} // namespace mercer
