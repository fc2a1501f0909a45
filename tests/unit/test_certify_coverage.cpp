// Tests certificates on random problems: how often a guarantee fails, and how close estimates and
// guarantees are to the truth. There are 2012 problems of 2 to 2000 points: Gaussian, Laplacian and
// Cauchy kernels, duplicates, clusters, and a residual with a spike that no pivot sees; factors in
// f64 and f32 with 1 to 200 columns; 1 to 20 directions; 20 to 2000 sampled rows.
#include "certify_problems.h"
#include "unity_cpp.h"

using namespace mercer;
using namespace certify_problems;

namespace {

constexpr int64_t problems = 2012, large = 12;
// At delta = 0.2, bounds that fail as often as they are allowed to would fail in 402 of the 2012
// problems, and in more than 456 (three standard deviations more) with probability 1/700. At delta
// = 1e-3 they would fail twice, but these bounds are known to fail less often.
constexpr int allowed_often = 456, allowed_rarely = 1;

Options draw(int64_t k) {
    Gauss random(static_cast<uint64_t>(k) + 12345);
    for (int skip = 0; skip < 8; ++skip) random.uniform();
    Options options;
    options.kind = static_cast<Kind>(k % static_cast<int64_t>(Kind::count));
    options.n = k < problems - large ? random.between(2, 250) : k == problems - 1 ? 2000 : random.between(300, 1200);
    options.m = random.between(1, std::min<int64_t>(options.n, 200));
    options.p = random.between(1, 20);
    options.centred = random.uniform() < 0.7;
    options.f32 = options.n <= 400 && random.uniform() < 0.3;
    return options;
}

struct Tally {
    int wrong_upper = 0, wrong_lower = 0, inconsistent = 0;
    std::vector<double> estimate, guarantee; // |value - lambda| and upper - lambda, each divided by lambda - theta
};

double median(std::vector<double> values) {
    TEST_ASSERT_TRUE(values.size() > 50);
    std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void judge(const Bounds &bounds, const Problem &problem, int64_t s, Tally &tally) {
    bool upper = false, lower = false;
    for (size_t i = 0; i < bounds.value.size(); ++i) {
        const double exact = problem.exact[i], theta = problem.spectrum.theta[i], missing = exact - theta;
        TEST_ASSERT_TRUE(std::isfinite(bounds.upper[i]) && bounds.lower[i] <= bounds.value[i] &&
                         bounds.value[i] <= bounds.upper[i]);
        upper |= bounds.upper[i] < exact - problem.rounding();
        lower |= bounds.lower[i] > exact + problem.rounding();
        if (missing < 1e-4 * problem.exact[0] || s < 1000) continue;
        tally.estimate.push_back(std::fabs(bounds.value[i] - exact) / missing);
        tally.guarantee.push_back((bounds.upper[i] - exact) / missing);
    }
    tally.wrong_upper += upper, tally.wrong_lower += lower;
    tally.inconsistent += !bounds.consistent && problem.spectrum.total() > 1e-6 * problem.exact[0];
}

void test_coverage() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Tally often, rarely, plain;
    for (int64_t k = 0; k < problems; ++k) {
        const Problem problem = make(draw(k), static_cast<uint64_t>(k), false);
        const uint64_t seed = static_cast<uint64_t>(k);
        Gauss random(seed + 777);
        for (int skip = 0; skip < 8; ++skip) random.uniform();
        const int64_t s = random.between(20, 2000);
        const RowMoments rows = sampled_rows(run, problem, s, seed);
        judge(trace_bounds(problem.spectrum), problem, s, plain);
        const Sides sides = k % 2 ? Sides::both : Sides::upper;
        for (Tally *tally : {&often, &rarely}) {
            const Shares shares = share_failure(tally == &often ? 0.2 : 1e-3, sides);
            const double norm = sampled_norm(run, problem, 3000, shares.pairs, seed);
            judge(row_bounds(problem.spectrum, rows, norm, shares.rows, sides), problem, s, *tally);
        }
    }
    for (const Tally *tally : {&plain, &rarely, &often})
        printf("%s: %d upper and %d lower bounds wrong, %d inconsistent; |estimate - true| / |theta - true| %.3g, "
               "(guarantee - true) / |theta - true| %.3g (medians of %zu)\n",
               tally == &plain   ? "trace"
               : tally == &often ? "delta 0.2"
                                 : "delta 0.001",
               tally->wrong_upper, tally->wrong_lower, tally->inconsistent, median(tally->estimate),
               median(tally->guarantee), tally->estimate.size());
    TEST_ASSERT_TRUE(plain.wrong_upper == 0 && plain.wrong_lower == 0); // these bounds are certain
    TEST_ASSERT_TRUE(often.wrong_upper + often.wrong_lower <= allowed_often);
    TEST_ASSERT_TRUE(rarely.wrong_upper + rarely.wrong_lower <= allowed_rarely &&
                     rarely.inconsistent <= allowed_rarely);
    TEST_ASSERT_TRUE(median(rarely.estimate) < 1.0 / 3);
    TEST_ASSERT_TRUE(median(rarely.guarantee) < 0.5 * median(plain.guarantee));
}

// Draws many samples for one problem, to test the inequality from which all bounds follow:
// lambda_max(G - mean X) <= dev. Its violations would show in lower bounds, most of all where theta
// is far below the eigenvalue.
void test_one_problem() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::slow;
    options.n = 150, options.m = 10, options.p = 6;
    const Problem problem = make(options, 4, true);
    int wrong = 0, useful = 0;
    const int samples = 1000;
    for (int k = 0; k < samples; ++k) {
        const RowMoments rows = sampled_rows(run, problem, 2000, static_cast<uint64_t>(k));
        const Bounds bounds = row_bounds(problem.spectrum, rows, problem.norm, 0.2, Sides::both);
        bool bad = false;
        for (size_t i = 0; i < bounds.value.size(); ++i) {
            bad |= !(bounds.upper[i] >= problem.exact[i] - problem.rounding() &&
                     bounds.lower[i] <= problem.exact[i] + problem.rounding());
            useful += bounds.lower[i] > problem.spectrum.theta[i];
        }
        wrong += bad;
    }
    printf("one problem: %d of %d samples wrong at 0.2, %d lower bounds above theta\n", wrong, samples, useful);
    TEST_ASSERT_TRUE(wrong <= 0.2 * samples);
    TEST_ASSERT_TRUE(useful > samples);
}

