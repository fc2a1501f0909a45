// Compares greedy and given pivots with the algorithm that adds one column at a time, and checks
// the service that plugins call.
#include "pivots_problem.h"

#include <cstring>

namespace {

// ---- equal to the naive algorithm

// Random rows in a box. Depending on the seed, some rows repeat, all lie on a lattice so that
// distances tie, the diagonal is not constant, or rows have weights.
struct Problem {
    Matrix k;
    Vector weights;
    explicit Problem(uint64_t seed) {
        oracle::Numbers numbers(seed);
        const int64_t n = 2 + static_cast<int64_t>(numbers.uniform() * (seed % 7 == 0 ? 600 : 150));
        const int64_t d = 1 + static_cast<int64_t>(numbers.uniform() * 4);
        Matrix x = numbers.matrix(n, d);
        if (seed % 3 == 1)
            for (double &value : x.v) value = std::round(2 * value) / 2;
        for (int64_t i = 0; i < n && seed % 4 == 1; ++i)
            if (numbers.uniform() < 0.5)
                std::copy_n(x.row(static_cast<int64_t>(numbers.uniform() * static_cast<double>(n))), d, &x(i, 0));
        k = gaussian_gram(x, 0.15 + numbers.uniform());
        Vector scale(static_cast<size_t>(n), 1);
        for (double &value : scale) value = seed % 5 == 2 ? 1 + numbers.uniform() : 1;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) k(i, j) *= scale[static_cast<size_t>(i)] * scale[static_cast<size_t>(j)];
        for (int64_t i = 0; i < n && seed % 4 == 2; ++i)
            weights.push_back(i > 0 && numbers.uniform() < 0.3 ? 0 : 2 * numbers.uniform() + 0.1);
    }
};

// The stop keeps residuals above 1e-3 of the diagonal, so that rounding does not decide which
// scores tie.
void test_equal_to_naive() {
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        Problem problem(seed);
        const MatrixRows matrix(problem.k);
        double scale = 0;
        for (int64_t i = 0; i < problem.k.rows; ++i) scale = std::max(scale, problem.k(i, i));
        const PivotStop stop = stop_at(problem.k.rows, 0, 1e-3 * scale);
        check_factor(greedy(matrix, stop, problem.weights), naive_greedy(problem.k, stop, problem.weights),
                     scale * tolerance::pivots(problem.k.rows));
    }
}

void test_many() { // twenty clusters, several sweeps
    const int64_t n = 2000, m = 300, d = 8;
    oracle::Numbers numbers(3);
    const Matrix centres = numbers.matrix(20, d, -3, 3);
    Matrix x(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < d; ++j) x(i, j) = centres(i % 20, j) + numbers() + numbers();
    const Matrix k = gaussian_gram(x, 2);
    const Result got = greedy(MatrixRows(k), stop_at(m));
    check_factor(got, naive_greedy(k, stop_at(m)), tolerance::pivots(m));
    TEST_ASSERT_TRUE(got.sweeps <= 30);
}

// The matrix is diagonal with nearly equal entries, so that all residuals tie until they are
// chosen.
void test_tied() {
    for (int64_t n : {1, 7, 300, 700}) {
        Matrix k(n, n);
        for (int64_t i = 0; i < n; ++i) k(i, i) = 2;
        for (int64_t i = 0; i < n; ++i)
            k(i, i) *= 1 - 1e-13 * static_cast<double>((i * 7919) % n); // noise that the tie rule ignores
        const Result got = greedy(MatrixRows(k), stop_at(n));
        TEST_ASSERT_EQUAL_size_t(static_cast<size_t>(n), got.index.size());
        for (int64_t i = 0; i < n; ++i) TEST_ASSERT_EQUAL_INT64(i, got.index[static_cast<size_t>(i)]);
    }
}

void test_golden() { // expected values are those printed in the specification
    Result got = greedy(MatrixRows(gaussian_gram(oracle::golden_points(), std::sqrt(0.32))), stop_at(8));
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{0, 20, 11, 7, 16, 58, 23, 21}));
    TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, .106827839983, got.mse);
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    got = greedy(MatrixRows(gaussian_gram(x, 8)), stop_at(5));
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{0, 11, 3, 6, 9}));
    TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed_small, .0690288501165, got.mse);
}

