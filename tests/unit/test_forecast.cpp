// Compares the forecasts of fits with what the fits needed, for methods, storages, types, shapes
// and budgets. No figure may exceed its bound `most`, and where the shape alone decides
// (likely = most), at least 90 % of it must be needed. For usual data, the passes must be within a
// factor of 2 of the likely number. A budget of bytes.most must be enough. MERCER_SHOW=1 prints all
// figures.
#include "session.h"

#include <atomic>

namespace {

double number(const Model &model, const std::string &path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path.c_str(), &text));
    return std::strtod(text, nullptr);
}

struct Case {
    std::string name;
    const char *method;
    Settings settings;
    bool usual = true; // the passes must be within a factor of 2 of the likely number
};

mercer_run budget_of(int64_t memory) {
    mercer_run run = with_threads(2);
    run.memory = memory;
    return run;
}

void expect_figure(const Model &model, const Case &c, const char *name) {
    const std::string at = std::string("/forecast/") + name;
    const double likely = number(model, at + "/likely"), most = number(model, at + "/most"),
                 happened = number(model, at + "/happened");
    char text[240];
    std::snprintf(text, sizeof text, "%s: %s likely %.4g, at most %.4g, happened %.4g", c.name.c_str(), name, likely,
                  most, happened);
    if (std::getenv("MERCER_SHOW")) std::printf("%s\n", text);
    TEST_ASSERT_TRUE_MESSAGE(likely <= most && happened <= most, text);
    if (likely == most) TEST_ASSERT_TRUE_MESSAGE(happened >= 0.9 * most, text);
    if (std::string(name) != "passes" || !std::strcmp(c.method, "auto") || !c.usual) return;
    TEST_ASSERT_TRUE_MESSAGE(happened >= likely / 2 && happened <= 2 * likely, text);
}

void compare(Session &session, mercer_data *data, const Case &c, int64_t memory = 0) {
    const mercer_run run = budget_of(memory);
    const Model model = session.fit(data, c.settings, c.method, &run);
    expect_figure(model, c, "bytes");
    expect_figure(model, c, "kernel_evaluations");
    expect_figure(model, c, "passes");
    expect_figure(model, c, "flops");
    if (memory > 0) TEST_ASSERT_TRUE(number(model, "/peak_bytes") <= static_cast<double>(memory));
}

// Fits with the default budget, and again with a budget of the forecast bytes.most.
void compare_within_most(Session &session, mercer_data *data, const Case &c) {
    mercer_recipe *recipe = session.recipe(c.method, c.settings);
    const mercer_run run = budget_of(0);
    mercer_forecast ahead{};
    ahead.struct_size = sizeof ahead;
    OK(mercer_recipe_forecast(recipe, data, &run, &ahead));
    TEST_ASSERT_TRUE(std::strlen(ahead.strategy) > 0);
    mercer_recipe_destroy(recipe);
    compare(session, data, c);
    compare(session, data, c, static_cast<int64_t>(ahead.bytes.most));
}

