// Reducer shadow: centres, weights and assignment must be bitwise equal to those of a plain
// implementation of Algorithm 2.
#include "fit/fit.h"
#include "reducer_problem.h"

namespace {

struct Shadow {
    std::vector<int64_t> index, assignment;
    Vector weights;
};

// Algorithm 2 of reduced-set kernel PCA: the first row left becomes a centre, and all rows left
// that are nearer to it than epsilon leave with it. Rows of weight 0 take no part; they are
// assigned to their nearest centre.
Shadow algorithm_2(const Rows &scene, double epsilon) {
    const Matrix &x = scene.x;
    Shadow out;
    out.assignment.assign(static_cast<size_t>(x.rows), -1);
    std::vector<int64_t> left;
    for (int64_t i = 0; i < x.rows; ++i)
        if (scene.weight(i) > 0) left.push_back(i);
    while (!left.empty()) {
        const int64_t c = left[0], number = static_cast<int64_t>(out.index.size());
        std::vector<int64_t> rest;
        double weight = 0;
        for (int64_t i : left)
            if (i == c || square(x, i, c) < epsilon * epsilon)
                out.assignment[static_cast<size_t>(i)] = number, weight += scene.weight(i);
            else
                rest.push_back(i);
        out.index.push_back(c);
        out.weights.push_back(weight);
        left = rest;
    }
    for (int64_t i = 0; i < x.rows; ++i)
        if (int64_t &at = out.assignment[static_cast<size_t>(i)]; at < 0) at = nearest_of(x, out.index, i);
    return out;
}

// Weights can be compared bit by bit: the host scales them to the sum n, which they already have in
// these tests.
void expect_shadow(const Shadow &wanted, const Outcome &got, const char *what) {
    TEST_ASSERT_TRUE_MESSAGE(wanted.index == got.index, what);
    TEST_ASSERT_TRUE_MESSAGE(wanted.assignment == got.assignment, what);
    TEST_ASSERT_TRUE_MESSAGE(wanted.weights == got.weights, what);
}

Settings radius(double epsilon) {
    return {{"reducer", "shadow"}, {"kernel.sigma", "1"}, {"reducer.epsilon", text_of(epsilon)}};
}

// Rows of five kinds: spread out; clumps; a grid, so that distances tie; repeated rows; one clump
// before all other rows.
Matrix rows_of_kind(oracle::Numbers &numbers, int64_t kind, int64_t n, int64_t d) {
    Matrix x = numbers.matrix(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) {
            double &value = x(i, k);
            if (kind == 1) value = 0.05 * value + std::floor(4 * x(i * 7 % 6, k));
            if (kind == 2) value = std::floor(3 * value);
            if (kind == 3) value = x(i / 3, k);
            if (kind == 4 && i < n / 2) value *= 1e-3;
        }
    return x;
}

void test_random_runs() {
    const double offsets[] = {0, 1e5, 16777216};
    const int64_t threads[] = {1, 2, 8};
    char what[120];
    for (int64_t seed = 0; seed < 2100; ++seed) {
        oracle::Numbers numbers(static_cast<uint64_t>(seed));
        const bool large = seed % 70 == 0;
        const int64_t n = 1 + static_cast<int64_t>(numbers.uniform() * (large ? 3000 : 150)),
                      d = 1 + static_cast<int64_t>(numbers.uniform() * (seed % 3 ? 6 : 40)), kind = seed % 5;
        Matrix x = rows_of_kind(numbers, kind, n, d);
        const double offset = offsets[seed / 5 % 3];
        for (double &value : x.v) value += offset;
        const Rows scene(std::move(x), {}, {}, seed / 15 % 2 == 1);
        const auto any = [&] { return static_cast<int64_t>(numbers.uniform() * static_cast<double>(n)); };
        // Epsilon is the distance of two rows, or a floating-point number next to it.
        double epsilon = std::sqrt(square(scene.x, any(), any()));
        if (seed % 4 == 2) epsilon = std::nextafter(epsilon, 0);
        if (seed % 4 == 3) epsilon = std::nextafter(epsilon, 1e9);
        const Outcome got = reduce_with(scene, radius(epsilon), threads[seed / 30 % 3]);
        std::snprintf(what, sizeof what, "seed %d: n = %d, d = %d, kind %d, offset %g, f32 %d", int(seed), int(n),
                      int(d), int(kind), offset, int(scene.f32));
        expect_shadow(algorithm_2(scene, epsilon), got, what);
    }
}

// The rows fill many blocks. Some products in f32 overflow or are too inaccurate to decide any
// pair, and some blocks are cut short because too many of their rows are not covered by earlier
// centres.
void test_many_blocks() {
    for (const auto &[kind, scale, epsilon] : {std::tuple{0, 1.0, 0.4},
                                               {0, 1.0, 1e-9},
                                               {0, 1.0, 1e-20},
                                               {1, 1.0, 0.09},
                                               {4, 1.0, 0.3},
                                               {0, 1e-30, 4e-31},
                                               {0, 1e18, 4e17},
                                               {1, 1e3, 1e-4}}) {
        oracle::Numbers numbers(5);
        Matrix x = rows_of_kind(numbers, kind, 6000, 3);
        for (double &value : x.v) value *= scale;
        Rows scene(std::move(x));
        const Shadow wanted = algorithm_2(scene, epsilon);
        for (int64_t threads : {1, 8})
            expect_shadow(wanted, reduce_with(scene, radius(epsilon), threads), text_of(epsilon).c_str());
    }
}

void test_edges() {
    Rows scene(oracle::Numbers(3).matrix(40, 2));
    for (int64_t k = 0; k < 2; ++k) scene.x(7, k) = scene.x(3, k);
    const auto size = [&](double epsilon) { return reduce_with(scene, radius(epsilon)).index.size(); };
    TEST_ASSERT_EQUAL_size_t(40, size(0));      // the duplicate becomes a centre, too
    TEST_ASSERT_EQUAL_size_t(40, size(1e-170)); // epsilon^2 underflows to 0
    TEST_ASSERT_EQUAL_size_t(39, size(1e-150)); // only the duplicate is covered
    TEST_ASSERT_EQUAL_size_t(1, size(1e200));   // epsilon^2 is infinite
    const Outcome all = reduce_with(scene, radius(0));
    for (int64_t i = 0; i < 40; ++i) TEST_ASSERT_TRUE(all.index[size_t(i)] == i && all.assignment[size_t(i)] == i);
    Rows one(oracle::Numbers(3).matrix(1, 2)), equal(Matrix(50, 3));
    TEST_ASSERT_EQUAL_size_t(1, reduce_with(one, radius(0.1)).index.size());
    TEST_ASSERT_EQUAL_size_t(1, reduce_with(equal, radius(0.1)).index.size());
    TEST_ASSERT_EQUAL_DOUBLE(50, reduce_with(equal, radius(0.1)).weights[0]);
}

// Golden data, computed by an independent implementation.
void test_golden() {
    Rows scene(oracle::golden_points());
    const Settings golden = {{"kernel.gamma", "1.5625"}, {"reducer", "shadow"}};
    const std::vector<int64_t> index = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 14, 20, 27, 28, 29, 53, 56};
    const Vector weights = {4, 3, 7, 4, 6, 6, 6, 2, 1, 4, 1, 2, 1, 3, 5, 3, 1, 1};
    for (const auto &[name, value] : {std::pair<const char *, std::string>{"reducer.ell", "3"},
                                      {"reducer.epsilon", text_of(0.8 / 3)},
                                      {"reducer.similarity", text_of(std::exp(-1.0 / 9))}}) {
        Settings settings = golden;
        settings.emplace_back(name, value);
        const Outcome got = reduce_with(scene, settings);
        TEST_ASSERT_TRUE_MESSAGE(got.index == index && got.weights == weights, name);
        // Rounding of a similarity s changes ell and epsilon by about 1e-16 / (1 - s).
        TEST_ASSERT_TRUE(std::fabs(got.report.at("ell") - 3) < 1e-9);
        TEST_ASSERT_TRUE(std::fabs(got.report.at("epsilon") - 0.8 / 3) < 1e-9);
    }
    TEST_ASSERT_TRUE(reduce_with(scene, golden).report.at("ell") == 4);
}

