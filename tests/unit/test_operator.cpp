// The kernel matrix as an operator, stored and streamed, and what composes with it, against naive matrices.
#include "operator/low_rank.h"
#include "operator/make_operator.h"
#include "operator/weighted.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstring>

using namespace mercer;
using oracle::Matrix;

namespace {

constexpr int64_t d = 5;
constexpr double sigma = 1.3;

struct Problem {
    explicit Problem(int64_t n, const char *text = "gaussian")
        : x(oracle::Numbers(3).matrix(n, d)), kernel(parse_expression(text), registry) {
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value)); // the same data for f32
        mercer_run settings{};
        settings.struct_size = sizeof settings;
        Run run({}, &settings);
        kernel.finish(run, d, [](const Leaf &, const std::string &) { return sigma; });
        for (Leaf &leaf : kernel.leaves)
            if (leaf.form == MERCER_SQDIST) leaf.shift = {0.1, 0, -0.2, 0, 0.3};
        source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, n, d, d, 1, x.v.data()});
    }
    Matrix gram() const { return oracle::gram(oracle::gaussian(sigma), x, x); }
    template <class T>
    Points<T> points() const {
        return Points<T>(source, {}, leaf_specs(kernel));
    }

    Registry registry;
    Matrix x;
    Expression kernel;
    std::shared_ptr<Source> source;
};

mercer_run threads(int64_t count) {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = count;
    return run;
}

// Products with columns of a block of the operator's type.
std::vector<double> product(Run &run, const Operator &op, const std::vector<double> &q) {
    const int64_t n = op.n(), p = static_cast<int64_t>(q.size()) / n;
    Block in(run, n, p + 1, op.f32()), out(run, n, p + 2, op.f32());
    for (int64_t j = 0; j < p; ++j) in.write(1 + j, 0, n, q.data() + j * n);
    op.apply(run, false, columns(in, 1, p), columns(out, 1, p));
    std::vector<double> y(q.size()), beside(static_cast<size_t>(2 * n), 1);
    for (int64_t j = 0; j < p; ++j) out.read(1 + j, 0, n, y.data() + j * n);
    out.read(0, 0, n, beside.data());
    out.read(p + 1, 0, n, beside.data() + n);
    for (double value : beside) TEST_ASSERT_TRUE(value == 0); // columns beside are left alone
    return y;
}

std::vector<double> some_columns(int64_t n, int64_t p) {
    std::vector<double> q(static_cast<size_t>(n * p));
    oracle::Numbers numbers(9);
    for (double &value : q) value = static_cast<double>(static_cast<float>(numbers()));
    return q;
}

// Everything an operator says, in one array.
template <class Make>
std::vector<double> all_of(int64_t n, int64_t count, Make &&make) {
    mercer_run settings = threads(count);
    Run run({}, &settings);
    std::unique_ptr<Operator> op = make(run);
    const int64_t p = 3, ld = n + 2;
    std::vector<double> out = product(run, *op, some_columns(n, p));
    out.resize(static_cast<size_t>(p * n + ld * n + n), 4);
    op->dense(run, out.data() + p * n, ld);
    op->diagonal(run, out.data() + p * n + ld * n);
    return out;
}

// ... against the matrix it should be; `allowed` for an entry.
void check_all(const std::vector<double> &out, const Matrix &a, double allowed, double u) {
    const int64_t n = a.rows, p = 3, ld = n + 2;
    const std::vector<double> q = some_columns(n, p);
    double largest = 0;
    for (double value : a.v) largest = std::max(largest, std::fabs(value));
    const double error = static_cast<double>(n) * allowed + tolerance::sum(n, largest * static_cast<double>(n), u);
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < n; ++i) { // and what storing it costs
            const double exact = oracle::dot(a.row(i), q.data() + j * n, n);
            TEST_ASSERT_DOUBLE_WITHIN(error + u * std::fabs(exact), exact, out[static_cast<size_t>(i + j * n)]);
        }
    const double *dense = out.data() + p * n, *diagonal = dense + ld * n;
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            TEST_ASSERT_DOUBLE_WITHIN(allowed, a(i, j), dense[i + j * ld]);
            TEST_ASSERT_TRUE(dense[i + j * ld] == dense[j + i * ld]); // exactly symmetric
        }
        TEST_ASSERT_TRUE(dense[n + j * ld] == 4 && dense[n + 1 + j * ld] == 4);
        TEST_ASSERT_DOUBLE_WITHIN(allowed, a(j, j), diagonal[j]);
    }
}