void test_rank() {
    Matrix x = oracle::golden_points();
    for (int64_t i = 5; i < 60; ++i) // five distinct rows
        std::copy_n(x.row(i % 5), 3, &x(i, 0));
    Result got = greedy(MatrixRows(gaussian_gram(x, 0.5)), stop_at(60));
    std::vector<int64_t> sorted = got.index;
    std::sort(sorted.begin(), sorted.end());
    TEST_ASSERT_TRUE((sorted == std::vector<int64_t>{0, 1, 2, 3, 4})); // the first one of equal rows
    TEST_ASSERT_TRUE(got.rank_reached && got.mse <= 1e-10);
    Matrix one(1, 1);
    one(0, 0) = 4;
    got = greedy(MatrixRows(one), stop_at(7));
    TEST_ASSERT_TRUE(got.index.size() == 1 && got.factor(0, 0) == 2 && got.mse == 0 && !got.rank_reached);
    got = greedy(MatrixRows(Matrix(3, 3)), stop_at(3));
    TEST_ASSERT_TRUE(got.index.empty() && got.rank_reached && got.trace == 0);
    Matrix k = oracle::product(Matrix(oracle::golden_points()), oracle::transposed(oracle::golden_points()));
    got = greedy(MatrixRows(k), stop_at(60)); // linear kernel in three dimensions
    TEST_ASSERT_TRUE(got.index.size() == 3 && got.rank_reached);
}

// ---- stops

// If a stop requires exactly what s pivots leave, growth must end after s pivots, also inside a
// block.
template <class T>
void check_stops(uint64_t seed, int64_t most) {
    Problem problem(seed);
    const MatrixRows matrix(problem.k);
    const Result all = greedy<T>(matrix, stop_at(most), problem.weights);
    for (int64_t s = 1; s < static_cast<int64_t>(all.index.size()); s += 3) {
        const Result part = greedy<T>(matrix, stop_at(s), problem.weights);
        const PivotStop stops[] = {stop_at(most, part.mse * (1 + 1e-6)), stop_at(most, 0, part.largest * (1 + 1e-6)),
                                   stop_at(most, 0, 0, part.trace * (1 + 1e-6))};
        for (const PivotStop &stop : stops) {
            const Result got = greedy<T>(matrix, stop, problem.weights);
            TEST_ASSERT_TRUE(got.index == part.index);
            const double allowed = 1e-5 * part.largest + (sizeof(T) == 4 ? 1e-5 : 1e-13);
            TEST_ASSERT_DOUBLE_WITHIN(allowed, part.mse, got.mse);
            TEST_ASSERT_DOUBLE_WITHIN(allowed, part.trace, got.trace);
            TEST_ASSERT_DOUBLE_WITHIN(allowed, part.largest, got.largest);
            for (size_t i = 0; i < part.residual.size(); ++i)
                TEST_ASSERT_DOUBLE_WITHIN(allowed, part.residual[i], got.residual[i]);
        }
    }
    // Growth chooses at least one pivot, even if the stop is met from the beginning.
    TEST_ASSERT_EQUAL_size_t(1, greedy<T>(matrix, stop_at(most, 1e9), problem.weights).index.size());
}

void test_stops() {
    for (uint64_t seed : {7, 14, 42}) check_stops<double>(seed, 60); // 14 and 42 have weights
    check_stops<float>(14, 30);
}

// ---- growth

void test_continued() {
    Problem problem(56);
    const MatrixRows matrix(problem.k);
    const Result at_once = greedy(matrix, stop_at(90));
    Run run({}, nullptr);
    PartialCholesky<double> factor(run, matrix.rows(), 4);
    for (int64_t m : {3, 3, 20, 41, 90}) factor.grow_greedy(stop_at(m));
    const Result got = result_of(factor);
    TEST_ASSERT_TRUE(got.index == at_once.index);
    for (size_t i = 0; i < got.factor.v.size(); ++i)
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::pivots(90), at_once.factor.v[i], got.factor.v[i]);
    factor.grow_greedy(stop_at(200, 1)); // mse <= 1 holds already
    TEST_ASSERT_EQUAL_INT64(90, factor.count());
}

