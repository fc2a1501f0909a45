// Reducers that pivot, run as a fit runs them: their landmarks, reports and forecasts, and the
// factor that they hand to the lift.
#include "factor/partial_cholesky.h"
#include "fit/forecast.h"
#include "fit/prepare.h"
#include "fit/reduce.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

using namespace mercer;
using oracle::Matrix;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t d = 5;

struct Rows {
    explicit Rows(int64_t n) : x(oracle::Numbers(6).matrix(n, d)) {
        oracle::Numbers numbers(7);
        for (int64_t i = 0; i < n; ++i) weights.push_back(i % 4 == 1 ? 0 : 0.5 + numbers.uniform());
        data.source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, n, d, d, 1, x.v.data()});
        data.weights = {sizeof(mercer_view), MERCER_F64, 0, n, 1, 1, 1, weights.data()};
        for (int64_t i = 0; i < n; i += n / 7) rows.push_back(i);
        data.landmarks = {sizeof(mercer_view), MERCER_I64, 0, static_cast<int64_t>(rows.size()), 1, 1, 1, rows.data()};
    }
    Matrix x;
    std::vector<double> weights;
    std::vector<int64_t> rows;
    Data data;
};

struct Outcome {
    Prepared prepared;
    Reduction reduction;
    mercer_cost cost;
    int64_t bytes;
};

// Writes the results to `out`, which must not be moved afterwards, because the factor reads the
// prepared data in it.
void reduce_into(Outcome &out, const Rows &rows, const Settings &settings) {
    auto registry = std::make_shared<Registry>();
    Recipe recipe(registry, "kpca");
    for (const auto &[name, value] : settings) recipe.set(name, value);
    mercer_run two{};
    two.struct_size = sizeof two, two.threads = 2;
    Run run({}, &two);
    run.stage("all");
    const Source &source = *rows.data.source;
    Expression kernel = recipe.kernel();
    kernel.finish(run, source.cols(), [](const Leaf &, const std::string &) { return 1.0; });
    out.cost = forecast_centres(run, recipe, rows.data, {kernel, source, tile_is_f32(recipe, source)}, true).cost;
    out.prepared = prepare(run, recipe, rows.data);
    const int64_t before = run.budget()->used();
    out.reduction = reduce(run, recipe, rows.data, out.prepared, true);
    out.bytes = run.budget()->peak() - before;
}

void test_pivots() {
    const Rows rows(6000);
    for (const char *reducer : {"greedy", "rpcholesky"})
        for (const char *dtype : {"f32", "f64"})
            for (const Settings &stop : {Settings{{"reducer.m", "150"}}, Settings{{"reducer.trace", "0.3"}},
                                         Settings{{"reducer.m", "700"}, {"reducer.mse", "0.1"}}})
                for (const char *kernel : {"gaussian", "gaussian + 0.1 linear"}) {
                    Settings settings = {{"reducer", reducer}, {"kernel", kernel}, {"data.dtype", dtype}};
                    settings.emplace_back(kernel[8] ? "kernel.1.sigma" : "kernel.sigma", "0.9");
                    settings.insert(settings.end(), stop.begin(), stop.end());
                    Outcome out;
                    reduce_into(out, rows, settings);
                    const Reduction &got = out.reduction;
                    const bool f32 = dtype[1] == '3';
                    TEST_ASSERT_TRUE(out.prepared.f32 == f32 && got.m >= 10 && got.m <= out.cost.m);
                    TEST_ASSERT_TRUE(out.bytes <= out.cost.bytes);
                    TEST_ASSERT_TRUE(got.kernel_evaluations <= out.cost.kernel_evaluations);
                    for (int64_t row : got.index) TEST_ASSERT_TRUE(row % 4 != 1);
                    auto check = [&](auto &&factor) {
                        TEST_ASSERT_TRUE(factor && factor->count() == got.m &&
                                         std::equal(got.index.begin(), got.index.end(), factor->index()));
                        TEST_ASSERT_TRUE(got.report.at("mse") == factor->mean_residual() &&
                                         got.report.at("trace") == factor->trace_left() &&
                                         got.report.at("sweeps") == static_cast<double>(factor->sweeps()));
                        TEST_ASSERT_TRUE(factor->trace_left() > 0 && factor->trace_left() < 1);
                        TEST_ASSERT_TRUE(stop[0].first != "reducer.trace" || factor->trace_left() <= 0.3);
                        TEST_ASSERT_TRUE(stop.size() != 2 || factor->mean_residual() <= 0.1);
                    };
                    f32 ? check(std::get<0>(got.factor)) : check(std::get<1>(got.factor));
                }
}

// If m is given, the forecast of memory must be accurate to 10 %. Each row takes at least 401
// kernel values: the diagonal and 400 columns.
void test_forecast_is_near() {
    const Rows rows(30000);
    for (const char *reducer : {"greedy", "rpcholesky"}) {
        Outcome out;
        reduce_into(out, rows, {{"reducer", reducer}, {"reducer.m", "400"}, {"kernel.sigma", "0.5"}});
        TEST_ASSERT_TRUE(out.bytes <= out.cost.bytes &&
                         static_cast<double>(out.bytes) >= 0.9 * static_cast<double>(out.cost.bytes));
        TEST_ASSERT_TRUE(out.reduction.kernel_evaluations >= 30000 * 401);
    }
}

// Reducers that do not pivot must hand no factor to the lift.
void test_no_factor() {
    const Rows rows(500);
    for (const char *reducer : {"uniform", "given"}) {
        Outcome out;
        reduce_into(out, rows, {{"reducer", reducer}, {"kernel.sigma", "1"}, {"data.dtype", "f32"}});
        TEST_ASSERT_TRUE(!std::get<0>(out.reduction.factor));
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_pivots);
    RUN_TEST(test_forecast_is_near);
    RUN_TEST(test_no_factor);
    return UNITY_END();
}