template <class T>
std::unique_ptr<Operator> gram_of(Run &run, const Problem &problem, bool stored) {
    return std::make_unique<GramOperator<T>>(run, problem.kernel, problem.points<T>(),
                                             stored ? Store::matrix : Store::nothing);
}

template <class T>
void check_gram(int64_t n) {
    constexpr double u = sizeof(T) == 4 ? tolerance::u32 : tolerance::u64;
    Problem problem(n);
    const double entry = tolerance::kernel(tolerance::sqdist(d, 4 * d, u), 1 / (2 * sigma * sigma), u);
    std::vector<double> first;
    for (bool stored : {false, true})
        for (int64_t count : {1, 2, 8}) {
            auto out = all_of(n, count, [&](Run &run) { return gram_of<T>(run, problem, stored); });
            if (first.empty()) {
                first = out;
                check_all(out, problem.gram(), entry, u);
            }
            TEST_ASSERT_EQUAL_INT(0, std::memcmp(first.data(), out.data(), out.size() * sizeof(double)));
        }
    const int64_t at = static_cast<int64_t>(first.size()) - n;
    for (int64_t i = 0; i < n; ++i)
        TEST_ASSERT_TRUE(first[static_cast<size_t>(at + i)] == 1); // k(x, x) of a Gaussian is 1 exactly
}

void test_gram() { // below, at and above a tile; several tiles; an odd number of blocks
    for (int64_t n : {1, 3, 255, 256, 257, 600, 1300}) check_gram<double>(n);
}
void test_gram_f32() {
    for (int64_t n : {1, 257, 600}) check_gram<float>(n);
}

// Many blocks, checked on products alone.
void test_many_blocks() {
    const int64_t n = 17000;
    Problem problem(n);
    std::vector<double> q(static_cast<size_t>(n), 0), first;
    q[0] = 1, q[9000] = -2, q[16999] = 0.5;
    for (int64_t count : {1, 2}) {
        mercer_run settings = threads(count);
        Run run({}, &settings);
        GramOperator<float> op(run, problem.kernel, problem.points<float>(), Store::rows);
        const std::vector<double> y = product(run, op, q);
        TEST_ASSERT_TRUE(first.empty() || first == y);
        first = y;
        TEST_ASSERT_TRUE(op.kernel_evaluations() >= n * (n + 1) / 2 &&
                         op.kernel_evaluations() <= n * (n + 256) / 2 + 256 * 256);
    }
    auto k = oracle::gaussian(sigma);
    for (int64_t i = 0; i < n; ++i) {
        const double *x = problem.x.row(i);
        double exact =
            k(x, problem.x.row(0), d) - 2 * k(x, problem.x.row(9000), d) + 0.5 * k(x, problem.x.row(16999), d);
        TEST_ASSERT_DOUBLE_WITHIN(
            3.5 * tolerance::kernel(tolerance::sqdist(d, 4 * d, tolerance::u32), 0.5, tolerance::u32), exact,
            first[static_cast<size_t>(i)]);
    }
}

Matrix weighted(const Matrix &k, const std::vector<double> &s, bool centred) { // P S K S P, as it stands
    const int64_t n = k.rows;
    Matrix p(n, n), sks(n, n);
    double square = oracle::dot(s.data(), s.data(), n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double si = s[static_cast<size_t>(i)], sj = s[static_cast<size_t>(j)];
            p(i, j) = (i == j) - (centred ? si * sj / square : 0);
            sks(i, j) = si * k(i, j) * sj;
        }
    return oracle::product(p, oracle::product(sks, p));
}

void test_weighted() {
    for (int64_t n : {1, 2, 60, 300})
        for (bool centred : {false, true})
            for (bool equal : {false, true}) {
                Problem problem(n);
                std::vector<double> s(static_cast<size_t>(n), 1.0), first;
                oracle::Numbers numbers(4);
                for (double &value : s) value = equal ? 1 : 0.2 + 2 * numbers.uniform();
                for (int64_t count : {1, 8}) {
                    std::unique_ptr<Operator> base;
                    auto out = all_of(n, count, [&](Run &run) {
                        base = gram_of<double>(run, problem, true);
                        return std::make_unique<WeightedOperator>(run, *base, equal ? nullptr : s.data(), centred);
                    });
                    if (first.empty()) // three subtractions of entries up to 5, each a sum of n
                        check_all(out, weighted(problem.gram(), s, centred), tolerance::sum(n, 50, tolerance::u64),
                                  tolerance::u64);
                    TEST_ASSERT_TRUE(first.empty() || first == out);
                    first = out;
                }
            }
}