void test_append() {
    Problem problem(7); // n is large enough for several blocks
    const int64_t n = problem.k.rows;
    const MatrixRows matrix(problem.k);
    std::vector<int64_t> given;
    for (int64_t i = 0; i < std::min<int64_t>(n, 300); ++i) given.push_back((i * 37 + 11) % n);
    given.insert(given.begin() + 5, given[2]); // a row given twice, which is skipped
    Run run({}, nullptr);
    PartialCholesky<double> factor(run, matrix.rows(), 1);
    factor.grow_greedy(stop_at(3));
    const int64_t taken = factor.append(given.data(), static_cast<int64_t>(given.size()));
    const Result got = result_of(factor);
    TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(got.index.size()), 3 + taken);
    Vector left = got.residual; // residuals after the first k columns, for descending k
    for (int64_t k = got.factor.cols - 1; k >= 3; --k) {
        double most = 0;
        for (int64_t i = 0; i < n; ++i) left[static_cast<size_t>(i)] += got.factor(i, k) * got.factor(i, k);
        for (int64_t row : given) most = std::max(most, left[static_cast<size_t>(row)]);
        const int64_t pivot = got.index[static_cast<size_t>(k)];
        TEST_ASSERT_TRUE(std::find(given.begin(), given.end(), pivot) != given.end());
        // Rows are taken by decreasing residual, but within a block only up to a factor of 1e-3.
        TEST_ASSERT_TRUE(left[static_cast<size_t>(pivot)] >= 0.999e-3 * most);
    }
    for (int64_t row : given) // skipped rows lie in the span of the pivots
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, got.residual[static_cast<size_t>(row)]);
    for (int64_t i = 0; i < n; ++i) // K = L L^T in the columns of all pivots
        for (int64_t row : got.index)
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, problem.k(i, row),
                                      oracle::dot(got.factor.row(i), got.factor.row(row), got.factor.cols));
    const int64_t bad[] = {n};
    expect_error(MERCER_E_VALUE, "must be 0 to", [&] { factor.append(bad, 1); });
}

void test_f32() {
    Problem problem(7);
    const MatrixRows matrix(problem.k);
    const Result got = greedy<float>(matrix, stop_at(80, 0, 1e-3));
    size_t next = 0;
    const Naive exact = column_by_column(problem.k, stop_at(static_cast<int64_t>(got.index.size())), {},
                                         [&](const auto &) { return got.index[next++]; });
    check_factor(got, exact, tolerance::pivots(80) * 0x1p29); // u of f32 in place of u of f64
}

// ---- what goes wrong

void test_indefinite() {
    Matrix k(300, 300);
    for (int64_t i = 0; i < 300; ++i)
        for (int64_t j = 0; j < 300; ++j) k(i, j) = i == j ? 1 : i / 2 == j / 2 ? 1.01 : 0;
    const MatrixRows liar(k), honest(k, false);
    expect_error(MERCER_E_NUMERICAL, "is not positive semi-definite: 1", [&] { greedy(liar, stop_at(1)); });
    expect_error(MERCER_E_NUMERICAL, "is not positive semi-definite", [&] { greedy(liar, stop_at(200)); });
    expect_error(MERCER_E_NUMERICAL, "is not positive semi-definite", [&] { sampled(liar, stop_at(200), 1); });
    expect_error(MERCER_E_UNSUPPORTED, "kernel = user: pivoted Cholesky needs a positive semi-definite kernel",
                 [&] { greedy(honest, stop_at(1)); });
    k(7, 7) = -1;
    const MatrixRows negative(k);
    expect_error(MERCER_E_NUMERICAL, "k(x, x) of row 7 is -1", [&] { greedy(negative, stop_at(1)); });
}

// ---- the service

mercer_pivot_stop service_stop(int64_t m, double mse = 0, double maxerr = 0) {
    mercer_pivot_stop stop{};
    stop.struct_size = sizeof stop, stop.m = m, stop.mse = mse, stop.maxerr = maxerr, stop.factor = 1;
    return stop;
}

template <class T = double>
Result run_service(const Matrix &k, mercer_pivot_stop stop, mercer_pivot_rule rule, uint64_t seed = 0) {
    Run run({}, nullptr);
    mercer_task task(run, Random(seed, Stage::reducer));
    const MatrixRows matrix(k);
    PartialCholesky<T> factor(run, matrix.rows(), 1);
    Buffer<double> copy;
    mercer_pivots pivots = run_pivots(factor, task, rule, stop, copy);
    Result out = result_of(factor);
    TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(out.index.size()), pivots.count);
    TEST_ASSERT_TRUE(std::equal(out.index.begin(), out.index.end(), pivots.index) && pivots.mse == out.mse &&
                     pivots.trace == out.trace && pivots.sweeps == out.sweeps && pivots.residual == factor.residual());
    for (int64_t j = 0; j < pivots.count; ++j)
        for (int64_t i = 0; i < k.rows; ++i)
            TEST_ASSERT_TRUE(out.factor(i, j) ==
                             pivots.factor[i * pivots.factor_row_stride + j * pivots.factor_col_stride]);
    out.rank_reached = pivots.rank_reached != 0;
    return out;
}

mercer_pivot_rule rule_of(int32_t needs) {
    mercer_pivot_rule rule{};
    rule.struct_size = sizeof rule, rule.needs = needs;
    return rule;
}

