// Compares the bootstrap in Ritz space with refits of kernel PCA to resampled rows: first to the
// same resamples, then to resamples that another generator draws with replacement.
#include "certify/bootstrap.h"
#include "core/blas.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

using namespace mercer;

namespace {

mercer_run threads(int64_t count) {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = count;
    return run;
}

// Returns points in three clusters.
oracle::Matrix points(int64_t n) {
    oracle::Numbers numbers(5);
    oracle::Matrix x = numbers.matrix(n, 3);
    for (int64_t i = 0; i < n; ++i) x(i, i % 3) += 2.5;
    return x;
}

std::vector<double> top(int64_t n, std::vector<double> a, int64_t r, std::vector<double> &vectors) {
    std::vector<double> values(static_cast<size_t>(r));
    vectors.resize(static_cast<size_t>(n * r));
    eigh_top(n, a.data(), n, r, values.data(), vectors.data(), n);
    return values;
}

// Returns the r largest eigenvalues of the covariance of the points whose kernel matrix is K, where
// row i is present c_i times. With c divided by its sum, S = diag(sqrt c) and a vector e of ones,
// they are the eigenvalues of S (I - e c^T) K (I - c e^T) S or, if not centred, of S K S.
std::vector<double> refit(const oracle::Matrix &k, std::vector<double> c, bool centred, int64_t r) {
    const int64_t n = k.rows;
    double total = 0, whole = 0;
    std::vector<double> mean(static_cast<size_t>(n)), a(static_cast<size_t>(n * n)), vectors;
    for (double value : c) total += value;
    for (double &value : c) value /= total;
    for (int64_t i = 0; i < n && centred; ++i) mean[static_cast<size_t>(i)] = oracle::dot(k.row(i), c.data(), n);
    for (int64_t i = 0; i < n; ++i) whole += c[static_cast<size_t>(i)] * mean[static_cast<size_t>(i)];
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const size_t si = static_cast<size_t>(i), sj = static_cast<size_t>(j);
            a[static_cast<size_t>(i + j * n)] = std::sqrt(c[si] * c[sj]) * (k(i, j) - mean[si] - mean[sj] + whole);
        }
    return top(n, a, r, vectors);
}

// Returns the scores of all points in the p leading directions. outside: the variance outside these
// directions.
std::vector<double> scores(const oracle::Matrix &k, const std::vector<double> &weights, bool centred, int64_t p,
                           double *outside = nullptr) {
    const int64_t n = k.rows;
    oracle::Vector w(weights);
    const oracle::Kpca model = oracle::kpca(k, w, centred, p);
    const oracle::Matrix z = model.scores(k);
    if (outside) *outside = model.total - std::accumulate(model.lambda.begin(), model.lambda.begin() + p, 0.0);
    std::vector<double> out(static_cast<size_t>(n * p));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < p; ++j) out[static_cast<size_t>(i + j * n)] = z(i, j);
    return out;
}

void test_counts() {
    const Random random(3, Stage::bootstrap);
    double seen[8] = {}, chance = std::exp(-1.0), mean = 0;
    const int64_t draws = 200000;
    for (int64_t i = 0; i < draws; ++i) {
        const int64_t count = bootstrap_count(random, i % 7, i);
        TEST_ASSERT_TRUE(count >= 0 && count < 21);
        mean += static_cast<double>(count) / static_cast<double>(draws);
        if (count < 8) seen[count] += 1 / static_cast<double>(draws);
    }
    TEST_ASSERT_DOUBLE_WITHIN(5 / std::sqrt(static_cast<double>(draws)), 1, mean); // 5 standard deviations
    for (int k = 0; k < 8; ++k) {
        TEST_ASSERT_DOUBLE_WITHIN(5 * std::sqrt(chance / static_cast<double>(draws)), chance, seen[k]);
        chance /= k + 1;
    }
}

// Each replicate must equal a refit to the same resample, up to the variance outside the p
// directions. A resample multiplies this variance by at most the largest count of a row, which is 6
// here.
void test_same_resamples() {
    const int64_t n = 60, r = 4, p = 50;
    double outside = 0;
    const oracle::Matrix x = points(n), k = oracle::gram(oracle::gaussian(1), x, x);
    for (bool centred : {true, false})
        for (bool weighted : {true, false}) {
            std::vector<double> weights(static_cast<size_t>(n), 1.0);
            for (int64_t i = 0; i < n && weighted; ++i)
                weights[static_cast<size_t>(i)] = 0.25 + static_cast<double>(i % 4) / 2;
            const std::vector<double> z = scores(k, weights, centred, p, &outside);
            mercer_run settings = threads(2);
            Run run({}, &settings);
            const BootstrapErrors errors = bootstrap_eigenvalues(
                run, n, 40, z.data(), n, weighted ? weights.data() : nullptr, centred, r, 9, 0.9, 17);
            const Random random(17, Stage::bootstrap);
            for (int64_t b = 0; b < 9; ++b) {
                std::vector<double> c = weights;
                for (int64_t i = 0; i < n; ++i)
                    c[static_cast<size_t>(i)] *= static_cast<double>(bootstrap_count(random, b, i));
                const std::vector<double> values = refit(k, c, centred, r);
                for (int64_t i = 0; i < r; ++i)
                    TEST_ASSERT_DOUBLE_WITHIN(6 * outside, values[static_cast<size_t>(i)],
                                              errors.replicates[static_cast<size_t>(i + b * r)]);
            }
        }
}

