// Checks randomly drawn pivots: the accelerated algorithm must follow the law of drawing one by
// one. On real tiles, growth must give the same bits for any number of threads, respond to cancel,
// and keep its bounds on memory and kernel values.
#include "pivots_problem.h"

#include <atomic>
#include <map>

namespace {

// Returns the quantile of the chi-square distribution that is exceeded with probability 1e-7, for
// these degrees of freedom (Wilson & Hilferty; z = 5.199). Seeds are fixed, so a test that passes
// once passes always.
double chi_square_limit(double degrees) {
    const double z = 5.199, part = 2 / (9 * degrees);
    return degrees * std::pow(1 - part + z * std::sqrt(part), 3);
}

// Computes the probability of each ordered selection by the definition: a row is drawn with
// probability w d / sum w d, and K is updated.
void probabilities(const Matrix &k, const Vector &w, int64_t left, double p, std::vector<int64_t> &path,
                   std::map<std::vector<int64_t>, double> &out) {
    double sum = 0;
    for (int64_t i = 0; i < k.rows; ++i) sum += k(i, i) > 1e-9 ? w[static_cast<size_t>(i)] * k(i, i) : 0;
    if (left == 0 || sum == 0) {
        out[path] += p;
        return;
    }
    for (int64_t s = 0; s < k.rows; ++s) {
        const double share = k(s, s) > 1e-9 ? w[static_cast<size_t>(s)] * k(s, s) / sum : 0;
        if (share == 0) continue;
        Matrix next = k;
        for (int64_t i = 0; i < k.rows; ++i)
            for (int64_t j = 0; j < k.rows; ++j) next(i, j) -= k(i, s) * k(s, j) / k(s, s);
        path.push_back(s);
        probabilities(next, w, left - 1, p * share, path, out);
        path.pop_back();
    }
}

// The rows are close, so that a round often rejects candidates because it has accepted others. The
// diagonal is not constant, and row 4 repeats row 2 up to a factor.
Matrix small_matrix(int64_t n) {
    Matrix x = oracle::Numbers(5).matrix(n, 2);
    std::copy_n(x.row(2), 2, &x(4, 0));
    Matrix k = gaussian_gram(x, 0.7);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) k(i, j) *= std::sqrt(static_cast<double>((1 + i % 3) * (1 + j % 3)));
    return k;
}

void check_law(int64_t n, int64_t m, const Vector &w, PivotStop stop) {
    const Matrix k = small_matrix(n);
    const MatrixRows matrix(k);
    std::map<std::vector<int64_t>, double> exact, counts;
    std::vector<int64_t> path;
    probabilities(k, w, m, 1, path, exact);
    const int seeds = 20000;
    for (int seed = 0; seed < seeds; ++seed) ++counts[sampled(matrix, stop, static_cast<uint64_t>(seed), w).index];
    if (stop.early()) { // the law of selections that the stop cuts short
        std::map<std::vector<int64_t>, double> stopped;
        for (const auto &[order, p] : exact) {
            size_t next = 0;
            const std::vector<int64_t> &rows = order;
            stopped[column_by_column(k, stop, w, [&](const auto &) { return rows[next++]; }).index] += p;
        }
        exact = stopped;
    }
    double total = 0, chi = 0, rare_p = 0, rare_count = 0, degrees = -1, seen = 0;
    auto add = [&](double p, double count) {
        chi += (count - seeds * p) * (count - seeds * p) / (seeds * p);
        ++degrees;
    };
    for (const auto &[order, p] : exact) {
        total += p;
        const double count = counts.count(order) ? counts[order] : 0;
        seen += count;
        if (seeds * p >= 10)
            add(p, count);
        else
            rare_p += p, rare_count += count;
    }
    if (seeds * rare_p >= 10) add(rare_p, rare_count);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1, total);
    TEST_ASSERT_TRUE(seen == seeds); // no selection of probability 0 was drawn
    TEST_ASSERT_TRUE(degrees > 20);
    TEST_ASSERT_TRUE(chi < chi_square_limit(degrees));
}

void test_law() {
    const Vector ones(9, 1), weights = {1, 0, 3, 0.5, 1, 2, 1, 0.25, 1};
    check_law(9, 2, ones, stop_at(2));
    check_law(9, 3, ones, stop_at(3));
    check_law(9, 3, weights, stop_at(3));
    check_law(7, 4, {1, 1, 1, 2, 1, 1, 0.3}, stop_at(4));
    check_law(9, 3, ones, stop_at(3, 0.7)); // some selections end after two pivots, inside a round
}

