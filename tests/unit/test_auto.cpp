// Tests of the method `auto`, which must certify the requested accuracy and reach it, and of the
// ways to choose the number of components.
#include "session.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace {

Matrix clusters(int64_t n, int64_t d, int64_t count, uint64_t seed) {
    oracle::Numbers numbers(seed);
    Matrix centres = numbers.matrix(count, d, -4, 4), x(n, d);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t c = static_cast<int64_t>(numbers.uniform() * static_cast<double>(count));
        for (int64_t k = 0; k < d; ++k) x(i, k) = centres(c, k) + 0.5 * (numbers() + numbers());
    }
    return x;
}

void check_accuracy(Session &session, const Matrix &x, Layout layout, const char *accuracy, double allowed,
                    const char *strategy, const Vector &weights = {}) {
    const Settings base = {{"sigma", "2"}, {"components", "6"}};
    Settings asked = base;
    asked.emplace_back("accuracy", accuracy);
    const Vector exact = session.fit(x, base, weights).vector("lambda");
    Model model = session.fit(x, asked, weights, layout, "auto");
    const Vector found = model.vector("lambda");
    TEST_ASSERT_EQUAL_STRING(strategy, info(model, "/strategy/taken").c_str());
    for (size_t j = 0; j < exact.size(); ++j) TEST_ASSERT_DOUBLE_WITHIN(allowed * exact[j], exact[j], found[j]);
}

void test_accuracy_is_kept() {
    Session session;
    check_accuracy(session, clusters(150, 4, 8, 1), {}, "0.01", 0.01, "exact");
    check_accuracy(session, clusters(9000, 3, 8, 2), {}, "0.05", 0.05, "projected");
    check_accuracy(session, clusters(9000, 3, 8, 2), {true, false}, "0.05", 0.05, "projected");
    Matrix slow = oracle::Numbers(7).matrix(3000, 8); // a slowly decaying spectrum: no small factor suffices
    for (double &value : slow.v) value *= 8;
    check_accuracy(session, slow, {}, "0.01", 0.01, "exact");
    Vector weights(9000);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 4);
    check_accuracy(session, clusters(9000, 3, 8, 2), {}, "0.05", 0.05, "projected", weights);
}

void test_indefinite_is_refused() {
    Session session;
    Matrix x = clusters(60, 2, 3, 3);
    Held held(x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("auto", {{"kernel", "user"}});
    auto tile = [](void *, const mercer_view *a, const mercer_view *b, const mercer_view *k) -> int32_t {
        for (int64_t i = 0; i < k->rows; ++i)
            for (int64_t j = 0; j < k->cols; ++j)
                static_cast<double *>(k->data)[i * k->row_stride + j] =
                    -oracle::sqdist(static_cast<double *>(a->data) + i * a->row_stride,
                                    static_cast<double *>(b->data) + j * b->row_stride, a->cols);
        return 0;
    };
    mercer_user_kernel kernel{sizeof kernel, 0, 0, tile, nullptr, nullptr};
    OK(mercer_recipe_set_kernel(recipe, &kernel));
    Model model;
    TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, mercer_model_fit(&model.handle, recipe, data, nullptr));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "kernel = user"));
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

void test_accuracy_is_checked() {
    Session session;
    mercer_recipe *recipe = session.recipe("auto", {});
    for (const char *value : {"0", "-0.1", "nan", "1.5"}) {
        TEST_ASSERT_NOT_EQUAL(MERCER_OK, mercer_recipe_set(recipe, "accuracy", value));
        TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "accuracy"));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "must be"), mercer_last_error());
    }
    mercer_recipe_destroy(recipe);
    // An accuracy that an f32 factor cannot certify must lead to exact passes, and the report must
    // say why.
    const Matrix x = clusters(3000, 3, 8, 4);
    const Settings fine = {{"sigma", "2"}, {"components", "3"}, {"accuracy", "1e-5"}};
    const Model rough = session.fit(x, fine, {}, {true, false}, "auto");
    TEST_ASSERT_EQUAL_STRING("exact", info(rough, "/strategy/taken").c_str());
    TEST_ASSERT_NOT_NULL(std::strstr(info(rough, "/strategy/why").c_str(), "f32"));
}