// Compares epsilon, the distance at which f(epsilon) = s f(0), with closed formulas.
void test_similarity() {
    Rows scene(oracle::clusters(200, 3));
    const double s = 0.7;
    const struct {
        Settings kernel;
        double epsilon;
    } cases[] = {
        {{{"kernel", "gaussian"}, {"kernel.sigma", "2"}}, 2 * std::sqrt(-2 * std::log(s))},
        {{{"kernel", "3 gaussian"}, {"kernel.sigma", "2"}}, 2 * std::sqrt(-2 * std::log(s))},
        {{{"kernel", "laplacian"}, {"kernel.sigma", "2"}}, -2 * std::log(s)},
        {{{"kernel", "cauchy"}, {"kernel.sigma", "2"}}, 2 * std::sqrt(1 / s - 1)},
    };
    for (const auto &one : cases) {
        Settings settings = one.kernel;
        settings.insert(settings.end(), {{"reducer", "shadow"}, {"reducer.similarity", "0.7"}});
        const Outcome got = reduce_with(scene, settings);
        TEST_ASSERT_TRUE(std::fabs(got.report.at("epsilon") - one.epsilon) < 1e-12 * one.epsilon);
        expect_shadow(algorithm_2(scene, got.report.at("epsilon")), got, one.kernel[0].second.c_str());
    }
}

