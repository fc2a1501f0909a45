// Tests of the sampling for certificates: shares of the failure probability, laws of rows, maxima
// over all rows, means, and forecasts of sample sizes.
#include "certify_problems.h"
#include "unity_cpp.h"

using namespace mercer;
using namespace certify_problems;

namespace {

void test_shares() {
    for (Sides sides : {Sides::upper, Sides::both}) {
        const Shares shares = share_failure(0.01, sides);
        TEST_ASSERT_DOUBLE_WITHIN(1e-16, 0.01, shares.pairs + shares.rows);
        TEST_ASSERT_DOUBLE_WITHIN(1e-16, sides == Sides::both ? 0.002 : 0.0025, shares.pairs);
    }
    double spent = 0;
    for (int64_t look = 1; look < 60; ++look) spent += attempt_failure(0.1, look);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.1, spent);
    TEST_ASSERT_TRUE(attempt_failure(0.1, 5000) >= 0);
}

void test_frobenius() {
    const double x[] = {0.25, 0, 0.5, 0.1, 0.05, 0, 0, 0.3}, l = std::log(2 / 0.1);
    double mean = 0, variance = 0;
    for (double value : x) mean += value / 8;
    for (double value : x) variance += (value - mean) * (value - mean) / 7;
    std::vector<double> many;
    for (int k = 0; k < 800; ++k) many.push_back(x[k % 8]);
    TEST_ASSERT_DOUBLE_WITHIN(0, 3, frobenius_bound(3, x, 8, 0.1)); // the bound of the mean exceeds 1: F = trace
    const double spread = 2 * (variance * 700 / 799) * l / 800;
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3 * std::sqrt(mean + std::sqrt(spread) + 7 * l / (3 * 799)),
                              frobenius_bound(3, many.data(), 800, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(0, 3, frobenius_bound(3, x, 1, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(1e-16, 0.25, pair_share(0.5, false, 1, 1, 0));
    TEST_ASSERT_DOUBLE_WITHIN(1e-16, 1, pair_share(1, true, 1, 1, 0.25)); // a diagonal entry, shifted
    TEST_ASSERT_DOUBLE_WITHIN(0, 0, pair_share(0.5, false, -1e-9, 1, 0));
}

void test_lottery() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    const double weight[] = {0, 3, 0, 1, 4, 0};
    const WeightedDraw draws(run, 6, weight);
    TEST_ASSERT_EQUAL_INT64(1, draws.draw(0));
    TEST_ASSERT_EQUAL_INT64(4, draws.draw(1 - 0x1p-53));
    TEST_ASSERT_EQUAL_INT64(4, draws.draw(1));
    const Random random(7, Stage::certificate);
    double seen[6] = {};
    for (int64_t k = 0; k < 40000; ++k) seen[draws.draw(random.uniform(0, k))] += 1.0 / 40000;
    for (int i = 0; i < 6; ++i) TEST_ASSERT_DOUBLE_WITHIN(0.0125, weight[i] / 8, seen[i]); // 5 standard deviations
    const double nothing[] = {0, 0};
    try {
        WeightedDraw none(run, 2, nothing);
        TEST_FAIL_MESSAGE("a lottery without weights");
    } catch (const Error &error) {
        TEST_ASSERT_EQUAL_INT32(MERCER_E_NUMERICAL, error.code());
    }
}

// Checks the law against its formula, cross() and load() against maxima over all rows, the moments
// of each row against plain loops, and the mean of X against G.
void test_law() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    for (int64_t k = 0; k < 12; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), false);
        const int64_t n = problem.options.n, p = problem.options.p;
        const double eta = problem.spectrum.eta, total = problem.spectrum.total();
        const RowLaw law(run, n, problem.d.data(), eta, p, problem.u.data(), n);
        double sum = 0, cross = 0, load = 0;
        Dense g(static_cast<size_t>(p * p));
        for (int64_t i = 0; i < n; ++i) {
            double uu = 0;
            for (int64_t j = 0; j < p; ++j) uu += std::pow(problem.u[static_cast<size_t>(i + j * n)], 2);
            const double d = problem.d[static_cast<size_t>(i)] + eta, chance = law.probability(i);
            sum += chance;
            if (total > 0) TEST_ASSERT_DOUBLE_WITHIN(1e-8, (d / total + uu / static_cast<double>(p)) / 2, chance);
            cross = oracle::larger(cross, std::sqrt(uu * d) / chance);
            load = oracle::larger(load, d / chance);
            Dense r, u;
            for (int64_t j = 0; j < p; ++j)
                r.push_back(problem.ru[static_cast<size_t>(i + j * n)]),
                    u.push_back(problem.u[static_cast<size_t>(i + j * n)]);
            RowSample one(law, p, eta);
            one.add(r.data(), u.data(), d - eta, chance);
            const RowMoments moments = one.moments();
            const double size_of_x = std::sqrt(uu * (moments.reach * d + 1e-20)) / chance;
            for (int64_t a = 0; a < p; ++a)
                for (int64_t b = 0; b < p; ++b) {
                    const size_t ab = static_cast<size_t>(a + b * p);
                    auto x = [&](int64_t c, int64_t e) {
                        const size_t cc = static_cast<size_t>(c), ee = static_cast<size_t>(e);
                        return (u[cc] * (r[ee] + eta * u[ee]) + (r[cc] + eta * u[cc]) * u[ee]) / (2 * chance);
                    };
                    double square = 0, size = 0;
                    for (int64_t c = 0; c < p; ++c) square += x(a, c) * x(c, b), size += std::fabs(x(a, c) * x(c, b));
                    TEST_ASSERT_DOUBLE_WITHIN(1e-11 * size_of_x, x(a, b), moments.g[ab]);
                    TEST_ASSERT_DOUBLE_WITHIN(1e-11 * size + 1e-11 * moments.v[static_cast<size_t>(a * (p + 1))],
                                              square, moments.v[ab]);
                    const size_t aa = static_cast<size_t>(a), bb = static_cast<size_t>(b);
                    const double w = (r[aa] + eta * u[aa]) * (r[bb] + eta * u[bb]) / chance;
                    TEST_ASSERT_DOUBLE_WITHIN(1e-12 * std::fabs(w), w, moments.w[ab]);
                    g[ab] += chance * moments.g[ab];
                }
        }
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1, sum);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9 * cross, cross, law.cross());
        TEST_ASSERT_DOUBLE_WITHIN(1e-9 * load, load, law.load());
        TEST_ASSERT_TRUE(law.cross() <= std::sqrt(static_cast<double>(p) * total) * (1 + 1e-6) &&
                         law.load() <= 2 * total * (1 + 1e-12));
        const RowMoments exact = exact_moments(problem);
        for (size_t ab = 0; ab < g.size(); ++ab) TEST_ASSERT_DOUBLE_WITHIN(problem.rounding(), exact.g[ab], g[ab]);
    }
}