// Rounds that accept many pivots must leave the same mean and variance of the residual as drawing
// one by one.
void test_error() {
    const int64_t n = 300, m = 40;
    Matrix x = oracle::Numbers(8).matrix(n, 2);
    const Matrix k = gaussian_gram(x, 0.25);
    const MatrixRows matrix(k);
    const int seeds = 1000;
    double sum[2] = {}, square[2] = {};
    oracle::Numbers numbers(77);
    for (int seed = 0; seed < seeds; ++seed) {
        const Result fast = sampled(matrix, stop_at(m), static_cast<uint64_t>(seed));
        TEST_ASSERT_TRUE(static_cast<int64_t>(fast.index.size()) == m && fast.sweeps < m / 3);
        Vector d(static_cast<size_t>(n), 1);
        Matrix columns(m, n);
        for (int64_t s = 0; s < m; ++s) {
            double left = numbers.uniform() * std::accumulate(d.begin(), d.end(), 0.0);
            int64_t p = 0;
            while (p < n - 1 && (left -= d[static_cast<size_t>(p)]) >= 0) ++p;
            const double root = std::sqrt(d[static_cast<size_t>(p)]);
            for (int64_t i = 0; i < n; ++i) {
                double value = k(i, p);
                for (int64_t q = 0; q < s; ++q) value -= columns(q, i) * columns(q, p);
                columns(s, i) = value / root;
                double &di = d[static_cast<size_t>(i)];
                di = std::max(di - columns(s, i) * columns(s, i), 0.0);
            }
            d[static_cast<size_t>(p)] = 0;
        }
        const double errors[] = {fast.mse, std::accumulate(d.begin(), d.end(), 0.0) / static_cast<double>(n)};
        for (int a = 0; a < 2; ++a) sum[a] += errors[a] / seeds, square[a] += errors[a] * errors[a] / seeds;
    }
    const double spread[] = {square[0] - sum[0] * sum[0], square[1] - sum[1] * sum[1]};
    TEST_ASSERT_TRUE(std::fabs(sum[0] - sum[1]) < 5 * std::sqrt((spread[0] + spread[1]) / seeds));
    // A mean from 1000 seeds may be off by 5 standard deviations; a variance has a standard error
    // of 5 %.
    TEST_ASSERT_TRUE(spread[0] < 1.5 * spread[1] && spread[1] < 1.5 * spread[0]);
}

void test_ends() { // the rank is reached, because rows repeat; the zero matrix has no pivots
    const Matrix k = small_matrix(9);
    const MatrixRows matrix(k);
    for (uint64_t seed = 0; seed < 50; ++seed) {
        Result got = sampled(matrix, stop_at(9), seed);
        TEST_ASSERT_TRUE(got.index.size() == 8 && got.rank_reached); // rows 2 and 4 are dependent
        std::sort(got.index.begin(), got.index.end());
        TEST_ASSERT_TRUE(std::adjacent_find(got.index.begin(), got.index.end()) == got.index.end());
    }
    const Result none = sampled(MatrixRows(Matrix(4, 4)), stop_at(2), 1);
    TEST_ASSERT_TRUE(none.index.empty() && none.rank_reached);
}

// ---- factors of tiles

template <class T>
Result grown(const Clusters &data, int64_t threads, bool draw, PivotStop stop) {
    const mercer_run settings = settings_of(threads);
    Run run({}, &settings);
    const int64_t before = run.budget()->used();
    PartialCholesky<T> factor(run, data.rows(), PartialCholesky<T>::first_capacity(stop.m, stop.early()));
    draw ? factor.grow_sampled(stop, Random(3, Stage::reducer)) : factor.grow_greedy(stop);
    const TileBytes panels{int64_t{1} << 20, 0, int64_t{2} << 10, int64_t{1} << 10}; // a generous estimate
    TEST_ASSERT_TRUE(run.budget()->peak() - before <=
                     PartialCholesky<T>::bytes(data.x.rows, stop.m, stop.early(), threads, panels).most);
    TEST_ASSERT_TRUE(factor.evaluations() <= PartialCholesky<T>::evaluations(data.x.rows, stop.m));
    return result_of(factor);
}

template <class T>
void check_threads() {
    const Clusters data(5000);
    for (bool draw : {false, true})
        for (PivotStop stop : {stop_at(170), stop_at(400, 0.05)}) {
            const Result first = grown<T>(data, 1, draw, stop);
            TEST_ASSERT_TRUE(first.index.size() > 100 && first.sweeps < 30);
            for (int64_t row : first.index) TEST_ASSERT_TRUE(data.weights[static_cast<size_t>(row)] > 0);
            for (int64_t threads : {2, 8}) TEST_ASSERT_TRUE(grown<T>(data, threads, draw, stop) == first);
        }
}
void test_threads() {
    check_threads<double>();
    check_threads<float>();
}

// Checks entries of K - L L^T at random places in the columns of pivots, and its diagonal.
template <class T>
void check_factor_of(const Clusters &data, double allowed) {
    const Result got = grown<T>(data, 2, true, stop_at(300));
    const oracle::Pair k = oracle::gaussian(3);
    oracle::Numbers numbers(4);
    for (int t = 0; t < 3000; ++t) {
        const int64_t i = static_cast<int64_t>(numbers.uniform() * static_cast<double>(data.x.rows));
        const int64_t column = static_cast<int64_t>(numbers.uniform() * static_cast<double>(got.factor.cols));
        const int64_t j = got.index[static_cast<size_t>(column)];
        const double *li = got.factor.row(i), *lj = got.factor.row(j);
        TEST_ASSERT_DOUBLE_WITHIN(allowed, k(data.x.row(i), data.x.row(j), data.x.cols),
                                  oracle::dot(li, lj, got.factor.cols));
        TEST_ASSERT_DOUBLE_WITHIN(allowed, 1 - oracle::dot(li, li, got.factor.cols),
                                  got.residual[static_cast<size_t>(i)]);
    }
}
void test_factor() {
    const Clusters data(3000);
    check_factor_of<double>(data, 1e-12);
    check_factor_of<float>(data, 1e-4);
}