// If eigenvalues are near the rounding errors of f32, exact passes over f32 data must use f64 to
// certify the accuracy. If f32 storage is requested, it is kept, and the report must say that the
// accuracy is not certified.
void test_exact_road_is_proved() {
    Session session;
    const Matrix x = oracle::Numbers(8).matrix(1500, 16, -4, 4);
    const double accuracy = 0.01;
    Settings settings = {{"sigma", "60"}, {"components", "50"}, {"accuracy", "0.01"}};
    const Model wide = session.fit(x, settings, {}, {true, false}, "auto");
    TEST_ASSERT_EQUAL_STRING("exact", info(wide, "/strategy/taken").c_str());
    TEST_ASSERT_FALSE(wide.summary().outcome & MERCER_NOT_CONVERGED);
    int64_t bounded = 0;
    for (const auto &entry : nlohmann::json::parse(info(wide, "/certificates"))) {
        const double value = entry["value"], lower = entry["lower"], upper = entry["upper"];
        TEST_ASSERT_TRUE(std::max(upper - value, value - lower) <= accuracy * lower);
        ++bounded;
    }
    TEST_ASSERT_EQUAL_INT64(50, bounded);

    settings.emplace_back("gram.storage", "f32");
    const Model narrow = session.fit(x, settings, {}, {true, false}, "auto");
    TEST_ASSERT_TRUE(narrow.summary().outcome & MERCER_NOT_CONVERGED);
    TEST_ASSERT_NOT_NULL(std::strstr(info(narrow, "/strategy/why").c_str(), "residuals certify"));
    settings.emplace_back("solver.strict", "true");
    Held held(x, {true, false});
    mercer_data *data = session.data(held);
    mercer_recipe *strict = session.recipe("auto", settings);
    Model none;
    TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL, mercer_model_fit(&none.handle, strict, data, nullptr));
    mercer_recipe_destroy(strict);
    mercer_data_destroy(data);
}

// Tests odd data: all points equal, one point, two points, duplicates, fewer dimensions than
// components. The model must be usable and state its rank.
void test_odd_data() {
    Session session;
    Matrix many(4000, 2), two(2, 2), line(6000, 1);
    two(1, 0) = 1;
    for (int64_t i = 0; i < many.rows; ++i) // 20 distinct points, 2 apart on a grid
        many(i, 0) = static_cast<double>(2 * (i % 5)), many(i, 1) = static_cast<double>(2 * (i / 5 % 4));
    for (int64_t i = 0; i < line.rows; ++i) line(i, 0) = static_cast<double>(i % 100) - 50;
    struct Case {
        Matrix x;
        const char *kernel;
        int64_t r;
    };
    for (const Case &odd :
         {Case{Matrix(300, 2), "gaussian", 0}, Case{Matrix(9000, 2), "gaussian", 0}, Case{Matrix(1, 2), "gaussian", 0},
          Case{two, "gaussian", 1}, Case{many, "gaussian", 19}, Case{line, "linear", 1}}) {
        for (bool f32 : {false, true}) {
            Settings settings = {{"kernel", odd.kernel}, {"components", "40"}};
            if (std::strcmp(odd.kernel, "gaussian") == 0) settings.emplace_back("sigma", "1");
            const Model model = session.fit(odd.x, settings, {}, {f32, false}, "auto");
            TEST_ASSERT_EQUAL_INT64(odd.r, model.summary().r);
            TEST_ASSERT_TRUE(model.summary().outcome & MERCER_RANK_REACHED);
            const Matrix z = session.apply(model, odd.x, "scores", {f32, false});
            TEST_ASSERT_EQUAL_INT64(odd.r, z.cols);
            for (double value : z.v) TEST_ASSERT_TRUE(std::isfinite(value));
            // The scores of the rows must have the variances that the model states.
            const Vector lambda = model.vector("lambda");
            for (int64_t j = 0; j < odd.r; ++j) {
                double square = 0;
                for (int64_t i = 0; i < z.rows; ++i) square += z(i, j) * z(i, j) / static_cast<double>(z.rows);
                const double size = lambda[static_cast<size_t>(j)];
                TEST_ASSERT_DOUBLE_WITHIN(0.01 * size + (f32 ? 1e-5 : 1e-9) * lambda[0], size, square);
            }
        }
    }
}