Rows weighed(int64_t n) {
    Rows scene(oracle::clusters(n, 3));
    for (int64_t i = 0; i < n; ++i) scene.weights.push_back(i % 4 == 1 ? 0 : i % 4 == 0 ? 2 : 1); // their sum is n
    return scene;
}

void test_weights() {
    Rows scene = weighed(1200);
    expect_shadow(algorithm_2(scene, 0.7), reduce_with(scene, radius(0.7)), "sample weights");
    const Outcome all = reduce_with(scene, radius(0));
    TEST_ASSERT_EQUAL_size_t(900, all.index.size());
    expect_shadow(algorithm_2(scene, 0), all, "sample weights, epsilon = 0");
}

void test_nearest() {
    for (bool f32 : {false, true})
        for (double offset : {0.0, 1e5}) {
            Rows weights = weighed(1200);
            for (double &value : weights.x.v) value += offset;
            const Rows scene(weights.x, weights.weights, {}, f32);
            Shadow wanted = algorithm_2(scene, 0.9);
            std::fill(wanted.weights.begin(), wanted.weights.end(), 0);
            for (int64_t i = 0; i < 1200; ++i) {
                const int64_t at = wanted.assignment[size_t(i)] = nearest_of(scene.x, wanted.index, i);
                wanted.weights[size_t(at)] += scene.weight(i);
            }
            Settings settings = radius(0.9);
            settings.emplace_back("reducer.assign", "nearest");
            for (int64_t threads : {1, 2, 8}) expect_shadow(wanted, reduce_with(scene, settings, threads), "nearest");
        }
}

// Checks that shuffled rows are covered as in the plain loop, in an order that depends only on the
// seed.
void test_shuffle() {
    Rows scene(oracle::clusters(700, 3));
    Settings settings = radius(0.8);
    settings.emplace_back("reducer.shuffle", "true");
    const auto with_seed = [&](const char *seed) {
        Settings seeded = settings;
        seeded.emplace_back("seed", seed);
        return reduce_with(scene, seeded);
    };
    const Outcome first = with_seed("1"), again = with_seed("1"), other = with_seed("2");
    TEST_ASSERT_TRUE(first.index == again.index && first.weights == again.weights);
    TEST_ASSERT_TRUE(first.index != other.index && first.index[0] != other.index[0]);
    // Each row must be assigned to the earliest centre that covers it, and no centre may be covered
    // by an earlier one.
    for (int64_t i = 0; i < 700; ++i) {
        size_t k = 0;
        while (k < first.index.size() && i != first.index[k] && !(square(scene.x, i, first.index[k]) < 0.8 * 0.8)) ++k;
        TEST_ASSERT_TRUE(k < first.index.size());
        TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(k), first.assignment[size_t(i)]);
    }
    for (size_t k = 0; k < first.index.size(); ++k)
        TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(k), first.assignment[size_t(first.index[k])]);
}