Settings with(Settings settings, const Settings &more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

void test_table() {
    Session session;
    for (int64_t n : {500, 1500, 6000})
        for (int64_t d : {3, 200})
            for (bool f32 : {false, true}) {
                Held held(oracle::clusters(n, d, 0.5), {f32, n == 1500});
                mercer_data *data = session.data(held);
                const std::string shape =
                    "n = " + std::to_string(n) + ", d = " + std::to_string(d) + (f32 ? ", f32" : ", f64");
                const Settings base = {{"kernel.sigma", "3"}, {"output.components", "8"}};
                for (const char *storage : {"auto", "f64", "f32", "stream"})
                    compare(session, data, {shape + " " + storage, "kpca", with(base, {{"gram.storage", storage}})});
                for (const char *method : {"subsampled", "nystrom", "gkpca"})
                    for (const char *reducer : {"uniform", "greedy", "rpcholesky"})
                        compare(session, data,
                                {shape + " " + method + " " + reducer, method,
                                 with(base, {{"reducer", reducer}, {"reducer.m", "200"}})});
                compare(session, data, {shape + " auto", "auto", base});
                mercer_data_destroy(data);
            }
}

// Compares forecasts with fits for weighted, sparse and dense data and for objects, centred or not,
// and within a budget.
void test_kinds_of_data() {
    Session session;
    constexpr int64_t n = 1200, d = 5;
    const Matrix x = oracle::clusters(n, d, 0.5);
    const auto all = [&](const std::string &name, mercer_data *data, bool vectors) {
        for (const char *centred : {"true", "false"}) {
            const Settings base = {{"kernel.sigma", "3"}, {"lift.centred", centred}};
            for (const char *solver : {"dense", "block-krylov", "orthogonal"})
                compare(session, data, {name + " " + solver, "kpca", with(base, {{"solver", solver}})});
            if (!vectors) continue;
            compare(session, data,
                    {name + " rows", "nystrom", with(base, {{"reducer.m", "150"}, {"report.certificates", "rows"}})});
            compare(session, data,
                    {name + " passes", "nystrom",
                     with(base, {{"reducer.m", "150"}, {"report.certificates", "none"}, {"components", "3"}}), false});
            compare(session, data,
                    {name + " stop", "gkpca", with(base, {{"reducer.m", "600"}, {"reducer.trace", "0.1"}}), false});
            compare(session, data,
                    {name + " stop", "subsampled",
                     with(base, {{"reducer", "greedy"}, {"reducer.m", "1100"}, {"reducer.trace", "0.1"}}), false});
            compare(session, data, {name + " variance", "kpca", with(base, {{"output.variance", "0.9"}})});
            compare(session, data, {name + " tight", "kpca", base}, int64_t{11} << 20);
        }
        mercer_data_destroy(data);
    };
    Held held(x);
    all("dense", session.data(held), true);

    Matrix weights(n, 1);
    for (int64_t i = 0; i < n; ++i) weights(i, 0) = i % 5 == 0 ? 0 : 1 + static_cast<double>(i % 3);
    Held column(weights);
    const mercer_view view = column.view();
    mercer_data *weighted = session.data(held);
    OK(mercer_data_attach(weighted, "weights", &view));
    all("weighted", weighted, true);

    std::vector<int64_t> offsets, columns;
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
        offsets.push_back(static_cast<int64_t>(values.size()));
        for (int64_t k = i % 2; k < d; k += 2) columns.push_back(k), values.push_back(x(i, k));
    }
    offsets.push_back(static_cast<int64_t>(values.size()));
    const mercer_sparse sparse{sizeof sparse,  MERCER_CSR,     MERCER_F64,     MERCER_I64,   0, n, d,
                               offsets.back(), offsets.data(), columns.data(), values.data()};
    mercer_data *rows = nullptr;
    OK(mercer_data_from_sparse(&rows, session.context, &sparse));
    all("sparse", rows, false);

    mercer_objects objects{};
    objects.struct_size = sizeof objects;
    objects.rows = n;
    objects.values = MERCER_DISTANCE;
    objects.flags = MERCER_THREAD_SAFE;
    objects.user = const_cast<Matrix *>(&x);
    objects.pairs = [](void *user, const int64_t *i, const int64_t *j, int64_t count, double *out) -> int32_t {
        const Matrix &points = *static_cast<const Matrix *>(user);
        for (int64_t k = 0; k < count; ++k) {
            double sum = 0;
            for (int64_t c = 0; c < points.cols; ++c)
                sum += (points(i[k], c) - points(j[k], c)) * (points(i[k], c) - points(j[k], c));
            out[k] = std::sqrt(sum);
        }
        return 0;
    };
    mercer_data *pairs = nullptr;
    OK(mercer_data_from_objects(&pairs, session.context, &objects));
    all("objects", pairs, false);
}

