// Compares the reducer kmeans with a plain Lloyd iteration that computes all distances in each
// step.
#include "reducer_problem.h"

namespace {

struct Lloyd {
    Matrix centres;
    std::vector<int64_t> own;
    Vector mass;
    double inertia = 0;
};

void assign(Lloyd &state, const Matrix &x) {
    for (int64_t i = 0; i < x.rows; ++i) {
        double best = INFINITY;
        for (int64_t j = 0; j < state.centres.rows; ++j) {
            double e = 0;
            for (int64_t k = 0; k < x.cols; ++k) e += (x(i, k) - state.centres(j, k)) * (x(i, k) - state.centres(j, k));
            if (e < best) best = e, state.own[static_cast<size_t>(i)] = j;
        }
    }
}

Lloyd lloyd(const Rows &rows, const Matrix &start, int64_t iterations) {
    const Matrix &x = rows.x;
    Lloyd out{start, std::vector<int64_t>(static_cast<size_t>(x.rows)), {}, 0};
    const auto weight = [&](int64_t i) { return rows.weights.empty() ? 1 : rows.weights[static_cast<size_t>(i)]; };
    assign(out, x);
    for (int64_t t = 0; t < iterations; ++t) {
        for (int64_t j = 0; j < start.rows; ++j) {
            const auto sum = [&](auto &&term) {
                return oracle::sum_over(x.rows, [&](int64_t i) {
                    return out.own[static_cast<size_t>(i)] == j ? static_cast<long double>(weight(i)) * term(i) : 0;
                });
            };
            const double mass = sum([](int64_t) { return 1; });
            for (int64_t k = 0; k < x.cols && mass > 0; ++k)
                out.centres(j, k) = sum([&](int64_t i) { return x(i, k); }) / mass;
        }
        const std::vector<int64_t> before = out.own;
        assign(out, x);
        if (out.own == before) break;
    }
    out.mass.assign(static_cast<size_t>(start.rows), 0);
    for (int64_t i = 0; i < x.rows; ++i) {
        const int64_t j = out.own[static_cast<size_t>(i)];
        out.mass[static_cast<size_t>(j)] += weight(i);
        out.inertia += weight(i) * oracle::sqdist(x.row(i), out.centres.row(j), x.cols);
    }
    return out;
}

// m rows of x, evenly spread.
Matrix some_rows(const Matrix &x, int64_t m) {
    Matrix out(m, x.cols);
    for (int64_t j = 0; j < m; ++j) std::copy_n(x.row(j * (x.rows / m)), x.cols, &out(j, 0));
    return out;
}

// Checks that clusters, centres, weights and inertia are those of the plain iteration. Sums over a
// cluster may differ by their rounding, n u of their size.
void compare(const Rows &rows, const Matrix &start, const std::string &iterations, double allowed) {
    const Lloyd naive = lloyd(rows, start, std::stoll(iterations));
    double total = 0;
    for (double mass : naive.mass) total += mass;
    const Outcome out = reduce_with(rows, {{"reducer", "kmeans"},
                                           {"reducer.start", "landmarks"},
                                           {"reducer.iterations", iterations},
                                           {"kernel.sigma", "1"}});
    TEST_ASSERT_TRUE(out.bytes >= out.cost.bytes && out.cost.m == start.rows);
    std::vector<int64_t> number;
    int64_t kept = 0;
    for (double mass : naive.mass) number.push_back(mass > 0 ? kept++ : -1);
    TEST_ASSERT_EQUAL_INT64(kept, out.m);
    for (int64_t i = 0; i < rows.x.rows; ++i) {
        const int64_t now = out.assignment[static_cast<size_t>(i)],
                      expected = number[static_cast<size_t>(naive.own[static_cast<size_t>(i)])];
        TEST_ASSERT_TRUE(expected < 0 ? now >= 0 && now < kept : now == expected);
    }
    for (int64_t j = 0; j < start.rows; ++j) {
        const int64_t at = number[static_cast<size_t>(j)];
        if (at < 0) continue;
        for (int64_t k = 0; k < start.cols; ++k)
            TEST_ASSERT_TRUE(std::fabs(out.points(at, k) - naive.centres(j, k)) <= allowed);
        const double share = naive.mass[static_cast<size_t>(j)] / total * static_cast<double>(rows.x.rows);
        TEST_ASSERT_TRUE(std::fabs(out.weights[static_cast<size_t>(at)] - share) <=
                         1e-12 * static_cast<double>(rows.x.rows));
    }
    const double scaled = naive.inertia / total * static_cast<double>(rows.x.rows);
    // If each coordinate of the centres is off by `allowed`, this is the root of the sum, over all
    // rows, of the squared error of their centre.
    const double moved = allowed * std::sqrt(static_cast<double>(rows.x.rows * rows.x.cols));
    TEST_ASSERT_TRUE(std::fabs(out.report.at("inertia") - scaled) <=
                     1e-12 * scaled + 2 * moved * std::sqrt(scaled) + moved * moved);
}

void test_is_lloyd() {
    for (const char *iterations : {"0", "1", "3", "100"})
        for (int64_t m : {1, 2, 17, 200})
            for (int64_t kind = 0; kind < 4; ++kind) {
                const int64_t n = 900, d = kind == 0 ? 1 : kind == 1 ? 3 : 19;
                Matrix x = kind == 2 ? oracle::clusters(n, d) : oracle::Numbers(3).matrix(n, d);
                if (kind == 3) // far from the origin, products are accurate only after the mean is subtracted
                    for (double &value : x.v) value += 1e7;
                const Matrix start = some_rows(x, m);
                Rows plain(x, {}, start), weighted(x, some_weights(n), start);
                const double allowed = (kind == 3 ? 1e7 : 10) * static_cast<double>(n) * 0x1p-52;
                compare(plain, start, iterations, allowed);
                compare(weighted, start, iterations, allowed);
            }
}

// Rows on a lattice, with start centres on lattice points, each point twice: all distances are
// exact in f64, and many of them tie.
void test_ties() {
    Matrix x(600, 2), start(24, 2);
    for (int64_t i = 0; i < 600; ++i) x(i, 0) = static_cast<double>(i % 24), x(i, 1) = static_cast<double>(i / 24);
    for (int64_t j = 0; j < 24; ++j)
        start(j, 0) = static_cast<double>(j % 6 * 4), start(j, 1) = static_cast<double>(j % 12 / 6 * 8);
    compare(Rows(x, {}, start), start, "0", 0);
    compare(Rows(x, {}, start), start, "1", 1e-12);
}

void test_seeds() {
    const Rows rows(oracle::clusters(4000, 6, 0.05), some_weights(4000));
    const Settings settings = {{"reducer", "kmeans"}, {"reducer.m", "20"}, {"kernel.sigma", "1"}};
    int64_t found = 0;
    for (int seed = 1; seed <= 20; ++seed) {
        Settings with = settings;
        with.emplace_back("seed", std::to_string(seed));
        const Outcome one = reduce_with(rows, with, 1), two = reduce_with(rows, with, 2);
        TEST_ASSERT_TRUE(one.points.v == two.points.v && one.assignment == two.assignment);
        TEST_ASSERT_EQUAL_INT64(20, one.m);
        // The noise of the 20 clusters is in [-0.05, 0.05): if each has a seed, the inertia is
        // 4000 x 6 x 0.05^2 / 3 = 20.
        found += one.report.at("inertia") < 40;
    }
    TEST_ASSERT_TRUE(found >= 8); // uniform seeds would find all clusters in 20!/20^20 = 2e-8 of all draws
    // If fewer rows are distinct than centres requested, each distinct row must be a centre.
    Matrix few(300, 2);
    for (int64_t i = 0; i < 300; ++i) few(i, 0) = static_cast<double>(i % 7);
    const Outcome out = reduce_with(Rows(few), {{"reducer", "kmeans"}, {"reducer.m", "30"}, {"kernel.sigma", "1"}});
    TEST_ASSERT_EQUAL_INT64(7, out.m);
    TEST_ASSERT_TRUE(out.report.at("inertia") == 0);
}

// 160 MB of rows are more than the plugin keeps in memory, so that it reads them in blocks and
// draws seeds from a sample of them.
void test_blocks() {
    const int64_t n = 2000, d = 10000;
    const Matrix x = oracle::clusters(n, d), start = some_rows(x, 4);
    const Rows rows(x, {}, start);
    compare(rows, start, "2", 10 * static_cast<double>(n) * 0x1p-52);
    const Settings settings = {{"reducer", "kmeans"}, {"reducer.m", "20"}, {"kernel.sigma", "1"}};
    const Outcome one = reduce_with(rows, settings, 1), two = reduce_with(rows, settings, 2);
    TEST_ASSERT_TRUE(one.m == 20 && one.points.v == two.points.v && one.assignment == two.assignment);
    // The bound allows few clusters without a seed: the squared distance of a row is d/3 to the
    // mean of its own cluster, 6 d to that of another one, and 10 d/3 to the mean of all rows.
    TEST_ASSERT_TRUE(one.report.at("inertia") < 2 * static_cast<double>(n * d));
}

// If seeds are drawn from a sample, the clusters and bounds found for its rows must not be used for
// the rows of the data: each row must belong to its nearest seed.
void test_seeds_of_a_sample() {
    const int64_t n = 1100, d = 16384;
    const Rows rows(oracle::Numbers(12).matrix(n, d));
    for (const char *seed : {"0", "3"}) {
        const Settings settings = {{"reducer", "kmeans"},
                                   {"reducer.m", "2"},
                                   {"kernel.sigma", "1"},
                                   {"reducer.iterations", "0"},
                                   {"seed", seed}};
        const Outcome out = reduce_with(rows, settings, 2);
        for (int64_t i = 0; i < n; ++i) {
            auto to = [&](int64_t j) { return oracle::sqdist(rows.x.row(i), out.points.row(j), d); };
            TEST_ASSERT_EQUAL_INT64(to(1) < to(0), out.assignment[static_cast<size_t>(i)]);
        }
    }
}

void test_refusals() {
    const Rows rows(oracle::Numbers(1).matrix(30, 2)), started(rows.x, {}, some_rows(rows.x, 3));
    refused(rows, {{"reducer", "kmeans"}, {"reducer.m", "31"}, {"kernel.sigma", "1"}}, "m = 31, must be <= n = 30");
    refused(rows, {{"reducer", "kmeans"}, {"reducer.start", "landmarks"}, {"kernel.sigma", "1"}}, "the data have none");
    refused(started, {{"reducer", "kmeans"}, {"reducer.m", "4"}, {"reducer.start", "landmarks"}, {"kernel.sigma", "1"}},
            "m = 4, must equal the number of landmarks to start from, 3");
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_is_lloyd);
    RUN_TEST(test_ties);
    RUN_TEST(test_seeds);
    RUN_TEST(test_blocks);
    RUN_TEST(test_seeds_of_a_sample);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