// Checks the report of a projected strategy: each eigenvalue and its true value must lie between
// the bounds, theta must not exceed the true value, and each subspace must have a bound of its
// angle.
void test_report() {
    Session session;
    const Matrix x = clusters(9000, 3, 8, 2);
    const Settings base = {{"sigma", "2"}, {"components", "6"}};
    Settings asked = base;
    asked.emplace_back("accuracy", "0.02");
    const Vector exact = session.fit(x, base).vector("lambda");
    const Model model = session.fit(x, asked, {}, {}, "auto");
    const std::string why = info(model, "/strategy/why");
    TEST_ASSERT_TRUE(why.find("projection on") == 0 && why.find("% (2 % requested), by ") != why.npos);
    const auto entries = nlohmann::json::parse(info(model, "/certificates"));
    size_t values = 0, angles = 0;
    for (const auto &entry : entries) {
        if (entry["name"] == "subspace") angles += entry["value"] > 0 && entry["value"] <= 1;
        if (entry["name"] != "eigenvalue") continue;
        const double lower = entry["lower"], upper = entry["upper"], value = entry["value"], theta = entry["theta"];
        const double truth = exact[values++], rounding = 1e-9 * exact[0];
        TEST_ASSERT_TRUE(theta <= truth + rounding && lower <= value && value <= upper);
        TEST_ASSERT_TRUE(lower <= truth + rounding && truth <= upper + rounding);
        TEST_ASSERT_TRUE(upper - lower <= 2 * 0.02 * upper);
        TEST_ASSERT_TRUE(entry["probability"] >= 0.999);
    }
    TEST_ASSERT_EQUAL_size_t(6, values);
    TEST_ASSERT_EQUAL_size_t(6, angles);
    const mercer_run one = with_threads(1), eight = with_threads(8);
    const Model a = session.fit(x, asked, {}, {}, "auto", &one), b = session.fit(x, asked, {}, {}, "auto", &eight);
    for (const char *name : {"C", "A", "b", "lambda", "nu"}) expect_same_bits(a.vector(name), b.vector(name), name);
}

// A budget in which a factor fits, but not the matrix that exact passes are told to store.
struct Tight {
    mercer_run run = with_threads(2);
    Settings settings = {{"sigma", "2"}, {"components", "6"}, {"gram.storage", "f64"}};
    Tight() { run.memory = int64_t{24} << 20; }
};

int32_t fit_status(Session &session, const Matrix &x, const Settings &settings, const mercer_run &run, Model &model) {
    Held held(x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("auto", settings);
    const int32_t status = mercer_model_fit(&model.handle, recipe, data, &run);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    return status;
}

void test_no_exact_road() {
    Session session;
    const Tight tight;
    auto with = [&](const char *accuracy, const char *strict) {
        Settings out = tight.settings;
        out.insert(out.end(), {{"accuracy", accuracy}, {"solver.strict", strict}});
        return out;
    };
    const Matrix easy = clusters(4000, 3, 8, 2);
    Matrix slow = oracle::Numbers(7).matrix(4000, 8);
    for (double &value : slow.v) value *= 8;

    Model proved;
    OK(fit_status(session, easy, with("0.05", "true"), tight.run, proved));
    TEST_ASSERT_EQUAL_STRING("projected", info(proved, "/strategy/taken").c_str());
    TEST_ASSERT_EQUAL_UINT32(0, proved.summary().outcome);
    const Vector exact = session.fit(easy, {{"sigma", "2"}, {"components", "6"}}).vector("lambda"),
                 found = proved.vector("lambda");
    for (size_t j = 0; j < exact.size(); ++j) TEST_ASSERT_DOUBLE_WITHIN(0.05 * exact[j], exact[j], found[j]);

    // If the accuracy cannot be certified, the fit must return a usable model that says so and
    // whose bounds hold. With solver.strict it must fail.
    Model short_of;
    OK(fit_status(session, slow, with("0.01", "false"), tight.run, short_of));
    TEST_ASSERT_EQUAL_UINT32(MERCER_NOT_CONVERGED, short_of.summary().outcome);
    TEST_ASSERT_EQUAL_STRING("projected", info(short_of, "/strategy/taken").c_str());
    TEST_ASSERT_NOT_NULL(
        std::strstr(info(short_of, "/strategy/why").c_str(), "exact passes do not fit in the memory budget"));
    const Vector truth = session.fit(slow, {{"sigma", "2"}, {"components", "6"}}).vector("lambda");
    size_t values = 0;
    for (const auto &entry : nlohmann::json::parse(info(short_of, "/certificates"))) {
        if (entry["name"] != "eigenvalue") continue;
        const double exact_value = truth[values++];
        TEST_ASSERT_TRUE(entry["lower"] <= exact_value * (1 + 1e-9) && exact_value <= entry["upper"]);
    }
    TEST_ASSERT_EQUAL_size_t(6, values);
    TEST_ASSERT_EQUAL_INT64(6, session.apply(short_of, slow).cols);
    Model none;
    TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL, fit_status(session, slow, with("0.01", "true"), tight.run, none));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "certif"));

    Settings linear = with("0.01", "true");
    linear[0] = {"kernel", "linear"};
    Model zero;
    OK(fit_status(session, Matrix(4000, 3), linear, tight.run, zero));
    TEST_ASSERT_EQUAL_UINT32(MERCER_RANK_REACHED, zero.summary().outcome);
    TEST_ASSERT_EQUAL_INT64(0, zero.summary().r);
}

