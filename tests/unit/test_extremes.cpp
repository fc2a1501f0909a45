// Tests data near the limits of the floating-point range, and kernel matrices of zeros. What the
// library computes from data (bandwidths, statistics of columns) must scale with them, so that
// kernel values stay the same. If the type cannot hold the numbers, the fit must fail with E_DATA:
// neither wrong numbers nor other errors are allowed.
#include "session.h"

#include <nlohmann/json.hpp>

namespace {

constexpr int64_t n = 40, d = 3;

struct Tried {
    int32_t status;
    std::string text;
    Model model;
};
Tried try_fit(Session &session, mercer_data *data, const Settings &settings, const char *method = "kpca") {
    Tried out{};
    mercer_recipe *recipe = session.recipe(method, settings);
    out.status = mercer_model_fit(&out.model.handle, recipe, data, nullptr);
    out.text = out.status ? mercer_last_error() : "";
    mercer_recipe_destroy(recipe);
    return out;
}
Tried try_fit(Session &session, const Matrix &x, const Settings &settings, const char *method = "kpca",
              Layout layout = {}) {
    Held held(x, layout);
    mercer_data *data = session.data(held);
    Tried out = try_fit(session, data, settings, method);
    mercer_data_destroy(data);
    return out;
}

double number_of(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return std::strtod(text, nullptr);
}

Matrix points(uint64_t seed = 3) { return oracle::Numbers(seed).matrix(n, d, 0.1, 1); }
Matrix times(Matrix x, double factor) {
    for (double &value : x.v) value *= factor;
    return x;
}
std::string label(const Settings &settings, double factor, const char *more = "") {
    std::string out = more;
    for (const auto &[name, value] : settings) out += " " + name + "=" + value;
    return out + " x " + std::to_string(factor);
}

// Checks that sigma is near `expected` or, if may_refuse, that the fit failed with E_DATA.
void expect_right_or_refused(const Tried &tried, double expected, double tolerance, bool may_refuse,
                             const std::string &what) {
    if (may_refuse && tried.status == MERCER_E_DATA) return;
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, (what + ": " + tried.text).c_str());
    const double sigma = number_of(tried.model, "/parameters/kernel.sigma");
    TEST_ASSERT_TRUE_MESSAGE(std::fabs(sigma - expected) <= tolerance * expected,
                             (what + ": sigma = " + std::to_string(sigma / expected) + " of what is right").c_str());
}

// ---- bandwidths

void test_bandwidths_scale_as_the_data_do() {
    Session session;
    const Matrix x = points();
    for (const char *rule : {"median", "mean", "scale"})
        for (const char *kernel : {"gaussian", "laplacian", "matern"})
            for (const char *scale : {"none", "standard", "minmax"}) {
                const Settings settings = {{"kernel", kernel}, {"bandwidth", rule}, {"data.scale", scale}};
                const Tried one = try_fit(session, x, settings);
                TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, one.status, one.text.c_str());
                const double sigma = number_of(one.model, "/parameters/kernel.sigma");
                const bool scaled = std::string(scale) != "none";
                for (double factor : {1e-305, 1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1e30, 1e100, 1e150, 1e200, 1e300})
                    expect_right_or_refused(try_fit(session, times(x, factor), settings),
                                            scaled ? sigma : sigma * factor, 1e-9,
                                            !scaled && (factor < 1e-150 || factor > 1e140), label(settings, factor));
            }
}

// Returns sqrt(sum_ik (x_ik - mean)^2 / n) in long double, where the mean is that of all entries.
// The rule `scale` divides it by sqrt(2) for sigma.
double scale_rule(const Matrix &x) {
    long double mean = 0, square = 0;
    for (double value : x.v) mean += static_cast<long double>(value) / static_cast<long double>(x.v.size());
    for (double value : x.v)
        square += (static_cast<long double>(value) - mean) * (static_cast<long double>(value) - mean);
    return static_cast<double>(std::sqrt(square / static_cast<long double>(x.rows)));
}
Matrix minmax(Matrix x) {
    for (int64_t k = 0; k < x.cols; ++k) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < x.rows; ++i) lo = std::min(lo, x(i, k)), hi = std::max(hi, x(i, k));
        for (int64_t i = 0; i < x.rows; ++i) x(i, k) = (x(i, k) - lo) / (hi - lo);
    }
    return x;
}

