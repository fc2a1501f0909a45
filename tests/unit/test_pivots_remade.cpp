// Compares a recomputed factor with a stored one: pivots and residuals must be the same, in a
// budget of a quarter of the stored factor, and fits with either must give the same models.
#include "pivots_problem.h"
#include "session.h"

namespace {

// Recomputed rows differ from stored ones only in the order in which products are added: by u per
// term, divided by the root of the residual (above 1e-3, where k(x, x) = 1). The limits 1e-12 and
// 1e-3 are at least ten times as large.
template <class T>
void check_same(const Result &got, const Result &held) {
    const double allowed = sizeof(T) == 4 ? 1e-3 : 1e-12;
    TEST_ASSERT_TRUE(got.index == held.index && got.rank_reached == held.rank_reached && got.sweeps == held.sweeps);
    TEST_ASSERT_DOUBLE_WITHIN(allowed, held.mse, got.mse);
    TEST_ASSERT_DOUBLE_WITHIN(allowed, held.trace, got.trace);
    TEST_ASSERT_DOUBLE_WITHIN(allowed, held.largest, got.largest);
    for (size_t i = 0; i < held.residual.size(); ++i)
        TEST_ASSERT_DOUBLE_WITHIN(allowed, held.residual[i], got.residual[i]);
    for (int64_t row : held.index) TEST_ASSERT_TRUE(got.residual[static_cast<size_t>(row)] == 0);
}

template <class T>
Result grown(const Clusters &data, Factor kind, bool draw, PivotStop stop, int64_t threads = 2, int64_t budget = 0) {
    mercer_run settings = settings_of(threads);
    settings.memory = budget;
    Run run({}, &settings);
    const int64_t before = run.budget()->used();
    PartialCholesky<T> factor(run, data.rows(), PartialCholesky<T>::first_capacity(stop.m, stop.early()), kind);
    draw ? factor.grow_sampled(stop, Random(3, Stage::reducer)) : factor.grow_greedy(stop);
    const TileBytes panels{int64_t{1} << 20, 0, int64_t{2} << 10, int64_t{1} << 10}; // a generous estimate
    TEST_ASSERT_TRUE(run.budget()->peak() - before <=
                     PartialCholesky<T>::bytes(data.x.rows, stop.m, stop.early(), threads, panels, kind).most);
    TEST_ASSERT_TRUE(factor.evaluations() <= PartialCholesky<T>::evaluations(data.x.rows, stop.m, kind));
    return result_of(factor);
}

template <class T>
void check_rules() {
    const Clusters data(5000);
    for (bool draw : {false, true})
        for (PivotStop stop : {stop_at(170), stop_at(400, 0.2)}) { // the second ends inside a round
            const Result held = grown<T>(data, Factor::stored, draw, stop);
            const Result got = grown<T>(data, Factor::recomputed, draw, stop);
            TEST_ASSERT_TRUE(held.index.size() > 60 && held.sweeps > 1);
            check_same<T>(got, held);
            for (int64_t threads : {1, 8})
                TEST_ASSERT_TRUE(grown<T>(data, Factor::recomputed, draw, stop, threads) == got);
        }
}
void test_rules() {
    check_rules<double>();
    check_rules<float>();
}

// Compares a recomputed factor of a matrix that is read entry by entry with the naive algorithm.
// One seed has weights.
void test_naive() {
    for (uint64_t seed : {7, 8, 14}) {
        oracle::Numbers numbers(seed);
        const Matrix k = gaussian_gram(numbers.matrix(1200, 3), 0.4);
        Vector weights;
        for (int64_t i = 0; i < k.rows && seed == 14; ++i) weights.push_back(i % 3 ? 1 + numbers.uniform() : 0);
        const PivotStop stop = stop_at(200, 0, 1e-3);
        const Result got = greedy(MatrixRows(k), stop, weights, Factor::recomputed);
        const Naive naive = naive_greedy(k, stop, weights);
        TEST_ASSERT_TRUE(got.index == naive.index && got.sweeps > 2);
        for (size_t i = 0; i < got.residual.size(); ++i)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::pivots(200), static_cast<double>(naive.d[i]), got.residual[i]);
    }
}

// Grows a factor in five steps: by greedy pivots; by given rows, of which one occurs twice and one
// is already a pivot; by drawn pivots; by greedy pivots up to an early stop; and by more of them.
void test_continued() {
    const Clusters data(3000);
    auto walk = [&](Factor kind) {
        std::vector<int64_t> given = {5, 17, 2900, 17, 40};
        const mercer_run settings = settings_of(2);
        Run run({}, &settings);
        PartialCholesky<double> factor(run, data.rows(), 10, kind);
        factor.grow_greedy(stop_at(30));
        given.push_back(factor.index()[11]);
        TEST_ASSERT_EQUAL_INT64(4, factor.append(given.data(), static_cast<int64_t>(given.size())));
        factor.grow_sampled(stop_at(90), Random(4, Stage::reducer));
        factor.grow_greedy(stop_at(300, factor.mean_residual() * 0.9)); // drops columns of the last round
        factor.grow_greedy(stop_at(200));
        TEST_ASSERT_EQUAL_INT64(200, factor.count());
        return result_of(factor);
    };
    check_same<double>(walk(Factor::recomputed), walk(Factor::stored));
}

void test_budget() { // n m numbers take 46 MiB, but the budget is 12 MiB
    const Clusters data(20000);
    for (bool draw : {false, true}) {
        expect_error(MERCER_E_BUDGET, "budget",
                     [&] { grown<double>(data, Factor::stored, draw, stop_at(300), 2, int64_t{12} << 20); });
        check_same<double>(grown<double>(data, Factor::recomputed, draw, stop_at(300), 2, int64_t{12} << 20),
                           grown<double>(data, Factor::stored, draw, stop_at(300)));
    }
}

// A fit whose budget cannot hold the factor must choose the same centres and, up to rounding,
// compute the same eigenvalues.
void test_fits() {
    const Clusters data(20000);
    Session session;
    const Settings base = {{"kernel", "gaussian"}, {"sigma", "3"}, {"m", "300"}, {"components", "6"}};
    for (const char *reducer : {"greedy", "rpcholesky"})
        for (const auto &[method, mebibytes] : {std::pair("subsampled", 24), std::pair("nystrom", 70)}) {
            Settings settings = base;
            settings.emplace_back("reducer", reducer);
            mercer_run run = settings_of(2);
            const Model held = session.fit(data.x, settings, data.weights, {}, method, &run);
            run.memory = int64_t{mebibytes} << 20;
            const Model recomputed = session.fit(data.x, settings, data.weights, {}, method, &run);
            TEST_ASSERT_TRUE(held.tensor("C").v == recomputed.tensor("C").v);
            const Vector expected = held.vector("lambda"), lambda = recomputed.vector("lambda");
            for (size_t j = 0; j < expected.size(); ++j)
                TEST_ASSERT_DOUBLE_WITHIN(1e-10 * expected[0], expected[j], lambda[j]);
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_rules);
    RUN_TEST(test_naive);
    RUN_TEST(test_continued);
    RUN_TEST(test_budget);
    RUN_TEST(test_fits);
    return UNITY_END();
}