void test_numbers() { // rows selected by number must act as a copy of them
    const Clusters data(2500);
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 700; ++i) numbers.push_back((i * 1237 + 5) % 2500);
    Clusters part(700);
    for (int64_t i = 0; i < 700; ++i) std::copy_n(data.x.row(numbers[static_cast<size_t>(i)]), 6, &part.x(i, 0));
    Run run({}, nullptr);
    KernelRows rows = data.rows(), own = part.rows();
    rows.numbers = numbers.data(), rows.n = 700, rows.weights = own.weights = nullptr;
    PartialCholesky<double> a(run, rows, 60), b(run, own, 60);
    a.grow_sampled(stop_at(60), Random(1, Stage::reducer));
    b.grow_sampled(stop_at(60), Random(1, Stage::reducer));
    TEST_ASSERT_TRUE(result_of(a) == result_of(b));
}

// ---- cancel and budget

// A callback for objects that requests cancel itself after `most` values.
struct Asked {
    std::atomic<int64_t> values{0};
    int64_t most = 0;
    int32_t cancel = 0;
};
int32_t distances(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    auto &asked = *static_cast<Asked *>(user);
    for (int64_t k = 0; k < count; ++k) values[k] = i[k] == j[k] ? 1 : 0.5 / static_cast<double>(1 + i[k] + j[k]);
    if ((asked.values += count) >= asked.most) __atomic_store_n(&asked.cancel, 1, __ATOMIC_RELAXED);
    return 0;
}

void test_cancel() {
    const int64_t n = 6000, m = 300;
    for (int32_t flags : {0, int{MERCER_THREAD_SAFE}})
        for (bool draw : {false, true})
            for (int64_t most : {int64_t{1}, n + 2000, n + 400 * n / 2, n * m / 2}) {
                Asked asked;
                asked.most = most;
                mercer_run settings = settings_of(2);
                settings.cancel = &asked.cancel;
                Run run({}, &settings);
                Registry registry;
                Expression kernel(parse_expression("user"), registry);
                kernel.leaves[0].facts.flags = MERCER_PSD;
                auto source = std::make_shared<ObjectSource>(mercer_objects{
                    sizeof(mercer_objects), n, MERCER_KERNEL, flags, distances, nullptr, &asked, nullptr});
                expect_error(MERCER_E_CANCELLED, "cancelled", [&] {
                    PartialCholesky<double> factor(run, {source, {}, kernel, nullptr, n, nullptr}, m);
                    draw ? factor.grow_sampled(stop_at(m), Random(1, Stage::reducer)) : factor.grow_greedy(stop_at(m));
                });
                // Two threads may complete the tiles that they have begun.
                TEST_ASSERT_TRUE(asked.values <= most + 4 * tile_rows * tile_rows);
            }
}

struct Watch {
    double last = 0;
    bool forward = true;
};
int32_t watch(void *user, const mercer_progress *progress) {
    auto &seen = *static_cast<Watch *>(user);
    seen.forward &= progress->fraction >= seen.last && progress->fraction <= 1;
    seen.last = progress->fraction;
    return 0;
}

void test_progress() {
    const Clusters data(60000);
    Watch seen;
    mercer_run settings = settings_of(1);
    settings.progress = watch, settings.user = &seen;
    Run run({}, &settings);
    run.stage("pivots");
    PartialCholesky<double> factor(run, data.rows(), 400);
    factor.grow_greedy(stop_at(400));
    TEST_ASSERT_TRUE(seen.forward && seen.last > 0);
}

void test_budget() {
    const Clusters data(20000);
    mercer_run settings = settings_of(2);
    settings.memory = int64_t{20} << 20;
    Run run({}, &settings);
    const int64_t before = run.budget()->used();
    expect_error(MERCER_E_BUDGET, "budget", [&] { PartialCholesky<double>(run, data.rows(), 500); });
    expect_error(MERCER_E_BUDGET, "budget", [&] {
        PartialCholesky<double> factor(run, data.rows(), 10);
        factor.grow_greedy(stop_at(500));
    });
    TEST_ASSERT_EQUAL_INT64(before, run.budget()->used());
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_law);
    RUN_TEST(test_error);
    RUN_TEST(test_ends);
    RUN_TEST(test_threads);
    RUN_TEST(test_factor);
    RUN_TEST(test_numbers);
    RUN_TEST(test_cancel);
    RUN_TEST(test_progress);
    RUN_TEST(test_budget);
    return UNITY_END();
}
