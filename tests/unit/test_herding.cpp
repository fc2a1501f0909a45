// Compares the reducer herding with plain loops for its definition, and its optimal weights with
// the conditions that they must satisfy.
#include "reducer_problem.h"

namespace {

struct Naive {
    Matrix k;
    Vector mean;
    std::vector<int64_t> draws;
    double gap = INFINITY; // smallest difference between the best two rows of a draw
};

Naive herd(const Rows &rows, const oracle::Pair &kernel, int64_t m) {
    const int64_t n = rows.x.rows;
    Naive out{oracle::gram(kernel, rows.x, rows.x), {}, {}};
    const auto weight = [&](int64_t i) { return rows.weights.empty() ? 1 : rows.weights[static_cast<size_t>(i)]; };
    const double total = oracle::sum_over(n, [&](int64_t i) { return static_cast<long double>(weight(i)); });
    for (int64_t i = 0; i < n; ++i)
        out.mean.push_back(
            oracle::sum_over(n, [&](int64_t j) { return static_cast<long double>(weight(j)) * out.k(i, j); }) / total);
    for (int64_t t = 0; t < m; ++t) {
        double best = -INFINITY, second = -INFINITY;
        int64_t row = -1;
        for (int64_t i = 0; i < n; ++i) {
            if (weight(i) == 0) continue;
            double sum = 0;
            for (int64_t c : out.draws) sum += out.k(i, c);
            const double value = out.mean[static_cast<size_t>(i)] - sum / static_cast<double>(t + 1);
            if (value > best)
                second = best, best = value, row = i;
            else if (value > second)
                second = value;
        }
        out.gap = std::min(out.gap, best - second);
        out.draws.push_back(row);
    }
    return out;
}

void expect_draws(const Outcome &out, const Naive &naive, int64_t n) {
    std::vector<int64_t> centres;
    Vector weights;
    for (int64_t row : naive.draws) {
        const size_t at = static_cast<size_t>(std::find(centres.begin(), centres.end(), row) - centres.begin());
        if (at == centres.size()) centres.push_back(row), weights.push_back(0);
        weights[at] += static_cast<double>(n) / static_cast<double>(naive.draws.size());
    }
    TEST_ASSERT_TRUE(std::equal(centres.begin(), centres.end(), out.index.begin(), out.index.end()));
    for (size_t k = 0; k < weights.size(); ++k)
        TEST_ASSERT_TRUE(std::fabs(weights[k] - out.weights[k]) <= 1e-9 * static_cast<double>(n));
    TEST_ASSERT_TRUE(out.cost.m == static_cast<int64_t>(naive.draws.size()));
}

// Returns |sum_i w_i/n psi(x_i) - sum_j p_j psi(c_j)|^2, where psi is the feature map.
double square_of(const Rows &rows, const Naive &naive, const std::vector<int64_t> &centres, const Vector &weights) {
    const auto share = [&](size_t j) { return weights[j] / static_cast<double>(rows.x.rows); };
    long double sum = 0, total = 0;
    for (int64_t i = 0; i < rows.x.rows; ++i) {
        const double weight = rows.weights.empty() ? 1 : rows.weights[static_cast<size_t>(i)];
        total += weight;
        sum += weight * naive.mean[static_cast<size_t>(i)];
    }
    sum /= total;
    for (size_t i = 0; i < centres.size(); ++i) {
        sum -= 2 * share(i) * naive.mean[static_cast<size_t>(centres[i])];
        for (size_t j = 0; j < centres.size(); ++j) sum += share(i) * share(j) * naive.k(centres[i], centres[j]);
    }
    return static_cast<double>(sum);
}

std::vector<int64_t> index_of(const Outcome &out) { return {out.index.begin(), out.index.end()}; }

void expect_distance(const Rows &rows, const Naive &naive, const Outcome &out) {
    const double expected = square_of(rows, naive, index_of(out), out.weights), got = out.report.at("mmd");
    TEST_ASSERT_TRUE(std::fabs(got * got - expected) <= 1e-12); // the terms that cancel are of size 1
}

void test_golden() { // golden data: specification reduced sets, 12
    const Rows rows(oracle::golden_points());
    const Outcome out = reduce_with(rows, {{"reducer", "herding"}, {"reducer.m", "8"}, {"kernel.gamma", "1.5625"}});
    const std::vector<int64_t> expected = {44, 28, 14, 19, 40, 13, 16, 12};
    TEST_ASSERT_TRUE(expected == index_of(out));
    expect_draws(out, herd(rows, oracle::gaussian(std::sqrt(0.32)), 8), 60);
}

// If no kernel value is negative, the plugin saves work by upper bounds; otherwise it updates the
// sums of all rows after each draw. 3000 rows exceed its set of 1024 hot rows, which therefore
// changes.
void test_is_naive() {
    const oracle::Pair cosine = oracle::cosine, gaussian = oracle::gaussian(1), narrow = oracle::gaussian(0.3);
    for (int64_t n : {700, 3000})
        for (bool weighted : {false, true}) {
            const Rows rows(oracle::Numbers(7).matrix(n, 3), weighted ? some_weights(n) : Vector());
            for (const auto &[kernel, settings] :
                 std::vector<std::pair<oracle::Pair, Settings>>{{gaussian, {{"kernel.sigma", "1"}}},
                                                                {narrow, {{"kernel.sigma", "0.3"}}},
                                                                {cosine, {{"kernel", "cosine"}}}}) {
                const Naive naive = herd(rows, kernel, 60);
                TEST_ASSERT_TRUE(naive.gap > 1e-12); // so that no draw depends on rounding
                Settings all = settings;
                all.insert(all.end(), {{"reducer", "herding"}, {"reducer.m", "60"}});
                for (int64_t threads : {1, 2}) {
                    const Outcome out = reduce_with(rows, all, threads);
                    expect_draws(out, naive, n);
                    expect_distance(rows, naive, out);
                    TEST_ASSERT_TRUE(out.kernel_evaluations <= out.cost.kernel_evaluations);
                }
            }
        }
}

// With three distinct rows, draws must repeat, and each row must be drawn in proportion to its
// number of copies.
void test_repeats() {
    Matrix x(40, 1);
    for (int64_t i = 0; i < 40; ++i) x(i, 0) = i < 20 ? 0 : i < 30 ? 5 : 11;
    const Rows rows(x);
    const Outcome out = reduce_with(rows, {{"reducer", "herding"}, {"reducer.m", "40"}, {"kernel.sigma", "1"}});
    TEST_ASSERT_TRUE((index_of(out) == std::vector<int64_t>{0, 20, 30}));
    TEST_ASSERT_TRUE(std::fabs(out.weights[0] - 20) <= 1.5 && std::fabs(out.weights[1] - 10) <= 1.5);
}

// Checks the optimality conditions: K p - mu is the same number for all drawn rows with p > 0, and
// not smaller for the other drawn rows. Then no other p >= 0 on them with the same sum is better.
void test_optimal() {
    for (double sigma : {0.3, 1.0, 4.0})
        for (int64_t m : {1, 2, 40, 150})
            for (bool weighted : {false, true}) {
                const Rows rows(oracle::Numbers(8).matrix(400, 3), weighted ? some_weights(400) : Vector());
                const Naive naive = herd(rows, oracle::gaussian(sigma), m);
                const Settings settings = {
                    {"reducer", "herding"}, {"reducer.m", std::to_string(m)}, {"kernel.sigma", std::to_string(sigma)}};
                Settings optimal = settings;
                optimal.emplace_back("reducer.optimal", "true");
                const Outcome equal = reduce_with(rows, settings), out = reduce_with(rows, optimal);
                const std::vector<int64_t> given = index_of(equal), kept = index_of(out);
                expect_distance(rows, naive, out);
                double level = -INFINITY, lowest = INFINITY;
                for (int64_t row : given) {
                    double sum = -naive.mean[static_cast<size_t>(row)];
                    for (size_t j = 0; j < kept.size(); ++j) sum += naive.k(row, kept[j]) * out.weights[j] / 400;
                    lowest = std::min(lowest, sum);
                    if (std::find(kept.begin(), kept.end(), row) != kept.end()) level = std::max(level, sum);
                }
                // The plugin adds the ridge 4 m u k(x, x), u = 2^-53, to the diagonal, and
                // multiplies it by ten where the Cholesky factorisation fails. 200 times the first
                // ridge is allowed here.
                TEST_ASSERT_TRUE(level - lowest <= 100 * 4 * static_cast<double>(m) * 0x1p-52);
                TEST_ASSERT_TRUE(out.report.at("mmd") <= equal.report.at("mmd") * (1 + 1e-9));
                for (double weight : out.weights) TEST_ASSERT_TRUE(weight > 0);
            }
}

// If all kernel values are 0, all weights serve equally well; they must still sum to n.
void test_nothing_to_be_near_to() {
    const Rows rows(Matrix(6, 3));
    const Outcome out = reduce_with(
        rows, {{"reducer", "herding"}, {"kernel", "linear"}, {"reducer.m", "3"}, {"reducer.optimal", "true"}});
    TEST_ASSERT_TRUE(out.m >= 1);
    double sum = 0;
    for (double weight : out.weights) sum += weight;
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 6, sum);
}

void test_refusals() {
    const Rows rows(oracle::Numbers(1).matrix(30, 2));
    refused(rows, {{"reducer", "herding"}, {"reducer.m", "31"}, {"kernel.sigma", "1"}}, "m = 31, must be <= n = 30");
    refused(rows, {{"reducer", "herding"}, {"kernel", "sigmoid"}, {"reducer.optimal", "true"}},
            "needs a kernel that is known to be positive semidefinite");
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_golden);
    RUN_TEST(test_is_naive);
    RUN_TEST(test_repeats);
    RUN_TEST(test_optimal);
    RUN_TEST(test_nothing_to_be_near_to);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