void test_wanted_m() {
    for (const auto &[kind, n, d] : {std::tuple{0, 5000, 3}, {0, 3000, 12}, {1, 4000, 4}})
        for (int64_t m : {20, 150, 1000}) {
            oracle::Numbers numbers(8);
            Rows scene(rows_of_kind(numbers, kind, n, d));
            const Outcome got =
                reduce_with(scene, {{"reducer", "shadow"}, {"kernel.sigma", "1"}, {"reducer.m", std::to_string(m)}});
            const int64_t found = static_cast<int64_t>(got.index.size());
            char what[100];
            std::snprintf(what, sizeof what, "m = %d of kind %d: %d in %g passes", int(m), kind, int(found),
                          got.report.at("passes"));
            TEST_ASSERT_TRUE_MESSAGE(std::llabs(found - m) <= m / 20 + 1, what); // what eight passes can reach
            TEST_ASSERT_TRUE_MESSAGE(got.report.at("passes") <= 8, what);
            expect_shadow(algorithm_2(scene, got.report.at("epsilon")), got, what);
        }
    Rows scene(oracle::Numbers(3).matrix(40, 2)), threes(Matrix(60, 2));
    const auto size = [&](Rows &of, const char *m) {
        return reduce_with(of, {{"reducer", "shadow"}, {"reducer.m", m}, {"kernel.sigma", "1"}}).index.size();
    };
    TEST_ASSERT_EQUAL_size_t(1, size(scene, "1"));
    TEST_ASSERT_EQUAL_size_t(40, size(scene, "40"));
    for (int64_t i = 0; i < 60; ++i) threes.x(i, 0) = static_cast<double>(i / 3);
    TEST_ASSERT_EQUAL_size_t(20, size(threes, "25")); // only 20 rows are distinct
    TEST_ASSERT_EQUAL_size_t(60, size(threes, "60"));
}

void test_refusals() {
    Rows scene(oracle::Numbers(3).matrix(40, 2));
    refused(scene, {{"reducer", "shadow"}, {"kernel.sigma", "1"}, {"reducer.m", "41"}}, "m = 41, must be <= n = 40");
    for (const char *kernel : {"polynomial", "gaussian + linear", "gaussian[0]"}) {
        refused(scene, {{"kernel", kernel}, {"reducer", "shadow"}}, "no length scale h for ell: set epsilon");
        refused(scene, {{"kernel", kernel}, {"reducer", "shadow"}, {"reducer.similarity", "0.5"}},
                "no length scale h for similarity: set epsilon");
        TEST_ASSERT_TRUE(
            reduce_with(scene, {{"kernel", kernel}, {"reducer", "shadow"}, {"reducer.epsilon", "0.3"}}).index.size() >
            1);
    }
    for (const auto &[name, value] : {std::pair{"reducer.ell", "-1"},
                                      {"reducer.ell", "0"},
                                      {"reducer.epsilon", "-1"},
                                      {"reducer.epsilon", "nan"},
                                      {"reducer.similarity", "1"},
                                      {"reducer.m", "0"}})
        refused(scene, {{"reducer", "shadow"}, {name, value}}, "must be");
    refused(scene, {{"reducer", "shadow"}, {"reducer.ell", "3"}, {"reducer.epsilon", "1"}}, "only one of the two");
}

// The number of centres is unknown before the fit. The likely number is compared with the budget
// first, the actual one when it is known: too many centres must then end the fit with E_BUDGET.
void test_budget() {
    Rows scene(oracle::clusters(40000, 16));
    const auto registry = std::make_shared<Registry>();
    const auto peak_of = [&](double epsilon) {
        Recipe recipe(registry, "subsampled");
        for (const auto &[name, value] : radius(epsilon)) recipe.set(name, value);
        recipe.set("report.certificates", "none");
        RunSettings settings;
        settings.run.memory = 24 << 20;
        Run run(settings, nullptr);
        fit(run, recipe, scene.data(), settings);
        return run.budget()->peak();
    };
    TEST_ASSERT_TRUE(peak_of(3.2) <= 24 << 20); // a few centres
    try {
        peak_of(1e-3); // all rows become centres
        TEST_FAIL();
    } catch (const Error &e) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_BUDGET, e.code(), e.what());
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_random_runs);
    RUN_TEST(test_many_blocks);
    RUN_TEST(test_edges);
    RUN_TEST(test_golden);
    RUN_TEST(test_similarity);
    RUN_TEST(test_weights);
    RUN_TEST(test_nearest);
    RUN_TEST(test_shuffle);
    RUN_TEST(test_wanted_m);
    RUN_TEST(test_refusals);
    RUN_TEST(test_budget);
    return UNITY_END();
}
