// Compares forecasts from a sample of the rows (fit/spectrum_estimate.h) with what fits of five
// spectra, from fast to flat, took, and checks which rows a forecast may read. MERCER_SHOW=1 prints
// all numbers.
#include "session.h"

#include <algorithm>
#include <set>

namespace {

double number(const Model &model, const std::string &path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path.c_str(), &text));
    return std::strtod(text, nullptr);
}

mercer_forecast forecast_of(Session &session, mercer_data *data, const char *method, const Settings &settings) {
    mercer_recipe *recipe = session.recipe(method, settings);
    mercer_forecast out{};
    out.struct_size = sizeof out;
    const int32_t status = mercer_recipe_forecast(recipe, data, nullptr, &out);
    out.strategy = nullptr; // owned by the recipe, which is destroyed here
    mercer_recipe_destroy(recipe);
    OK(status);
    return out;
}

// Rows of N(centre, I) around `clusters` centres of N(0, 9 I); clusters = 0: rows uniform in the
// unit cube.
Matrix rows_of(int64_t n, int64_t d, int64_t clusters) {
    oracle::Numbers numbers(1);
    auto normal = [&] {
        return std::sqrt(-2 * std::log(1 - numbers.uniform())) * std::cos(6.283185307179586 * numbers.uniform());
    };
    Matrix centres(std::max<int64_t>(clusters, 1), d), x(n, d);
    for (double &value : centres.v) value = 3 * normal();
    for (int64_t i = 0; i < n; ++i) {
        const int64_t own = static_cast<int64_t>(numbers.uniform() * static_cast<double>(clusters));
        for (int64_t k = 0; k < d; ++k) x(i, k) = clusters > 0 ? centres(own, k) + normal() : numbers.uniform();
    }
    return x;
}

bool shown() { return std::getenv("MERCER_SHOW") != nullptr; }

void expect_near(const std::string &name, double likely, double happened, double factor) {
    char text[200];
    std::snprintf(text, sizeof text, "%s: likely %.3g, happened %.3g", name.c_str(), likely, happened);
    if (shown()) std::printf("%s\n", text);
    TEST_ASSERT_TRUE_MESSAGE(likely <= factor * happened && happened <= factor * likely, text);
}

void test_five_spectra() {
    Session session;
    for (int64_t clusters : {1, 5, 20, 100, 0}) {
        Held held(rows_of(4000, 16, clusters), {true, false});
        mercer_data *data = session.data(held);
        for (const char *method : {"kpca", "auto", "nystrom"}) {
            Settings settings = {{"sigma", clusters > 0 ? "5" : "1"}};
            if (std::strcmp(method, "nystrom") == 0) settings.emplace_back("reducer.m", "300");
            const mercer_forecast ahead = forecast_of(session, data, method, settings);
            const Model model = session.fit(data, settings, method);
            const std::string name = std::to_string(clusters) + " clusters " + method;
            expect_near(name, ahead.flops.likely, number(model, "/forecast/flops/happened"), 3);
            TEST_ASSERT_EQUAL_INT64(400, ahead.rows);
            TEST_ASSERT_TRUE(ahead.seconds > 0 && ahead.sample_seconds > 0 && ahead.flops.likely <= ahead.flops.most);
            if (shown()) std::printf("  seconds %.3f, %.3f\n", ahead.seconds, number(model, "/timings/total"));
        }
        mercer_data_destroy(data);
    }
}

// If a share of the variance is requested, the forecast must estimate the number of components well
// enough that its flops are right to a factor of 3.
void test_open_components() {
    Session session;
    Held held(rows_of(3000, 4, 0), {true, false});
    mercer_data *data = session.data(held);
    for (const char *share : {"0.5", "0.9"}) {
        const Settings settings = {{"sigma", "0.4"}, {"components", "0"}, {"variance", share}};
        const mercer_forecast ahead = forecast_of(session, data, "kpca", settings);
        const Model model = session.fit(data, settings, "kpca");
        expect_near(std::string("variance ") + share, ahead.flops.likely, number(model, "/forecast/flops/happened"), 3);
    }
    mercer_data_destroy(data);
}

