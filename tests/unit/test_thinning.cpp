// Compares the reducer thinning with random rows: how near the mean element of the selected rows is
// to that of all rows.
#include "reducer_problem.h"

namespace {

const oracle::Pair kernel = oracle::gaussian(1);

Settings with(const std::string &reducer, int64_t m, int seed) {
    return {
        {"reducer", reducer}, {"kernel.sigma", "1"}, {"reducer.m", std::to_string(m)}, {"seed", std::to_string(seed)}};
}

// |sum_i w_i psi(x_i) - sum_j v_j psi(c_j)| / n
double distance_of(const Matrix &k, const Vector &weights, const Outcome &out) {
    const double n = static_cast<double>(k.rows);
    Vector difference = weights;
    for (size_t j = 0; j < out.weights.size(); ++j) difference[static_cast<size_t>(out.index[j])] -= out.weights[j];
    return std::sqrt(std::max(
               0.0, oracle::sum_over(k.rows,
                                     [&](int64_t i) {
                                         const long double of_row = oracle::sum_over(k.rows, [&](int64_t j) {
                                             return static_cast<long double>(difference[static_cast<size_t>(j)]) *
                                                    k(i, j);
                                         });
                                         return of_row * difference[static_cast<size_t>(i)];
                                     }))) /
           n;
}

Vector scaled(Vector weights, int64_t n) {
    if (weights.empty()) weights.assign(static_cast<size_t>(n), 1);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double &weight : weights) weight *= static_cast<double>(n) / total;
    return weights;
}

// For at least 95 of 100 seeds, thinning must come nearer than as many random rows; if both were
// equally good, it would do so for 50 +- 5.
void beats_random(int64_t n, int64_t m, bool weighted) {
    const Rows rows(oracle::Numbers(2).matrix(n, 2), weighted ? some_weights(n) : Vector());
    const Vector weights = scaled(rows.weights, n);
    const Matrix k = oracle::gram(kernel, rows.x, rows.x);
    int64_t better = 0;
    for (int seed = 1; seed <= 100; ++seed) {
        const Outcome out = reduce_with(rows, with("thinning", m, seed));
        TEST_ASSERT_TRUE(out.m <= m && out.kernel_evaluations <= out.cost.kernel_evaluations);
        for (int64_t row : out.index) TEST_ASSERT_TRUE(weights[static_cast<size_t>(row)] > 0);
        better += distance_of(k, weights, out) < distance_of(k, weights, reduce_with(rows, with("uniform", m, seed)));
    }
    TEST_ASSERT_TRUE(better >= 95);
}

void test_beats_random() {
    beats_random(1000, 30, false); // n is not of the form m 2^g
    beats_random(1000, 30, true);
    beats_random(150, 100, false); // too few rows to halve, so there are only exchanges
}

// If m is 4 times as large, thinning reduces the distance to a quarter, random rows to a half.
// The test asks for 4^-0.75, which lies between, for means of 10 seeds.
void test_falls() {
    const int64_t n = 2048;
    const Rows rows(oracle::Numbers(4).matrix(n, 2));
    const Matrix k = oracle::gram(kernel, rows.x, rows.x);
    double few = 0, many = 0;
    for (int seed = 1; seed <= 10; ++seed) {
        few += distance_of(k, scaled({}, n), reduce_with(rows, with("thinning", 16, seed)));
        many += distance_of(k, scaled({}, n), reduce_with(rows, with("thinning", 64, seed)));
    }
    TEST_ASSERT_TRUE(many <= few / std::pow(4, 0.75));
}

void test_all_and_none() {
    const Rows rows(oracle::Numbers(4).matrix(50, 2));
    const Outcome all = reduce_with(rows, with("thinning", 50, 1));
    TEST_ASSERT_EQUAL_INT64(50, all.m); // each row once
    const Outcome one = reduce_with(rows, with("thinning", 50, 1), 1),
                  again = reduce_with(rows, with("thinning", 7, 3), 1),
                  two = reduce_with(rows, with("thinning", 7, 3), 2);
    TEST_ASSERT_TRUE(one.points.v == all.points.v && again.points.v == two.points.v);
    // One of three rows has nearly all the weight, so it is drawn each time.
    Matrix x(3, 1);
    for (int64_t i = 0; i < 3; ++i) x(i, 0) = static_cast<double>(9 * i);
    const Rows heavy(x, {1, 100, 1});
    const Outcome out = reduce_with(heavy, with("thinning", 3, 1));
    TEST_ASSERT_TRUE(out.m == 1 && out.index[0] == 1);
    refused(rows, with("thinning", 51, 1), "m = 51, must be <= n = 50");
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_beats_random);
    RUN_TEST(test_falls);
    RUN_TEST(test_all_and_none);
    return UNITY_END();
}