Matrix plus_rank(Matrix a, const std::vector<double> &u, const std::vector<double> &c) { // A + U diag(c) U^T
    const int64_t n = a.rows;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
            for (size_t k = 0; k < c.size(); ++k)
                a(i, j) += c[k] * u[static_cast<size_t>(i) + k * static_cast<size_t>(n)] *
                           u[static_cast<size_t>(j) + k * static_cast<size_t>(n)];
    return a;
}

void test_rank() { // of both signs, on a base that is itself composed; stored and streamed have the same bits
    const std::vector<double> c = {2, -0.7, 0.1};
    for (int64_t n : {1, 60, 2500}) {
        Problem problem(n);
        const std::vector<double> u = some_columns(n, 3), s(static_cast<size_t>(n), 1.0);
        std::vector<double> first;
        for (bool stored : {false, true})
            for (int64_t count : {1, 8}) {
                std::unique_ptr<Operator> base, centred;
                Block block;
                auto out = all_of(n, count, [&](Run &run) {
                    base = gram_of<double>(run, problem, stored);
                    centred = std::make_unique<WeightedOperator>(run, *base, nullptr, true);
                    block = Block(run, n, 3, false);
                    for (int64_t j = 0; j < 3; ++j) block.write(j, 0, n, u.data() + j * n);
                    return std::make_unique<RankOperator>(*centred, columns(block), c);
                });
                if (first.empty() && n < 100) // as in test_weighted, and three terms more
                    check_all(out, plus_rank(weighted(problem.gram(), s, true), u, c),
                              tolerance::sum(n, 60, tolerance::u64), tolerance::u64);
                TEST_ASSERT_TRUE(first.empty() || first == out);
                first = out;
            }
    }
}

void test_c_operator() {
    Problem problem(40);
    mercer_run settings = threads(2);
    Run run({}, &settings);
    auto op = gram_of<double>(run, problem, false);
    mercer_operator c_op = op->c_operator();
    mercer_task task(run, Random(0, Stage::solver));
    TEST_ASSERT_TRUE(c_op.struct_size == sizeof c_op && c_op.n == 40 && c_op.dtype == MERCER_F64 && !c_op.apply_rough);
    const std::vector<double> ones(40, 1.0);
    std::vector<double> y(40), diagonal(40), dense(1600);
    mercer_block *block = host_table().block(&task, &c_op, 2), *other = host_table().block(&task, &c_op, 1);
    block->write(0, 0, 40, ones.data());
    TEST_ASSERT_EQUAL_INT(MERCER_OK, c_op.apply(&c_op, &task, {block, 0, 1}, {other, 0, 1}));
    other->read(0, 0, 40, y.data());
    TEST_ASSERT_TRUE(y == product(run, *op, ones));
    for (mercer_range wrong : {mercer_range{block, 0, 1}, {block, 0, 2}, {other, 0, 2}, {other, 1, 1}, {nullptr, 0, 1}})
        TEST_ASSERT_EQUAL_INT(MERCER_E_PLUGIN, c_op.apply(&c_op, &task, {block, 0, 1}, wrong));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, c_op.dense(&c_op, &task, dense.data(), 40));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, c_op.diagonal(&c_op, &task, diagonal.data()));
    TEST_ASSERT_TRUE(diagonal[7] == 1 && dense[7 + 7 * 40] == 1);
}

// A sum of products with columns and weights through the same tiles.
void test_expression_tiles() {
    const int64_t n = 300;
    Problem problem(n, "2 gaussian[0-2] * gaussian[3,4] + 0.5 linear[1]");
    auto k = [](const double *x, const double *y, int64_t) {
        auto g = oracle::gaussian(sigma);
        return 2 * g(x, y, 3) * g(x + 3, y + 3, 2) + 0.5 * x[1] * y[1];
    };
    for (Leaf &leaf : problem.kernel.leaves) leaf.shift.clear();
    auto out = all_of(n, 2, [&](Run &run) { return gram_of<double>(run, problem, true); });
    check_all(out, oracle::gram(k, problem.x, problem.x),
              3 * tolerance::kernel(tolerance::sqdist(d, 4 * d, tolerance::u64), 1, tolerance::u64), tolerance::u64);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_gram);
    RUN_TEST(test_gram_f32);
    RUN_TEST(test_many_blocks);
    RUN_TEST(test_weighted);
    RUN_TEST(test_rank);
    RUN_TEST(test_c_operator);
    RUN_TEST(test_expression_tiles);
    return UNITY_END();
}
