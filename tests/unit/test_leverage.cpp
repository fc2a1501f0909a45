// Compares the frequency with which the reducer `leverage` draws each row with exact ridge leverage
// scores.
#include "reducer_problem.h"

namespace {

// Computes l_i = (K (K + lambda)^-1)_ii of K_ij = sqrt(w_i w_j) k(x_i, x_j) from its eigenpairs.
Vector exact_scores(const Rows &rows, const oracle::Pair &kernel, double lambda) {
    const int64_t n = rows.x.rows;
    Matrix k = oracle::gram(kernel, rows.x, rows.x), u;
    const double total = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
    const auto root = [&](int64_t i) {
        return rows.weights.empty() ? 1
                                    : std::sqrt(rows.weights[static_cast<size_t>(i)] * static_cast<double>(n) / total);
    };
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) k(i, j) *= root(i) * root(j);
    const Vector values = oracle::eigen(k, u);
    Vector out;
    for (int64_t i = 0; i < n; ++i)
        out.push_back(oracle::sum_over(n, [&](int64_t j) {
            const double value = std::max(values[static_cast<size_t>(j)], 0.0);
            return static_cast<long double>(u(i, j)) * u(i, j) * value / (value + lambda);
        }));
    return out;
}

// The rows form a dense clump and a wide one, and a few are far away, so that scores differ by more
// than a factor of 10. If m of n rows are drawn, the probability of row i should be about m l_i /
// sum l. The recursive algorithm approximates scores within a factor of 3, up or down; the counts
// may deviate by 3 standard deviations in addition.
void test_frequencies() {
    const int64_t n = 160, m = 12, seeds = 3000;
    Matrix x = oracle::Numbers(9).matrix(n, 2);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < 2; ++k) x(i, k) *= i < 120 ? 0.3 : i < 152 ? 2 : 9;
    for (bool weighted : {false, true}) {
        const Rows rows(x, weighted ? some_weights(n) : Vector());
        Vector drawn(static_cast<size_t>(n), 0);
        double lambda = 0, dimension = 0;
        for (int seed = 1; seed <= seeds; ++seed) {
            const Outcome out = reduce_with(rows, {{"reducer", "leverage"},
                                                   {"reducer.m", std::to_string(m)},
                                                   {"kernel.sigma", "1"},
                                                   {"seed", std::to_string(seed)}});
            TEST_ASSERT_EQUAL_INT64(m, out.m);
            for (int64_t row : out.index) drawn[static_cast<size_t>(row)] += 1;
            lambda += out.report.at("lambda") / static_cast<double>(seeds);
            dimension += out.report.at("dimension") / static_cast<double>(seeds);
        }
        const Vector exact = exact_scores(rows, oracle::gaussian(1), lambda);
        const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
        TEST_ASSERT_TRUE(dimension > sum / 3 && dimension < 3 * sum);
        double lowest = INFINITY, highest = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double score = exact[static_cast<size_t>(i)], got = drawn[static_cast<size_t>(i)];
            if (weighted && i % 3 == 2) {
                TEST_ASSERT_TRUE(got == 0);
                continue;
            }
            lowest = std::min(lowest, score), highest = std::max(highest, score);
            const double expected = std::min(1.0, static_cast<double>(m) * score / sum) * static_cast<double>(seeds);
            TEST_ASSERT_TRUE(got <= 3 * expected + 3 * std::sqrt(3 * expected));
            TEST_ASSERT_TRUE(got >= expected / 3 - 3 * std::sqrt(expected / 3));
        }
        TEST_ASSERT_TRUE(highest > 10 * lowest); // more than 3 * 3, so that uniform draws would fail
    }
}

void test_same_for_threads() {
    const Rows rows(oracle::clusters(3000, 4), some_weights(3000));
    const Settings settings = {{"reducer", "leverage"}, {"reducer.m", "90"}, {"kernel.sigma", "2"}};
    const Outcome one = reduce_with(rows, settings, 1), two = reduce_with(rows, settings, 2);
    TEST_ASSERT_TRUE(one.index == two.index && one.m == 90);
    TEST_ASSERT_TRUE(one.kernel_evaluations <= one.cost.kernel_evaluations);
    TEST_ASSERT_TRUE(std::is_sorted(one.index.begin(), one.index.end()));
}

void test_refusals() {
    const Rows rows(oracle::Numbers(1).matrix(30, 2));
    refused(rows, {{"reducer", "leverage"}, {"reducer.m", "31"}, {"kernel.sigma", "1"}}, "m = 31, must be <= n = 30");
    refused(rows, {{"reducer", "leverage"}, {"reducer.m", "5"}, {"kernel", "sigmoid"}},
            "need a positive semidefinite kernel");
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_frequencies);
    RUN_TEST(test_same_for_threads);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