// Greedy pivots up to all of these rows make a fit that reads a sample first, because its forecast
// expects it to take long. It takes less than a second: only 50 rows are distinct.
Matrix few_distinct_rows() {
    const Matrix some = rows_of(50, 3, 5);
    Matrix x(6500, 3);
    for (int64_t i = 0; i < x.rows; ++i) std::copy_n(some.row(i % some.rows), 3, &x(i, 0));
    return x;
}
const Settings all_pivots = {{"sigma", "2"}, {"reducer", "greedy"}, {"m", "6500"}, {"data.scale", "standard"}};

// A short fit must read no sample, but its report must contain the forecast and the actual seconds.
// A fit that is expected to take long must read a sample.
void test_fits_look() {
    Session session;
    Held held(rows_of(300, 3, 5));
    mercer_data *data = session.data(held);
    const Model model = session.fit(data, {{"sigma", "2"}}, "kpca");
    TEST_ASSERT_EQUAL_DOUBLE(0, number(model, "/forecast/rows_looked_at"));
    TEST_ASSERT_TRUE(number(model, "/forecast/seconds/likely") > 0);
    TEST_ASSERT_TRUE(number(model, "/forecast/seconds/happened") > 0);
    mercer_data_destroy(data);
    const Model longer = session.fit(few_distinct_rows(), all_pivots, {}, {}, "subsampled");
    TEST_ASSERT_EQUAL_DOUBLE(400, number(longer, "/forecast/rows_looked_at"));
}

// Only the fit may warn about the rows, and only once, because a column may be constant in a sample
// and not in the data. A sample has one row of each 16, so that it leaves out row 1 or row 2: if one
// of these differs from all others, the column is constant in the sample of at least one of the two
// data.
void test_samples_warn_of_nothing() {
    Session session;
    static int64_t said;
    OK(mercer_context_set_log(
        session.context,
        [](void *, int32_t level, const char *text) { said += level == 2 && std::strstr(text, "constant"); }, nullptr));
    for (int64_t other : {-1, 1, 2}) { // -1: the column is constant
        Matrix x = few_distinct_rows();
        for (int64_t i = 0; i < x.rows; ++i) x(i, 1) = i == other ? 8 : 7;
        Held held(x);
        mercer_data *data = session.data(held);
        said = 0;
        TEST_ASSERT_EQUAL_INT64(400, forecast_of(session, data, "subsampled", all_pivots).rows);
        TEST_ASSERT_EQUAL_INT64(0, said);
        const Model model = session.fit(data, all_pivots, "subsampled");
        TEST_ASSERT_EQUAL_DOUBLE(400, number(model, "/forecast/rows_looked_at"));
        TEST_ASSERT_EQUAL_INT64(0, said);
        const char *warnings = "";
        if (mercer_model_info(model.handle, "/warnings", &warnings) != MERCER_OK) warnings = "";
        TEST_ASSERT_TRUE_MESSAGE((std::strstr(warnings, "column 1 is constant") != nullptr) == (other < 0), warnings);
        mercer_data_destroy(data);
    }
}

// A forecast must not read chunks, not even those that can be rewound.
void test_chunks_are_left_alone() {
    Session session;
    int64_t asked = 0;
    for (int32_t flags : {0, static_cast<int32_t>(MERCER_REWINDABLE)}) {
        mercer_chunks chunks{};
        chunks.struct_size = sizeof chunks;
        chunks.dtype = MERCER_F64, chunks.flags = flags, chunks.rows = 5000, chunks.cols = 3, chunks.user = &asked;
        chunks.next = [](void *user, int64_t, int64_t, void *, int64_t *) -> int32_t {
            ++*static_cast<int64_t *>(user);
            return 1;
        };
        mercer_data *data = nullptr;
        OK(mercer_data_from_chunks(&data, session.context, &chunks));
        for (const char *method : {"kpca", "auto", "nystrom"}) {
            const mercer_forecast ahead = forecast_of(session, data, method, {{"sigma", "1"}});
            TEST_ASSERT_EQUAL_INT64(0, ahead.rows);
            TEST_ASSERT_TRUE(ahead.seconds > 0);
        }
        mercer_data_destroy(data);
    }
    TEST_ASSERT_EQUAL_INT64(0, asked);
}