// Draws shapes, among them small and wide ones, and methods at random. Each fit is repeated with a
// budget of the forecast bytes.most.
void test_any_shape() {
    Session session;
    oracle::Numbers numbers(11);
    auto one_of = [&](const std::vector<const char *> &from) {
        return std::string(from[static_cast<size_t>(numbers.uniform() * static_cast<double>(from.size()))]);
    };
    int shapes = 0;
    while (shapes < 150) {
        const int64_t n = std::stoll(one_of({"1", "2", "5", "10", "40", "200", "300", "600", "900", "1200", "2000"})),
                      d = std::stoll(one_of({"1", "4", "16", "100", "500", "1000", "2000"}));
        if (n * d > 600'000) continue;
        ++shapes;
        const bool f32 = shapes % 3 == 0;
        const std::string method = one_of({"kpca", "subsampled", "nystrom", "gkpca", "auto"}),
                          kernel = one_of({"gaussian", "laplacian", "linear", "gaussian+linear"});
        Settings settings = {{"kernel", kernel}, {"components", std::to_string(std::min<int64_t>(n, 5))}};
        if (shapes % 2 == 0 && kernel != "linear")
            settings.push_back({kernel == "gaussian+linear" ? "kernel.1.bandwidth" : "kernel.bandwidth", "mean"});
        if (method == "kpca" && shapes % 4 == 0) settings.push_back({"solver", one_of({"dense", "orthogonal"})});
        if (method == "kpca" && shapes % 5 == 0) settings.push_back({"gram.storage", one_of({"f64", "f32", "stream"})});
        if (method != "kpca" && method != "auto") {
            settings.push_back({"reducer", one_of({"uniform", "greedy", "rpcholesky"})});
            settings.push_back({"reducer.m", std::to_string(std::min(n, int64_t{8} << shapes % 6))});
        }
        std::string name = method + " " + std::to_string(n) + " x " + std::to_string(d) + (f32 ? " f32" : " f64");
        for (const auto &[key, value] : settings) name += " " + key + "=" + value;
        Held held(oracle::clusters(n, d, 0.5), {f32, false});
        mercer_data *data = session.data(held);
        // Passes are not compared: with one column, the start vectors may already be accurate, and
        // the iteration then ends at once.
        compare_within_most(session, data, {name, method.c_str(), settings, false});
        mercer_data_destroy(data);
    }
}

// Checks lifts other than the weighted and the projected one, and reducers whose centres represent
// rows, with their assignment and certificates. At the smaller size, certificates = exact also
// measures the true errors.
void test_lifts() {
    Session session;
    for (int64_t n : {700, 2600})
        for (bool f32 : {false, true}) {
            Held held(oracle::clusters(n, 6, 0.5), {f32, false});
            mercer_data *data = session.data(held);
            const Settings base = {{"kernel.sigma", "2"}, {"output.components", "5"}};
            const Settings some = with(base, {{"reducer", "rpcholesky"}, {"reducer.m", "120"}});
            const std::string size = std::to_string(n) + (f32 ? " f32 " : " f64 ");
            auto all = [&](const char *method, const char *name, const Settings &settings) {
                compare_within_most(session, data, {size + method + " " + name, method, settings, false});
            };
            all("nystrom-full", "", some);
            all("nystrom-full", "uncentred", with(some, {{"lift.centred", "false"}}));
            all("nystrom-full", "ritz", with(some, {{"lift.ritz", "20"}}));
            all("subsampled", "ritz", with(some, {{"lift.ritz", "20"}}));
            for (const char *certificates : {"none", "cheap", "exact"}) {
                const Settings proved = with(base, {{"report.certificates", certificates}});
                all("subsampled", certificates, with(proved, {{"reducer.m", "80"}, {"reducer.weights", "voronoi"}}));
                all("rskpca", certificates, with(proved, {{"reducer.epsilon", "2.5"}}));
                all("rskpca", certificates, with(proved, {{"reducer.m", "60"}}));
            }
            for (const char *method : {"rskpca-kmeans", "rskpca-paring", "rskpca-herding", "wnystrom"})
                all(method, "", with(base, {{"reducer.m", "60"}}));
            for (const char *reducer : {"farthest", "leverage", "thinning", "herding", "greedy"})
                all("subsampled", reducer, with(base, {{"reducer", reducer}, {"reducer.m", "64"}}));
            for (const char *method : {"diffusion", "laplacian-eigenmaps", "ncut"}) {
                all(method, "", base);
                all(method, "reduced", with(base, {{"reducer", "uniform"}, {"reducer.m", "150"}}));
            }
            mercer_data_destroy(data);
        }
}

// If the landmarks are points instead of rows, their kernel columns are recomputed in each pass
// over the rows.
void test_given_points() {
    Session session;
    Held held(oracle::clusters(1500, 6, 0.5)), points(oracle::clusters(60, 6, 0.4));
    mercer_data *data = session.data(held);
    const mercer_view view = points.view();
    OK(mercer_data_attach(data, "landmarks", &view));
    for (const char *method : {"gkpca", "nystrom"})
        compare(session, data, {"points", method, {{"reducer", "given"}, {"kernel.sigma", "3"}}});
    mercer_data_destroy(data);
}

// With so many rows, the start vectors come from pivots of a sample, and their columns are computed
// twice. The matrix is stored and computed once.
void test_sampled_start() {
    Session session;
    Held held(oracle::clusters(16500, 2, 0.5), {true, false});
    mercer_data *data = session.data(held);
    compare(session, data, {"sampled start", "kpca", {{"sigma", "3"}, {"components", "3"}, {"gram.storage", "f32"}}});
    mercer_data_destroy(data);
}

// Checks the method auto on data whose variance a few hundred rows span: the kernel values that the
// fit needs must be within a factor of 3 of the forecast for the strategy that it takes.
void test_auto_is_foreseen() {
    Session session;
    oracle::Numbers numbers(4);
    Matrix normal(20000, 16), even = numbers.matrix(20000, 8);
    for (double &value : normal.v) value = numbers() + numbers() + numbers();
    for (const Matrix &x : {normal, even})
        for (const char *accuracy : {"0.01", "0.003"}) {
            Held held(x, {true, false});
            mercer_data *data = session.data(held);
            const Model model = session.fit(data, {{"accuracy", accuracy}}, "auto");
            const double happened = number(model, "/forecast/kernel_evaluations/happened"),
                         likely = number(model, "/forecast/kernel_evaluations/likely");
            char text[120];
            std::snprintf(text, sizeof text, "accuracy %s: likely %.3g, happened %.3g", accuracy, likely, happened);
            TEST_ASSERT_TRUE_MESSAGE(happened <= 3 * likely && likely <= 3 * happened, text);
            const char *strategy = nullptr;
            OK(mercer_model_info(model.handle, "/forecast/strategy", &strategy));
            TEST_ASSERT_EQUAL_STRING("projected", strategy);
            // At most 512 MiB: the bound must not just be the whole budget.
            TEST_ASSERT_TRUE(number(model, "/forecast/bytes/most") < 0x1p29);
            mercer_data_destroy(data);
        }
}

// With more components, the forecast must expect a larger factor, and more time for its
// eigenproblem, which cannot be cancelled.
void test_auto_foresees_components() {
    Session session;
    Held held(oracle::clusters(30000, 16), {true, false});
    mercer_data *data = session.data(held);
    for (const char *components : {"10", "100"}) {
        mercer_recipe *recipe = session.recipe("auto", {{"components", components}, {"kernel.sigma", "4"}});
        mercer_forecast ahead{};
        ahead.struct_size = sizeof ahead;
        OK(mercer_recipe_forecast(recipe, data, nullptr, &ahead));
        mercer_recipe_destroy(recipe);
        const double m = std::max(192.0, 2 * std::atof(components) + 20);
        TEST_ASSERT_TRUE(ahead.kernel_evaluations.likely >= 30000 * m);
        TEST_ASSERT_TRUE(ahead.dense_seconds >= 4.0 / 3 * m * m * m / 1e10);
    }
    mercer_data_destroy(data);
}

// If the rank of the factor is less than m, flops must be counted by the rank.
void test_flops_of_less_rank() {
    Session session;
    Held held(oracle::clusters(3000, 4));
    mercer_data *data = session.data(held);
    const Model model =
        session.fit(data, {{"kernel", "linear"}, {"reducer.m", "200"}, {"reducer", "uniform"}}, "nystrom");
    TEST_ASSERT_TRUE(number(model, "/rank") <= 4);
    // The likely flops are 2 n m^2 = 2.4e8 for the factor and 5.6e7 for kernel values, most of them
    // for pairs that the certificate samples. At rank 4, almost only the latter remain.
    TEST_ASSERT_TRUE(number(model, "/forecast/flops/happened") <= 0.3 * number(model, "/forecast/flops/likely"));
    mercer_data_destroy(data);
}

// The fit must ask a user kernel for as many values as it reports, except for k(x, x) of the rows:
// these are the diagonals of blocks of 16 x 16 values, so that the kernel computes 16 for each row.
void test_values_are_counted() {
    Session session;
    constexpr int64_t n = 2000;
    Held held(oracle::clusters(n, 4));
    mercer_data *data = session.data(held);
    for (const char *memory : {"0", "6291456"}) {
        std::atomic<int64_t> asked{0};
        mercer_user_kernel kernel{};
        kernel.struct_size = sizeof kernel;
        kernel.flags = MERCER_THREAD_SAFE | MERCER_PSD;
        kernel.user = &asked;
        kernel.tile = [](void *user, const mercer_view *a, const mercer_view *b, const mercer_view *k) -> int32_t {
            *static_cast<std::atomic<int64_t> *>(user) += k->rows * k->cols;
            for (int64_t i = 0; i < k->rows; ++i)
                for (int64_t j = 0; j < k->cols; ++j)
                    static_cast<double *>(k->data)[i * k->row_stride + j] =
                        std::exp(-0.05 * oracle::sqdist(static_cast<double *>(a->data) + i * a->row_stride,
                                                        static_cast<double *>(b->data) + j * b->row_stride, a->cols));
            return 0;
        };
        mercer_recipe *recipe = session.recipe("nystrom", {{"kernel", "user"}, {"reducer.m", "50"}});
        OK(mercer_recipe_set_kernel(recipe, &kernel));
        mercer_run run = budget_of(std::atoll(memory));
        Model model;
        OK(mercer_model_fit(&model.handle, recipe, data, &run));
        mercer_recipe_destroy(recipe);
        const double counted = number(model, "/kernel_evaluations");
        char text[120];
        std::snprintf(text, sizeof text, "asked for %lld, counted %.0f", static_cast<long long>(asked), counted);
        TEST_ASSERT_TRUE_MESSAGE(static_cast<double>(asked) >= counted - n,
                                 text); // n: the reported number includes k(x, x) of the rows
        TEST_ASSERT_TRUE_MESSAGE(static_cast<double>(asked) <= counted + 2 * 16 * n, text);
        TEST_ASSERT_TRUE_MESSAGE(counted <= number(model, "/forecast/kernel_evaluations/most"), text);
    }
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_table);
    RUN_TEST(test_kinds_of_data);
    RUN_TEST(test_any_shape);
    RUN_TEST(test_lifts);
    RUN_TEST(test_given_points);
    RUN_TEST(test_sampled_start);
    RUN_TEST(test_values_are_counted);
    RUN_TEST(test_flops_of_less_rank);
    RUN_TEST(test_auto_is_foreseen);
    RUN_TEST(test_auto_foresees_components);
    return UNITY_END();
}
