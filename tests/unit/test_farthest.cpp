// Compares the reducer farthest with a plain loop: centres, weights, assignment and radius must be
// bitwise equal.
#include "reducer_problem.h"

namespace {

struct Chosen {
    std::vector<int64_t> index, assignment;
    Vector weights;
    double radius = 0;
};

Chosen plain_loop(const Rows &scene, int64_t first, int64_t m) {
    const Matrix &x = scene.x;
    Chosen out;
    Vector to(static_cast<size_t>(x.rows), INFINITY);
    for (int64_t next = first; static_cast<int64_t>(out.index.size()) < m;) {
        out.index.push_back(next);
        for (int64_t i = 0; i < x.rows; ++i) to[size_t(i)] = std::min(to[size_t(i)], square(x, i, next));
        double best = -1;
        for (int64_t i = 0; i < x.rows; ++i)
            if (scene.weight(i) > 0 && to[size_t(i)] > best) best = to[size_t(i)], next = i;
        out.radius = std::sqrt(best);
        if (best == 0) break;
    }
    out.weights.assign(out.index.size(), 0);
    for (int64_t i = 0; i < x.rows; ++i) {
        out.assignment.push_back(nearest_of(x, out.index, i));
        out.weights[size_t(out.assignment.back())] += scene.weight(i);
    }
    return out;
}

void expect_same(const Rows &scene, int64_t m, const char *what) {
    const Settings settings = {{"reducer", "farthest"}, {"kernel.sigma", "1"}, {"reducer.m", std::to_string(m)}};
    for (int64_t threads : {1, 2, 8}) {
        const Outcome got = reduce_with(scene, settings, threads);
        const Chosen wanted = plain_loop(scene, got.index[0], m);
        TEST_ASSERT_TRUE_MESSAGE(wanted.index == got.index, what);
        TEST_ASSERT_TRUE_MESSAGE(wanted.assignment == got.assignment, what);
        TEST_ASSERT_TRUE_MESSAGE(wanted.weights == got.weights, what);
        TEST_ASSERT_TRUE_MESSAGE(wanted.radius == got.report.at("radius"), what);
    }
}

void test_plain_loop() {
    const double offsets[] = {0, 1e5, 16777216};
    for (int64_t seed = 0; seed < 120; ++seed) {
        oracle::Numbers numbers(static_cast<uint64_t>(seed));
        const int64_t n = 1 + static_cast<int64_t>(numbers.uniform() * 700),
                      d = 1 + static_cast<int64_t>(numbers.uniform() * 20);
        Matrix x = numbers.matrix(n, d);
        for (double &value : x.v)
            // In every fourth case the points lie on a grid, where distances tie.
            value = offsets[seed % 3] + (seed % 4 == 0 ? std::floor(3 * value) : value);
        Rows scene(std::move(x), {}, {}, seed % 5 == 1);
        if (seed % 7 == 3)
            for (int64_t i = 0; i < n; ++i) scene.weights.push_back(i % 2 == 0 && n % 2 == 0 ? 2 : n % 2);
        const int64_t m = 1 + static_cast<int64_t>(numbers.uniform() * static_cast<double>(n - 1));
        expect_same(scene, m, ("seed " + std::to_string(seed)).c_str());
    }
    Rows large(oracle::clusters(8000, 4));
    expect_same(large, 300, "n = 8000");
}

void test_edges() {
    Rows equal(Matrix(30, 2)), threes(Matrix(60, 2));
    expect_same(equal, 5, "equal rows"); // gives one centre
    for (int64_t i = 0; i < 60; ++i) threes.x(i, 1) = static_cast<double>(i / 3);
    expect_same(threes, 60, "rows in threes"); // gives 20 centres
    Rows scene(oracle::Numbers(2).matrix(40, 2));
    refused(scene, {{"reducer", "farthest"}, {"kernel.sigma", "1"}, {"reducer.m", "41"}}, "m = 41, must be <= n = 40");
    std::vector<int64_t> first;
    for (const char *seed : {"1", "2", "3", "1"})
        first.push_back(reduce_with(scene, {{"reducer", "farthest"}, {"kernel.sigma", "1"}, {"seed", seed}}).index[0]);
    TEST_ASSERT_TRUE(first[0] == first[3] && (first[0] != first[1] || first[0] != first[2]));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_plain_loop);
    RUN_TEST(test_edges);
    return UNITY_END();
}