// If a fit is refused, the memory that the error names as needed must suffice, and 2 KiB less must
// not. A fit without a budget takes the projected strategy; with 1.3 times its peak memory as the
// budget, it must take it again.
void test_budgets_are_used() {
    Session session;
    Held held(clusters(20000, 16, 20, 9), {true, false});
    mercer_data *data = session.data(held);
    auto asked = [](const char *components) {
        return Settings{{"components", components}, {"gram.storage", "f64"}}; // the matrix exceeds these budgets
    };
    for (const char *components : {"10", "100"}) {
        mercer_recipe *recipe = session.recipe("auto", asked(components));
        mercer_run run = with_threads(2);
        run.memory = int64_t{4} << 20;
        mercer_forecast forecast{};
        forecast.struct_size = sizeof forecast;
        TEST_ASSERT_EQUAL_INT(MERCER_E_BUDGET, mercer_recipe_forecast(recipe, data, &run, &forecast));
        const std::string text = mercer_last_error();
        const double named = std::atof(text.c_str() + text.find("need ") + 5);
        run.memory = static_cast<int64_t>(named * 0x1p20) + 1; // the error prints three decimals
        OK(mercer_recipe_forecast(recipe, data, &run, &forecast));
        run.memory -= 2048;
        TEST_ASSERT_EQUAL_INT(MERCER_E_BUDGET, mercer_recipe_forecast(recipe, data, &run, &forecast));
        mercer_recipe_destroy(recipe);
    }
    const Model free = session.fit(data, {{"components", "10"}}, "auto");
    TEST_ASSERT_EQUAL_STRING("projected", info(free, "/strategy/taken").c_str());
    mercer_run run = with_threads(2);
    run.memory = static_cast<int64_t>(1.3 * std::atof(info(free, "/peak_bytes").c_str()));
    for (const Settings &settings : {Settings{{"components", "10"}}, asked("10")}) {
        const Model tight = session.fit(data, settings, "auto", &run);
        TEST_ASSERT_EQUAL_STRING("projected", info(tight, "/strategy/taken").c_str());
        TEST_ASSERT_EQUAL_UINT32(0, tight.summary().outcome);
    }
    mercer_data_destroy(data);
}

