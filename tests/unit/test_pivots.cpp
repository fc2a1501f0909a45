// The driver of pivoted Cholesky on a problem that is a plain matrix, against the algorithm that updates all of K.
#include "fit/problem.h"
#include "oracle.h"
#include "temp_files.h" // expect_error
#include "tolerances.h"

using namespace mercer;
using oracle::Matrix;

namespace {

class MatrixProblem : public Problem {
  public:
    explicit MatrixProblem(Matrix k) : k_(std::move(k)) {}
    mercer_shape shape() const override {
        mercer_shape out{};
        out.struct_size = sizeof out, out.n = k_.rows, out.d = out.r = 1, out.dtype = MERCER_F64,
        out.flags = MERCER_PSD;
        return out;
    }
    void columns(const int64_t *index, int64_t count, double *out, int64_t ldo) override {
        for (int64_t j = 0; j < count; ++j)
            for (int64_t i = 0; i < k_.rows; ++i) out[i + j * ldo] = k_(i, index[j]);
    }
    void diagonal(double *out) override {
        for (int64_t i = 0; i < k_.rows; ++i) out[i] = k_(i, i);
    }
    mercer_pivots pivot_cholesky(mercer_task &task, const mercer_pivot_rule &rule,
                                 const mercer_pivot_stop &stop) override {
        return mercer::pivot_cholesky(*this, task, tolerance::u64, rule, stop);
    }
    void visit(const mercer_visit &, const mercer_consumer &) override { TEST_FAIL(); }
    void pairs(const int64_t *, const int64_t *, int64_t, double *) override { TEST_FAIL(); }
    void rows(const int64_t *, int64_t, double *) override { TEST_FAIL(); }
    void weights(double *out) override { std::fill_n(out, k_.rows, 1.0); }
    void landmarks(const int64_t **, const void **) override { TEST_FAIL(); }
    void give(int64_t, const int64_t *, const void *, const double *) override { TEST_FAIL(); }

  private:
    Matrix k_;
};

mercer_pivot_stop stop_at(int64_t m, double mse, double maxerr) {
    mercer_pivot_stop stop{};
    stop.struct_size = sizeof stop, stop.m = m, stop.mse = mse, stop.maxerr = maxerr, stop.factor = 1;
    return stop;
}

struct Result {
    std::vector<int64_t> index;
    Matrix factor;
    std::vector<double> residual;
    double mse;
    bool rank_reached;
};

Result run_pivots(const Matrix &k, mercer_pivot_stop stop,
                  mercer_pivot_rule rule = {sizeof(mercer_pivot_rule), MERCER_PIVOT_BOUND, 0, nullptr, nullptr, nullptr,
                                            nullptr},
                  uint64_t seed = 0) {
    Run run({}, nullptr);
    mercer_task task(run, Random(seed, Stage::reducer));
    MatrixProblem problem(k);
    mercer_pivots pivots = problem.pivot_cholesky(task, rule, stop);
    Result out{{pivots.index, pivots.index + pivots.count},
               Matrix(k.rows, pivots.count),
               {pivots.residual, pivots.residual + k.rows},
               pivots.mse,
               pivots.rank_reached != 0};
    for (int64_t j = 0; j < pivots.count; ++j)
        for (int64_t i = 0; i < k.rows; ++i)
            out.factor(i, j) = pivots.factor[i * pivots.factor_row_stride + j * pivots.factor_col_stride];
    return out;
}

Matrix gaussian_gram(const Matrix &x, double sigma) { return oracle::gram(oracle::gaussian(sigma), x, x); }

void test_naive() {
    for (double sigma : {0.3, 0.8}) {
        Matrix k = gaussian_gram(oracle::Numbers(12).matrix(80, 3), sigma);
        for (int64_t i = 0; i < 80; ++i) // a diagonal that is not constant
            for (int64_t j = 0; j < 80; ++j)
                k(i, j) *= (1 + 0.01 * static_cast<double>(i)) * (1 + 0.01 * static_cast<double>(j));
        const int64_t steps = 15;
        Result got = run_pivots(k, stop_at(steps, 0, 0));
        oracle::Pivots exact = oracle::pivoted_cholesky(k, steps);
        TEST_ASSERT_TRUE(got.index == exact.index && !got.rank_reached);
        double sum = 0;
        for (size_t i = 0; i < 80; ++i) {
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::pivots(steps), exact.residual[i], got.residual[i]);
            sum += got.residual[i];
        }
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::u64 * 80, sum / 80, got.mse);
        for (size_t i = 0; i < got.factor.v.size(); ++i)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::pivots(steps), exact.factor.v[i], got.factor.v[i]);
        for (int64_t s = 0; s < steps; ++s)
            for (int64_t t = 0; t < s; ++t) // zero above: L of the pivots is lower triangular
                TEST_ASSERT_TRUE(got.factor(got.index[static_cast<size_t>(t)], s) == 0);
    }
}

void test_golden() { // specification reduced sets 12, and sampling 6, G1
    Matrix k = gaussian_gram(oracle::golden_points(), std::sqrt(0.32));
    Result got = run_pivots(k, stop_at(8, 0, 0));
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{0, 20, 11, 7, 16, 58, 23, 21}));
    TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed_small, .106827839983, got.mse);
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    got = run_pivots(gaussian_gram(x, 8), stop_at(5, 0, 0));
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{0, 11, 3, 6, 9}));
    TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed_small, .0690288501165, got.mse);
}