// Forecast sample sizes must lead to the requested error, and the chosen width must be nearly the
// best one.
void test_forecasts() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    options.n = 500, options.m = 80, options.p = 40;
    const Problem problem = make(options, 11, true);
    const int64_t r = 5;
    const double norm =
        sampled_norm(run, problem, 20000, 0.01, 1); // a Frobenius bound, larger than |E|, so that gaps matter
    double least = HUGE_VAL, most = 0, chosen = 0;
    const int64_t width = choose_width(leading(problem.all, 40), norm, r, 3000, 0.01, Sides::upper);
    for (int64_t p = r; p <= 40; ++p) {
        Problem part = problem;
        part.spectrum = leading(problem.all, p), part.options.p = p;
        const double error =
            row_bounds(part.spectrum, sampled_rows(run, part, 3000, 2), norm, 0.01, Sides::upper).worst(r);
        least = std::min(least, error), most = oracle::larger(most, error);
        if (p == width) chosen = error;
    }
    TEST_ASSERT_TRUE(chosen > 0 && chosen <= 1.2 * least && most > 2 * least);
    Problem part = problem;
    part.spectrum = leading(problem.all, width), part.options.p = width;
    const RowMoments pilot = sampled_rows(run, part, 500, 3);
    const double target = 0.3 * row_bounds(part.spectrum, pilot, norm, 0.01, Sides::upper).worst(r);
    const int64_t s = rows_needed(part.spectrum, pilot, norm, 0.01, Sides::upper, r, target, 100000);
    TEST_ASSERT_TRUE(s > 1000 && s <= 100000);
    const double error = row_bounds(part.spectrum, sampled_rows(run, part, s, 3), norm, 0.01, Sides::upper).worst(r);
    TEST_ASSERT_TRUE(error < 1.2 * target && error > 0.5 * target);
    TEST_ASSERT_EQUAL_INT64(101, rows_needed(part.spectrum, pilot, norm, 0.01, Sides::upper, r, target / 1e6, 100));
    // The forecast without a pilot sample must be within a factor of four of the one from a pilot.
    // A smaller error must need more rows, and an unattainable one must give most + 1.
    const int64_t expected = rows_expected(part.spectrum, norm, 0.01, Sides::upper, r, target, 100000);
    TEST_ASSERT_TRUE(expected > s / 4 && expected < 4 * s);
    TEST_ASSERT_TRUE(rows_expected(part.spectrum, norm, 0.01, Sides::upper, r, target / 2, 100000) > expected);
    TEST_ASSERT_EQUAL_INT64(101, rows_expected(part.spectrum, norm, 0.01, Sides::upper, r, target / 1e6, 100));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_shares);
    RUN_TEST(test_frobenius);
    RUN_TEST(test_lottery);
    RUN_TEST(test_law);
    RUN_TEST(test_forecasts);
    return UNITY_END();
}