// Compares with multinomial refits, with n = 300 and 20 directions. A standard deviation computed
// from k replicates has a relative standard error of 1 / sqrt(2 k): 3.5 % for 400 refits, 1.6 % for
// 2000 replicates, and 4 % for the difference.
void test_standard_deviations() {
    const int64_t n = 300, p = 20, r = 5, refits = 400, replicates = 2000;
    const oracle::Matrix x = points(n), k = oracle::gram(oracle::gaussian(2), x, x);
    const std::vector<double> z = scores(k, std::vector<double>(static_cast<size_t>(n), 1.0), true, p);
    mercer_run settings = threads(2);
    Run run({}, &settings);
    const BootstrapErrors errors = bootstrap_eigenvalues(run, n, p, z.data(), n, nullptr, true, r, replicates, 0.9, 1);
    oracle::Numbers numbers(77);
    std::vector<double> sum(5), square(5);
    for (int64_t b = 0; b < refits; ++b) {
        std::vector<double> c(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) c[static_cast<size_t>(numbers.uniform() * static_cast<double>(n))] += 1;
        const std::vector<double> values = refit(k, c, true, r);
        for (size_t i = 0; i < 5; ++i) sum[i] += values[i], square[i] += values[i] * values[i];
    }
    for (size_t i = 0; i < 5; ++i) {
        const double mean = sum[i] / refits, sd = std::sqrt((square[i] / refits - mean * mean) * refits / (refits - 1));
        printf("eigenvalue %zu: sd %.5g, of refits %.5g; mean %.5g, of refits %.5g\n", i + 1, errors.sd[i], sd,
               errors.mean[i], mean);
        TEST_ASSERT_DOUBLE_WITHIN(0.12 * sd, sd, errors.sd[i]); // 3 standard errors of the difference
        TEST_ASSERT_DOUBLE_WITHIN(4 * sd / std::sqrt(static_cast<double>(refits)), mean, errors.mean[i]);
        // For a nearly normal distribution, an interval that contains 90 % has the length 2 * 1.645
        // sd.
        TEST_ASSERT_DOUBLE_WITHIN(0.15 * 3.29 * sd, 3.29 * sd, errors.upper[i] - errors.lower[i]);
        TEST_ASSERT_TRUE(errors.lower[i] < errors.mean[i] && errors.mean[i] < errors.upper[i]);
    }
}

void test_threads() {
    const int64_t n = 1500, p = 6;
    oracle::Numbers numbers(8);
    const oracle::Matrix z = numbers.matrix(p, n); // row-major p x n, which is column-major n x p
    std::vector<double> first;
    for (int64_t count : {1, 2, 8}) {
        mercer_run settings = threads(count);
        Run run({}, &settings);
        const BootstrapErrors errors = bootstrap_eigenvalues(run, n, p, z.v.data(), n, nullptr, true, 3, 70, 0.5, 2);
        if (first.empty()) first = errors.replicates;
        TEST_ASSERT_TRUE(first == errors.replicates);
        for (size_t i = 0; i < first.size(); ++i)
            TEST_ASSERT_TRUE(first[i] > 0 && (i % 3 == 0 || first[i] <= first[i - 1]));
    }
}

// A single row has no variance, and a resample of it may contain no row at all. Every replicate
// must be 0.
void test_one_row() {
    const double z[] = {0.5, -0.25};
    mercer_run settings = threads(1);
    Run run({}, &settings);
    const BootstrapErrors errors = bootstrap_eigenvalues(run, 1, 2, z, 1, nullptr, true, 2, 50, 0.9, 4);
    for (double value : errors.replicates) TEST_ASSERT_DOUBLE_WITHIN(1e-16, 0, value);
}

void test_cancel() {
    int32_t stop = 1;
    mercer_run settings = threads(2);
    settings.cancel = &stop;
    Run run({}, &settings);
    const double z[] = {1, 2, 3};
    try {
        bootstrap_eigenvalues(run, 3, 1, z, 3, nullptr, true, 1, 10, 0.9, 4);
        TEST_FAIL_MESSAGE("a cancelled bootstrap gave a result");
    } catch (const Error &error) {
        TEST_ASSERT_EQUAL_INT32(MERCER_E_CANCELLED, error.code());
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_counts);
    RUN_TEST(test_same_resamples);
    RUN_TEST(test_standard_deviations);
    RUN_TEST(test_threads);
    RUN_TEST(test_one_row);
    RUN_TEST(test_cancel);
    return UNITY_END();
}