void test_a_row_far_away() {
    Session session;
    const Settings settings = {{"kernel", "gaussian"}, {"data.scale", "minmax"}, {"bandwidth", "scale"}};
    for (double far : {1e150, 1e200, 1e300}) {
        Matrix x = points();
        for (int64_t k = 0; k < d; ++k) x(7, k) = far;
        expect_right_or_refused(try_fit(session, x, settings), scale_rule(minmax(x)) / std::sqrt(2.0), 1e-12, false,
                                label(settings, far));
        Settings standard = settings;
        standard[1].second = "standard"; // each column then has variance 1
        expect_right_or_refused(try_fit(session, x, standard), std::sqrt(static_cast<double>(d)) / std::sqrt(2.0),
                                1e-12, false, label(standard, far));
    }
    Matrix beyond = points();
    beyond(0, 0) = 1.7e308, beyond(1, 0) = -1.7e308;
    const Tried tried = try_fit(session, beyond, settings);
    TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, tried.status);
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(tried.text.c_str(), "has a range that is too wide for f64"),
                                 tried.text.c_str());
}

// Statistics of columns are computed for slabs of 1024 rows, each in its own unit (a power of 2),
// and merged.
void test_statistics_of_slabs() {
    Session session;
    const int64_t rows = 3000; // three slabs
    for (double factor : {1e-250, 1.0, 1e250}) {
        Matrix x = oracle::Numbers(8).matrix(rows, 2);
        for (int64_t i = 0; i < rows; ++i) {
            if (i < 1024) x(i, 0) = 0;                   // the first slab has zeros
            if (i >= 1024 && i < 2048) x(i, 0) *= 1e-60; // the second has tiny numbers
        }
        const Settings settings = {{"kernel", "gaussian"}, {"data.scale", "standard"}, {"sigma", "1"}, {"m", "3"}};
        const Tried one = try_fit(session, x, settings, "subsampled"),
                    other = try_fit(session, times(x, factor), settings, "subsampled");
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, other.status, other.text.c_str());
        const Vector scale = one.model.vector("T.scale"), shift = one.model.vector("T.shift");
        for (size_t k = 0; k < 2; ++k) {
            TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1, other.model.vector("T.scale")[k] * factor / scale[k]);
            TEST_ASSERT_DOUBLE_WITHIN(1e-12 / scale[k], shift[k], other.model.vector("T.shift")[k] / factor);
        }
    }
}

// ---- kernel values

Tried try_kernel(Session &session, const Matrix &x, const Settings &settings, bool f32, Matrix *out) {
    Held held(x, {f32, false}), values(Matrix(n, n), {f32, false});
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("kpca", settings);
    const mercer_view view = values.view();
    Tried tried{};
    tried.status = mercer_recipe_kernel(recipe, data, nullptr, &view, nullptr);
    tried.text = tried.status ? mercer_last_error() : "";
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    *out = to_matrix(view);
    return tried;
}

// If the width of a kernel is computed from the data, kernel values must not depend on the unit of
// the data. Data that the type cannot hold to its rounding are refused.
void test_kernel_values_do_not_see_the_unit() {
    Session session;
    const Matrix x = points();
    for (const char *kernel : {"gaussian", "laplacian", "matern", "cauchy", "rational-quadratic", "wave", "cosine"})
        for (const char *scale : {"none", "minmax"})
            for (bool f32 : {false, true}) {
                const Settings settings = {{"kernel", kernel}, {"data.scale", scale}};
                Matrix right, values;
                OK(try_kernel(session, x, settings, false, &right).status);
                for (double factor : {1e-300, 1e-200, 1e-150, 1e-37, 1e-30, 1e-21, 1e-17, 1e-10, 1e10, 1e18, 1e30,
                                      1e150, 1e200, 1e300}) {
                    if (f32 && !(factor > 1e-38 && factor < 1e38)) continue;
                    const Tried tried = try_kernel(session, times(x, factor), settings, f32, &values);
                    if (tried.status == MERCER_E_DATA) continue;
                    const std::string what = label(settings, factor, f32 ? "f32" : "f64");
                    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, (what + tried.text).c_str());
                    expect_near(right.v, values.v, f32 ? 2e-5 : 1e-9, what.c_str());
                }
            }
}