// Of objects, a forecast may ask for pairs of at most 100 rows, and for at most 1 % of all pairs
// plus n / 10, whether or not it must find a bandwidth.
void test_objects_are_asked_little() {
    Session session;
    struct Asked {
        std::set<int64_t> rows;
        std::set<std::pair<int64_t, int64_t>> pairs;
    } asked;
    mercer_objects objects{};
    objects.struct_size = sizeof objects;
    objects.values = MERCER_DISTANCE, objects.user = &asked;
    objects.pairs = [](void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) -> int32_t {
        Asked &to = *static_cast<Asked *>(user);
        for (int64_t k = 0; k < count; ++k) {
            to.rows.insert(i[k]), to.rows.insert(j[k]);
            to.pairs.insert(std::minmax(i[k], j[k]));
            values[k] = std::fabs(static_cast<double>(i[k] - j[k])) / 100;
        }
        return 0;
    };
    for (int64_t n : {100, 400, 3000})
        for (const Settings &settings : {Settings{{"sigma", "1"}}, Settings{{"kernel.bandwidth", "median"}}}) {
            asked = {};
            objects.rows = n;
            mercer_data *data = nullptr;
            OK(mercer_data_from_objects(&data, session.context, &objects));
            const mercer_forecast ahead = forecast_of(session, data, "kpca", settings);
            TEST_ASSERT_TRUE(asked.rows.size() <= 100);
            TEST_ASSERT_TRUE(100 * static_cast<int64_t>(asked.pairs.size()) <= n * (n + 1) / 2 + 100 * n / 10);
            TEST_ASSERT_EQUAL_INT64(n >= 1000 ? 100 : n >= 240 ? n / 10 : 0, ahead.rows);
            mercer_data_destroy(data);
        }
}

// Weights, missing values, scaled columns, kernels of other forms: a forecast may fail only with
// the error with which the fit fails.
void test_any_data() {
    Session session;
    Matrix x = rows_of(900, 5, 3);
    for (double &value : x.v) value = std::fabs(value);
    Held plain(x);
    mercer_data *data = session.data(plain);
    Matrix weights(900, 1);
    for (int64_t i = 0; i < 900; ++i) weights(i, 0) = static_cast<double>(i % 3);
    Held held(weights);
    const mercer_view view = held.view();
    OK(mercer_data_attach(data, "weights", &view));
    for (const char *kernel :
         {"gaussian", "laplacian", "linear", "polynomial", "chi2", "sigmoid", "gaussian[0-1] * hamming[2-4]"})
        for (const char *method : {"kpca", "auto", "nystrom", "diffusion", "rskpca"}) {
            mercer_recipe *recipe =
                session.recipe(method, {{"kernel", kernel}, {"components", "3"}, {"data.scale", "minmax"}});
            mercer_forecast out{};
            out.struct_size = sizeof out;
            Model model;
            const int32_t foreseen = mercer_recipe_forecast(recipe, data, nullptr, &out),
                          fitted = mercer_model_fit(&model.handle, recipe, data, nullptr);
            mercer_recipe_destroy(recipe);
            TEST_ASSERT_TRUE_MESSAGE(foreseen == MERCER_OK || fitted == foreseen, mercer_last_error());
        }
    mercer_data_destroy(data);
    x(7, 2) = NAN;
    Held spoilt(x);
    data = session.data(spoilt);
    forecast_of(session, data, "kpca", {{"sigma", "1"}});
    forecast_of(session, data, "kpca", {{"sigma", "1"}, {"data.missing", "rows"}});
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_five_spectra);
    RUN_TEST(test_open_components);
    RUN_TEST(test_fits_look);
    RUN_TEST(test_samples_warn_of_nothing);
    RUN_TEST(test_chunks_are_left_alone);
    RUN_TEST(test_objects_are_asked_little);
    RUN_TEST(test_any_data);
    return UNITY_END();
}