// Tests how tight the bounds are for the 10 largest eigenvalues of clustered data: the distance of
// the guarantee from theta is divided by that of the true eigenvalue. p is chosen before rows are
// drawn.
void test_tightness() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    options.n = 2000, options.m = 300, options.p = 40;
    Problem problem = make(options, 2, false);
    const int64_t r = 10, sizes[] = {500, 1000, 2000, 4000, 10000};
    const double most[] = {60, 20, 8, 4, 2.5}; // at n = 20 000, m = 600 the ratios are 39, 13, 5, 2.8, 1.7
    const Shares shares = share_failure(1e-3, Sides::upper);
    const double norm = sampled_norm(run, problem, 100000, shares.pairs, 1);
    for (size_t k = 0; k < 5; ++k) {
        Problem part = problem;
        const int64_t p = choose_width(leading(problem.all, 40), norm, r, sizes[k], shares.rows, Sides::upper);
        part.spectrum = leading(problem.all, p), part.options.p = p;
        const Bounds bounds =
            row_bounds(part.spectrum, sampled_rows(run, part, sizes[k], 7), norm, shares.rows, Sides::upper);
        double worst = 0, low = HUGE_VAL, high = 0;
        for (size_t i = 0; i < r; ++i) {
            const double theta = part.spectrum.theta[i], missing = problem.exact[i] - theta;
            worst = oracle::larger(worst, (bounds.upper[i] - theta) / missing);
            low = std::min(low, (bounds.value[i] - theta) / missing),
            high = oracle::larger(high, (bounds.value[i] - theta) / missing);
        }
        printf("clusters n 2000 m 300 s %5d p %2d: guarantee / true %.2f, estimate / true %.2f to %.2f, trace / true "
               "%.0f\n",
               static_cast<int>(sizes[k]), static_cast<int>(p), worst, low, high,
               part.spectrum.trace / (problem.exact[r - 1] - part.spectrum.theta[r - 1]));
        TEST_ASSERT_TRUE(worst <= most[k]);
        if (sizes[k] >= 2000) TEST_ASSERT_TRUE(low > 1 / 1.3 && high < 1.3);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_coverage);
    RUN_TEST(test_one_problem);
    RUN_TEST(test_tightness);
    return UNITY_END();
}