// For kernels whose parameters do not follow the data, values must be those of the formula, or the
// data must be refused. Small values must not become 0.
void test_small_values() {
    Session session;
    const Matrix x = points();
    const std::pair<const char *, oracle::Pair> kernels[] = {
        {"linear", oracle::dot},
        {"polynomial", [](const double *a, const double *b,
                          int64_t c) { return std::pow(oracle::dot(a, b, c) / static_cast<double>(c), 3); }},
    };
    for (const auto &[kernel, k] : kernels)
        for (bool f32 : {false, true})
            for (double factor :
                 {1e-300, 1e-160, 1e-120, 1e-60, 1e-30, 1e-15, 1e-8, 1.0, 1e8, 1e20, 1e60, 1e120, 1e160}) {
                if (f32 && !(factor > 1e-38 && factor < 1e38)) continue;
                Settings settings = {{"kernel", kernel}};
                if (std::string(kernel) == "polynomial") settings.push_back({"coef0", "0"});
                Matrix values;
                const Tried tried = try_kernel(session, times(x, factor), settings, f32, &values);
                if (tried.status == MERCER_E_DATA) continue;
                const std::string what = label(settings, factor, f32 ? "f32" : "f64");
                TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, (what + tried.text).c_str());
                const Matrix scaled = times(x, factor);
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t j = 0; j < n; ++j) {
                        const double right = k(scaled.row(i), scaled.row(j), d);
                        TEST_ASSERT_TRUE_MESSAGE(std::fabs(values(i, j) - right) <= (f32 ? 1e-5 : 1e-12) * right,
                                                 what.c_str());
                    }
            }
}

// ---- objects and sparse rows

void test_objects_and_sparse_rows() {
    Session session;
    const Matrix x = points();
    Matrix distances(n, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) distances(i, j) = std::sqrt(oracle::sqdist(x.row(i), x.row(j), d));
    double sigma = 0;
    for (double factor : {1.0, 1e-300, 1e-200, 1e-100, 1e100, 1e200}) {
        Held held(times(distances, factor));
        const mercer_view view = held.view();
        mercer_data *data = nullptr;
        OK(mercer_data_from_matrix(&data, session.context, &view, MERCER_DISTANCE));
        const Tried tried = try_fit(session, data, {{"kernel", "gaussian"}});
        if (factor == 1) sigma = number_of(tried.model, "/parameters/kernel.sigma");
        expect_right_or_refused(tried, sigma * factor, 1e-9, factor < 1e-150 || factor > 1e140,
                                label({}, factor, "objects"));
        mercer_data_destroy(data);
    }
    std::vector<int64_t> offsets, columns;
    for (int64_t i = 0; i <= n; ++i) offsets.push_back(i * 2);
    for (int64_t i = 0; i < n; ++i) columns.push_back(i % 2), columns.push_back(2);
    for (double factor : {1.0, 1e-300, 1e-200, 1e-100, 1e100, 1e200})
        for (const char *rule : {"median", "scale"}) {
            std::vector<double> values;
            for (int64_t k = 0; k < 2 * n; ++k) values.push_back(x.v[static_cast<size_t>(k)] * factor);
            const mercer_sparse sparse{sizeof sparse, MERCER_CSR,     MERCER_F64,     MERCER_I64,   0, n, d,
                                       2 * n,         offsets.data(), columns.data(), values.data()};
            mercer_data *data = nullptr;
            OK(mercer_data_from_sparse(&data, session.context, &sparse));
            static double right[2];
            const Tried tried = try_fit(session, data, {{"kernel", "gaussian"}, {"bandwidth", rule}});
            double &one = right[*rule == 's'];
            if (factor == 1) one = number_of(tried.model, "/parameters/kernel.sigma");
            expect_right_or_refused(tried, one * factor, 1e-9, factor < 1e-150 || factor > 1e140,
                                    label({}, factor, "sparse"));
            mercer_data_destroy(data);
        }
}

// ---- nearest centres at distances whose squares overflow f64

void test_every_assignment_is_set_or_refused() {
    Session session;
    for (const char *reducer : {"kmeans", "shadow", "farthest", "herding", "thinning", "uniform"})
        for (double factor : {1.0, 1e150, 7e153, 1e160, 1e200, 1e300}) {
            char sigma[32];
            std::snprintf(sigma, sizeof sigma, "%g", factor);
            Settings settings = {
                {"kernel", "gaussian"}, {"sigma", sigma}, {"reducer", reducer}, {"output.assignment", "true"}};
            if (std::string(reducer) != "shadow") settings.push_back({"reducer.m", "3"});
            const Tried tried = try_fit(session, times(points(), factor), settings);
            const std::string what = label(settings, factor) + ": " + tried.text;
            if (tried.status == MERCER_E_DATA) continue;
            TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, what.c_str());
            const double m = static_cast<double>(tried.model.summary().m);
            for (double centre : tried.model.vector("assignment"))
                TEST_ASSERT_TRUE_MESSAGE(centre >= -1 && centre < m, what.c_str());
        }
}