void test_service() {
    Matrix k = gaussian_gram(oracle::Numbers(12).matrix(80, 3), 0.5);
    const mercer_pivot_rule plain = rule_of(MERCER_PIVOT_BOUND);
    mercer_pivot_rule squared = plain; // chooses the same rows, one at a time
    squared.score = [](void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        for (int64_t i = 0; i < count; ++i) scores[i] = state->residual[first + i] * state->residual[first + i];
    };
    const Result blocks = run_service(k, service_stop(30), plain), columns = run_service(k, service_stop(30), squared);
    TEST_ASSERT_TRUE(blocks.index == columns.index && blocks.sweeps < 30 && columns.sweeps == 30);
    run_service<float>(k, service_stop(20), plain); // run_service checks the f64 copy of the factor
    for (size_t i = 0; i < blocks.factor.v.size(); ++i)
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::pivots(30), blocks.factor.v[i], columns.factor.v[i]);
    TEST_ASSERT_TRUE(run_service(k, service_stop(80, blocks.mse * (1 + 1e-9)), squared).index == blocks.index);
    TEST_ASSERT_TRUE(run_service(Matrix(3, 3), service_stop(3), squared).rank_reached);
    expect_error(MERCER_E_PLUGIN, "m = 0, must be >= 1", [&] { run_service(k, service_stop(0), plain); });
    expect_error(MERCER_E_PLUGIN, "needs = 8", [&] { run_service(k, service_stop(1), rule_of(8)); });
}

struct Seen {
    int64_t updates = 0, inits = 0;
    bool right = true;
};

// The rule prefers high row numbers, and its callbacks check that they see the states in order. Its
// fifth update fails, which must end the growth with the error of the callback.
void test_rule() {
    Matrix k = gaussian_gram(oracle::golden_points(), std::sqrt(0.32));
    Seen seen;
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_BOUND);
    rule.user = &seen;
    rule.init = [](void *user, const mercer_pivot_state *state) {
        auto &seen = *static_cast<Seen *>(user);
        ++seen.inits;
        seen.right &= state->step == 0 && state->n == 60 && state->residual[59] == 1;
        return int32_t{0};
    };
    rule.score = [](void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        for (int64_t i = 0; i < count; ++i)
            scores[i] = state->residual[first + i] > 0 ? static_cast<double>(first + i)
                                                       : 1e9; // the score of a pivot must be ignored
    };
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t pivot, const double *column) {
        auto &seen = *static_cast<Seen *>(user);
        seen.right &= pivot == 59 - seen.updates && column[pivot] > 0 && state->residual[pivot] == 0 &&
                      state->step == seen.updates + 1;
        return ++seen.updates == 5 ? int32_t{MERCER_E_DATA} : 0;
    };
    Result got = run_service(k, service_stop(4), rule);
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{59, 58, 57, 56}) && seen.right && seen.inits == 1);
    seen = {};
    expect_error(MERCER_E_DATA, "callback failed", [&] { run_service(k, service_stop(9), rule); });
}

void test_drawn_rule() { // pivots are drawn in proportion to the rule's score, none of them twice
    Matrix k(4, 4);
    for (int64_t i = 0; i < 4; ++i) k(i, i) = static_cast<double>(i); // row 0 has score 0
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_SAMPLE);
    rule.score = [](void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        std::copy_n(state->residual + first, count, scores);
    };
    double first[4] = {};
    const int seeds = 6000;
    for (int seed = 0; seed < seeds; ++seed) {
        Result got = run_service(k, service_stop(3), rule, static_cast<uint64_t>(seed));
        TEST_ASSERT_EQUAL_size_t(3, got.index.size());
        first[got.index[0]] += 1.0 / seeds;
        std::sort(got.index.begin(), got.index.end());
        TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{1, 2, 3}));
    }
    for (int i = 0; i < 4; ++i) // 5 standard deviations of a share of 6000 draws
        TEST_ASSERT_DOUBLE_WITHIN(5 * 0.5 / std::sqrt(static_cast<double>(seeds)), i / 6.0, first[i]);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_equal_to_naive);
    RUN_TEST(test_many);
    RUN_TEST(test_tied);
    RUN_TEST(test_golden);
    RUN_TEST(test_rank);
    RUN_TEST(test_stops);
    RUN_TEST(test_continued);
    RUN_TEST(test_append);
    RUN_TEST(test_f32);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_service);
    RUN_TEST(test_rule);
    RUN_TEST(test_drawn_rule);
    return UNITY_END();
}
