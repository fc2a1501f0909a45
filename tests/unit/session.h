// For tests that go through the C API: a context, data and fits, with the matrices of oracle.h.
#pragma once
#include "oracle.h"
#include "unity_cpp.h"

#include <mercer/mercer.h>

#include <cstring>
#include <string>
#include <utility>

#define OK(call) TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, (call), mercer_last_error())

using Settings = std::vector<std::pair<std::string, std::string>>;
using oracle::Matrix;
using oracle::Vector;

inline Matrix to_matrix(const mercer_view &view) {
    Matrix out(view.rows, view.cols);
    for (int64_t i = 0; i < view.rows; ++i)
        for (int64_t j = 0; j < view.cols; ++j) {
            int64_t at = i * view.row_stride + j * view.col_stride;
            out(i, j) = view.dtype == MERCER_F32   ? static_cast<double>(static_cast<const float *>(view.data)[at])
                        : view.dtype == MERCER_I64 ? static_cast<double>(static_cast<const int64_t *>(view.data)[at])
                                                   : static_cast<const double *>(view.data)[at];
        }
    return out;
}

// The memory layouts in which callers hold a matrix: f32 or f64, row-major or column-major.
struct Layout {
    bool f32 = false, column_major = false;
};
class Held {
  public:
    explicit Held(const Matrix &x, Layout layout = {}) : layout_(layout) {
        view_ = {sizeof view_, layout.f32 ? MERCER_F32 : MERCER_F64, 0, x.rows, x.cols, x.cols, 1, nullptr};
        if (layout.column_major) view_.row_stride = 1, view_.col_stride = std::max<int64_t>(x.rows, 1);
        f64_.resize(x.v.size() + 1);
        f32_.resize(x.v.size() + 1);
        for (int64_t i = 0; i < x.rows; ++i)
            for (int64_t j = 0; j < x.cols; ++j) {
                size_t at = static_cast<size_t>(i * view_.row_stride + j * view_.col_stride);
                f64_[at] = x(i, j);
                f32_[at] = static_cast<float>(x(i, j));
            }
    }
    mercer_view view() {
        view_.data = layout_.f32 ? static_cast<void *>(f32_.data()) : f64_.data();
        return view_;
    }

  private:
    Layout layout_;
    mercer_view view_;
    std::vector<double> f64_;
    std::vector<float> f32_;
};

class Model {
  public:
    Model() = default;
    Model(Model &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    Model &operator=(Model &&other) noexcept { return std::swap(handle, other.handle), *this; }
    ~Model() { mercer_model_destroy(handle); }
    mercer_summary summary() const {
        mercer_summary out{};
        out.struct_size = sizeof out;
        OK(mercer_model_summary(handle, &out));
        return out;
    }
    Matrix tensor(const char *name) const {
        mercer_view view{};
        view.struct_size = sizeof view;
        OK(mercer_model_tensor(handle, name, &view));
        return to_matrix(view);
    }
    Vector vector(const char *name) const { return tensor(name).v; }
    bool has(const char *name) const {
        mercer_view view{};
        view.struct_size = sizeof view;
        return mercer_model_tensor(handle, name, &view) == MERCER_OK;
    }
    mercer_model *handle = nullptr;
};

// Returns the entry of the model's report at the path; the path "" gives the whole report.
inline std::string info(const Model &model, const std::string &path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path.c_str(), &text));
    return text;
}

class Session {
  public:
    Session() { OK(mercer_context_create(&context)); }
    ~Session() { mercer_context_destroy(context); }
    Session(const Session &) = delete;