// ---- kernel matrices of zeros

void test_kernel_matrices_of_zeros() {
    Session session;
    const char *reducers[] = {"all",      "farthest",   "given",  "greedy",   "herding", "kmeans",
                              "leverage", "rpcholesky", "shadow", "thinning", "uniform"};
    for (const char *kernel : {"linear", "cosine", "additive-chi2", "histogram-intersection"})
        for (const char *reducer : reducers)
            for (const char *lift : {"weighted", "projected", "extended", "manifold"})
                for (bool f32 : {false, true}) {
                    const bool walks = std::string(lift) == "manifold";
                    if (walks && (*kernel == 'l' || *kernel == 'c')) continue; // negative values: refused by a walk
                    Settings settings = {{"kernel", kernel}, {"reducer", reducer}};
                    if (!walks) settings.push_back({"lift", lift});
                    const std::string name = reducer;
                    if (name == "shadow")
                        settings.push_back({"reducer.epsilon", "0.1"});
                    else if (name != "all" && name != "given")
                        settings.push_back({"reducer.m", "3"});
                    Held held(Matrix(n, d), {f32, false});
                    mercer_data *data = session.data(held);
                    int64_t rows[] = {1, 5};
                    const mercer_view landmarks{sizeof landmarks, MERCER_I64, 0, 2, 1, 1, 1, rows};
                    if (name == "given") OK(mercer_data_attach(data, "landmarks", &landmarks));
                    const Tried tried = try_fit(session, data, settings, walks ? "diffusion" : "kpca");
                    mercer_data_destroy(data);
                    const std::string what = label(settings, 0) + ": " + tried.text;
                    if (tried.status != MERCER_E_DATA) {
                        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, what.c_str());
                        TEST_ASSERT_EQUAL_INT64_MESSAGE(0, tried.model.summary().r, what.c_str());
                        TEST_ASSERT_TRUE_MESSAGE(tried.model.summary().outcome & MERCER_RANK_REACHED, what.c_str());
                    } else {
                        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(tried.text.c_str(), " 0"), what.c_str());
                    }
                }
}

void test_methods_on_zeros() {
    Session session;
    for (const char *method : {"kpca", "auto", "nystrom", "gkpca", "nystrom-full", "subsampled", "rskpca-kmeans",
                               "rskpca-paring", "rskpca-herding", "wnystrom"})
        for (bool f32 : {false, true}) {
            Tried tried = try_fit(session, Matrix(n, d), {{"kernel", "linear"}}, method, {f32, false});
            TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, tried.status, (std::string(method) + ": " + tried.text).c_str());
            TEST_ASSERT_EQUAL_INT64_MESSAGE(0, tried.model.summary().r, method);
            // Also derives models with one centre.
            for (const char *reducer : {"rpcholesky", "greedy", "uniform", "kmeans"}) {
                if (tried.model.summary().m < 2) continue;
                mercer_recipe *recipe = session.recipe("compress", {{"reducer", reducer}, {"reducer.m", "1"}});
                Model less;
                const int32_t status =
                    mercer_model_derive(&less.handle, recipe, &tried.model.handle, 1, nullptr, nullptr);
                mercer_recipe_destroy(recipe);
                TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, status, mercer_last_error());
                TEST_ASSERT_EQUAL_INT64(1, less.summary().m);
                TEST_ASSERT_EQUAL_INT64(0, less.summary().r);
            }
        }
    // The requested mse is reached before the first centre is selected; the model must have one
    // nevertheless.
    const Tried one = try_fit(session, points(), {{"kernel", "linear"}, {"reducer.mse", "1e9"}}, "gkpca");
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, one.status, one.text.c_str());
    TEST_ASSERT_EQUAL_INT64(1, one.model.summary().m);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_bandwidths_scale_as_the_data_do);
    RUN_TEST(test_a_row_far_away);
    RUN_TEST(test_statistics_of_slabs);
    RUN_TEST(test_kernel_values_do_not_see_the_unit);
    RUN_TEST(test_small_values);
    RUN_TEST(test_objects_and_sparse_rows);
    RUN_TEST(test_every_assignment_is_set_or_refused);
    RUN_TEST(test_kernel_matrices_of_zeros);
    RUN_TEST(test_methods_on_zeros);
    return UNITY_END();
}