void test_stops() {
    Matrix k = gaussian_gram(oracle::golden_points(), std::sqrt(0.32));
    Result all = run_pivots(k, stop_at(30, 0, 0));
    auto steps = [&](double mse, double maxerr) { return run_pivots(k, stop_at(30, mse, maxerr)).index.size(); };
    for (size_t s = 1; s < 30; ++s) { // what s steps leave is reached after s steps, not before
        Result part = run_pivots(k, stop_at(static_cast<int64_t>(s), 0, 0));
        double largest = *std::max_element(part.residual.begin(), part.residual.end());
        TEST_ASSERT_EQUAL_size_t(s, steps(part.mse * (1 + 1e-9), 0));
        TEST_ASSERT_EQUAL_size_t(s, steps(0, largest * (1 + 1e-9)));
    }
    TEST_ASSERT_EQUAL_size_t(1, steps(2, 0)); // at least one vector
    TEST_ASSERT_EQUAL_size_t(30, all.index.size());
}

void test_rank() {
    Matrix x = oracle::golden_points();
    for (int64_t i = 5; i < 60; ++i) // five distinct rows
        std::copy_n(x.row(i % 5), 3, &x(i, 0));
    Result got = run_pivots(gaussian_gram(x, 0.5), stop_at(60, 0, 0));
    TEST_ASSERT_EQUAL_size_t(5, got.index.size());
    TEST_ASSERT_TRUE(got.rank_reached && got.mse <= 1e-10);
    std::vector<int64_t> sorted = got.index;
    std::sort(sorted.begin(), sorted.end());
    TEST_ASSERT_TRUE((sorted == std::vector<int64_t>{0, 1, 2, 3, 4})); // the lowest of equal rows
    Matrix one(1, 1);
    one(0, 0) = 4;
    got = run_pivots(one, stop_at(7, 0, 0));
    TEST_ASSERT_TRUE(got.index.size() == 1 && got.factor(0, 0) == 2 && got.mse == 0);
    Matrix zero(3, 3);
    got = run_pivots(zero, stop_at(3, 0, 0));
    TEST_ASSERT_TRUE(got.index.empty() && got.rank_reached);
}

void test_sampling() { // first pivots are drawn in proportion to the diagonal; chosen ones never again
    Matrix k(4, 4);
    for (int64_t i = 0; i < 4; ++i) k(i, i) = static_cast<double>(i); // row 0 never
    mercer_pivot_rule rule{sizeof rule, MERCER_PIVOT_SAMPLE, 0, nullptr, nullptr, nullptr, nullptr};
    double first[4] = {};
    const int seeds = 6000;
    for (int seed = 0; seed < seeds; ++seed) {
        Result got = run_pivots(k, stop_at(3, 0, 0), rule, static_cast<uint64_t>(seed));
        TEST_ASSERT_EQUAL_size_t(3, got.index.size());
        first[got.index[0]] += 1.0 / seeds;
        std::sort(got.index.begin(), got.index.end());
        TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{1, 2, 3}));
    }
    for (int i = 0; i < 4; ++i) // 5 standard deviations of a share of 6000 draws
        TEST_ASSERT_DOUBLE_WITHIN(5 * 0.5 / std::sqrt(static_cast<double>(seeds)), i / 6.0, first[i]);
}

struct Seen {
    int64_t updates = 0, inits = 0;
    bool right = true;
};

void test_rule() { // a rule of one's own: prefers high rows; sees states in order; may stop with an error
    Matrix k = gaussian_gram(oracle::golden_points(), std::sqrt(0.32));
    Seen seen;
    mercer_pivot_rule rule{sizeof rule, MERCER_PIVOT_BOUND, 0, &seen, nullptr, nullptr, nullptr};
    rule.init = [](void *user, const mercer_pivot_state *state) {
        auto &seen = *static_cast<Seen *>(user);
        ++seen.inits;
        seen.right &= state->step == 0 && state->n == 60 && state->residual[59] == 1;
        return int32_t{0};
    };
    rule.score = [](void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        for (int64_t i = 0; i < count; ++i)
            scores[i] =
                state->residual[first + i] > 0 ? static_cast<double>(first + i) : 1e9; // a chosen one's is ignored
    };
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t pivot, const double *column) {
        auto &seen = *static_cast<Seen *>(user);
        seen.right &= pivot == 59 - seen.updates && column[pivot] > 0 && state->residual[pivot] == 0 &&
                      state->step == seen.updates + 1;
        return ++seen.updates == 5 ? int32_t{MERCER_E_DATA} : 0;
    };
    Result got = run_pivots(k, stop_at(4, 0, 0), rule);
    TEST_ASSERT_TRUE((got.index == std::vector<int64_t>{59, 58, 57, 56}) && seen.right && seen.inits == 1);
    seen = {};
    expect_error(MERCER_E_DATA, "callback failed", [&] { run_pivots(k, stop_at(9, 0, 0), rule); });
    expect_error(MERCER_E_PLUGIN, "m = 0, must be >= 1", [&] { run_pivots(k, stop_at(0, 0, 0), rule); });
    rule.needs = 8;
    expect_error(MERCER_E_PLUGIN, "needs = 8", [&] { run_pivots(k, stop_at(1, 0, 0), rule); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_naive);
    RUN_TEST(test_golden);
    RUN_TEST(test_stops);
    RUN_TEST(test_rank);
    RUN_TEST(test_sampling);
    RUN_TEST(test_rule);
    return UNITY_END();
}