// If a share of the variance needs more eigenpairs than fit in memory, the fit must stop there and
// say so.
void test_components_end_with_memory() {
    Session session;
    const Matrix x = oracle::Numbers(3).matrix(2500, 6);
    const Settings asked = {{"kernel", "laplacian"}, {"sigma", "0.3"}, {"components", "0"}, {"variance", "0.9"}};
    mercer_run run = with_threads(2);
    run.memory = int64_t{110} << 20;
    const Model model = session.fit(x, asked, {}, {}, "kpca", &run);
    TEST_ASSERT_EQUAL_UINT32(MERCER_NOT_CONVERGED, model.summary().outcome & MERCER_NOT_CONVERGED);
    TEST_ASSERT_NOT_NULL(std::strstr(info(model, "/stopped").c_str(), "memory budget"));
    const Vector lambda = model.vector("lambda");
    double sum = 0;
    for (double value : lambda) sum += value;
    TEST_ASSERT_TRUE(lambda.size() >= 64 && sum < 0.9 * model.summary().total_variance);
}

int64_t components_of(Session &session, const Matrix &x, const Settings &settings, const char *method = "kpca") {
    return session.fit(x, settings, {}, {}, method).summary().r;
}

void test_components() {
    Session session;
    Matrix x = clusters(1200, 4, 7, 5);
    Model all = session.fit(x, {{"sigma", "2"}, {"components", "60"}});
    const Vector lambda = all.vector("lambda");
    const double total = all.summary().total_variance;
    for (double share : {0.5, 0.9}) {
        double sum = 0;
        int64_t needed = 0;
        while (sum < share * total) sum += lambda[static_cast<size_t>(needed++)];
        const Settings asked = {{"sigma", "2"}, {"components", "200"}, {"variance", share == 0.5 ? "0.5" : "0.9"}};
        TEST_ASSERT_EQUAL_INT64(needed, components_of(session, x, asked));
        Settings dense = asked;
        dense.emplace_back("solver", "dense");
        TEST_ASSERT_EQUAL_INT64(needed, components_of(session, x, dense));
    }
    int64_t above = 0;
    while (lambda[static_cast<size_t>(above)] >= 0.05 * lambda[0]) ++above;
    TEST_ASSERT_EQUAL_INT64(above,
                            components_of(session, x, {{"sigma", "2"}, {"components", "200"}, {"threshold", "0.05"}}));
    TEST_ASSERT_EQUAL_INT64(2, components_of(session, x, {{"sigma", "2"}, {"components", "2"}, {"variance", "0.9"}}));
    // With components = 0, error bars decide: the six directions between seven clusters must be
    // kept, and not many more.
    Model chosen = session.fit(x, {{"sigma", "2"}, {"components", "0"}});
    TEST_ASSERT_TRUE(chosen.summary().r >= 6 && chosen.summary().r <= 40);
    for (int64_t j = 0; j < 6; ++j) {
        const double lower = std::atof(info(chosen, ("/error_bars/lower/" + std::to_string(j)).c_str()).c_str()),
                     upper = std::atof(info(chosen, ("/error_bars/upper/" + std::to_string(j)).c_str()).c_str());
        TEST_ASSERT_TRUE(lower < lambda[static_cast<size_t>(j)] && lambda[static_cast<size_t>(j)] < upper);
    }
    TEST_ASSERT_TRUE(components_of(session, x, {{"sigma", "2"}, {"components", "0"}, {"m", "100"}}, "nystrom") >= 6);
    // The first solve computes 24 eigenpairs. If a share of the variance needs more of them, all
    // methods must find nearly the same number, also with error bars.
    const Settings most = {{"sigma", "2"}, {"components", "0"}, {"variance", "0.99"}, {"report.bootstrap", "20"}};
    const int64_t needed = components_of(session, x, most);
    TEST_ASSERT_TRUE(needed > 24);
    Settings given = most;
    given.insert(given.end(), {{"m", "600"}, {"reducer", "rpcholesky"}});
    TEST_ASSERT_INT64_WITHIN(3, needed, components_of(session, x, given, "nystrom"));
    TEST_ASSERT_INT64_WITHIN(3, needed, components_of(session, x, most, "auto"));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_accuracy_is_kept);
    RUN_TEST(test_indefinite_is_refused);
    RUN_TEST(test_accuracy_is_checked);
    RUN_TEST(test_exact_road_is_proved);
    RUN_TEST(test_odd_data);
    RUN_TEST(test_report);
    RUN_TEST(test_no_exact_road);
    RUN_TEST(test_budgets_are_used);
    RUN_TEST(test_components);
    RUN_TEST(test_components_end_with_memory);
    return UNITY_END();
}