    mercer_recipe *recipe(const std::string &method, const Settings &settings) {
        mercer_recipe *recipe = nullptr;
        OK(mercer_recipe_create(&recipe, context, method.c_str()));
        std::vector<const char *> names, values;
        for (const auto &[name, value] : settings) names.push_back(name.c_str()), values.push_back(value.c_str());
        OK(mercer_recipe_set_many(recipe, names.data(), values.data(), static_cast<int64_t>(names.size())));
        return recipe;
    }
    Model fit(mercer_data *data, const Settings &settings, const char *method = "kpca",
              const mercer_run *run = nullptr) {
        mercer_recipe *made = recipe(method, settings);
        Model model;
        int32_t status = mercer_model_fit(&model.handle, made, data, run);
        mercer_recipe_destroy(made);
        OK(status);
        return model;
    }
    Model fit(const Matrix &x, const Settings &settings, const Vector &weights = {}, Layout layout = {},
              const char *method = "kpca", const mercer_run *run = nullptr) {
        return fit_given(x, {}, weights, settings, layout, method, run);
    }
    // Returns x after swapping its first row with the row that the reducer `greedy` selects first.
    // All k(x, x) are equal. `greedy` breaks this tie by the contents of the rows if they are
    // vectors; if they are objects, whose contents are unknown, it takes the first one. In this
    // order it selects the same rows in both cases.
    Matrix greedy_first(Matrix x) {
        const Model model = fit(x, {{"reducer", "greedy"}, {"m", "1"}, {"sigma", "1"}}, {}, {}, "subsampled");
        const Matrix c = model.tensor("C");
        int64_t at = 0;
        while (!std::equal(c.v.begin(), c.v.end(), x.row(at))) ++at;
        std::swap_ranges(x.v.begin(), x.v.begin() + x.cols, x.v.begin() + at * x.cols);
        return x;
    }
    // Fits with rows of x, given by their numbers, as landmarks; without landmarks if `rows` is
    // empty.
    Model fit_given(const Matrix &x, std::vector<int64_t> rows, const Vector &weights, const Settings &settings,
                    Layout layout = {}, const char *method = "kpca", const mercer_run *run = nullptr) {
        Held held(x, layout);
        mercer_data *made = data(held);
        const mercer_view landmarks{sizeof landmarks, MERCER_I64, 0, static_cast<int64_t>(rows.size()), 1, 1, 1,
                                    rows.data()};
        if (!rows.empty()) OK(mercer_data_attach(made, "landmarks", &landmarks));
        Matrix column(static_cast<int64_t>(weights.size()), 1);
        column.v = weights;
        Held attached(column);
        mercer_view view = attached.view();
        if (!weights.empty()) OK(mercer_data_attach(made, "weights", &view));
        Model model = fit(made, settings, method, run);
        mercer_data_destroy(made);
        return model;
    }
    mercer_data *data(Held &held) {
        mercer_view view = held.view();
        mercer_data *data = nullptr;
        OK(mercer_data_from_view(&data, context, &view));
        return data;
    }
    // Runs an output operation on queries. The type of the output follows from that of the model.
    Matrix apply(const Model &model, mercer_data *queries, const char *what = "scores",
                 const mercer_run *run = nullptr) {
        mercer_recipe *operation = nullptr;
        OK(mercer_recipe_create(&operation, context, what));
        mercer_output output{};
        output.struct_size = sizeof output;
        int64_t count = 0;
        OK(mercer_model_output(model.handle, operation, queries, 0, &output, &count));
        TEST_ASSERT_EQUAL_INT64(1, count);
        std::vector<double> memory(static_cast<size_t>(output.rows * output.cols + 1));
        mercer_view view{sizeof view, output.dtype, 0, output.rows, output.cols, output.cols, 1, memory.data()};
        int32_t status = mercer_model_transform(model.handle, operation, queries, &view, 1, run);
        mercer_recipe_destroy(operation);
        OK(status);
        return to_matrix(view);
    }
    Matrix apply(const Model &model, const Matrix &queries, const char *what = "scores", Layout layout = {},
                 const mercer_run *run = nullptr) {
        Held held(queries, layout);
        mercer_data *made = data(held);
        Matrix out = apply(model, made, what, run);
        mercer_data_destroy(made);
        return out;
    }
    // Returns the kernel matrix k(X, Y), or k(X, X) if y is nullptr.
    Matrix kernel(const Settings &settings, const Matrix &x, const Matrix *y = nullptr, Layout layout = {}) {
        Held xs(x, layout), ys(y ? *y : x, layout), out(Matrix(x.rows, y ? y->rows : x.rows), layout);
        mercer_data *dx = data(xs), *dy = y ? data(ys) : nullptr;
        mercer_recipe *made = recipe("kpca", settings);
        mercer_view view = out.view();
        int32_t status = mercer_recipe_kernel(made, dx, dy, &view, nullptr);
        mercer_recipe_destroy(made);
        mercer_data_destroy(dx);
        mercer_data_destroy(dy);
        OK(status);
        return to_matrix(view);
    }

    mercer_context *context = nullptr;
};

inline mercer_run with_threads(int64_t threads) {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = threads;
    return run;
}

inline double distance(const Vector &a, const Vector &b) {
    TEST_ASSERT_EQUAL_size_t(a.size(), b.size());
    double worst = 0;
    for (size_t k = 0; k < a.size(); ++k)
        worst = std::isfinite(a[k]) && std::isfinite(b[k]) ? std::max(worst, std::fabs(a[k] - b[k])) : INFINITY;
    return worst;
}

// Checks that the largest difference of two arrays is at most `allowed`. The message states both
// numbers.
inline void expect_near(const Vector &a, const Vector &b, double allowed, const char *what) {
    double worst = distance(a, b);
    char text[160];
    std::snprintf(text, sizeof text, "%s: off by %.3g, allowed %.3g", what, worst, allowed);
    TEST_ASSERT_TRUE_MESSAGE(worst <= allowed, text);
}
inline void expect_same_bits(const Vector &a, const Vector &b, const char *what) {
    TEST_ASSERT_EQUAL_size_t_MESSAGE(a.size(), b.size(), what);
    TEST_ASSERT_TRUE_MESSAGE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0, what);
}
