// Compares the kernel matrix as an operator, stored and streamed, and the operators that wrap it,
// with naive matrices.
#include "operator/counted.h"
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
    explicit Problem(int64_t n, const char *text = "gaussian", double width = sigma)
        : x(oracle::Numbers(3).matrix(n, d)), kernel(parse_expression(text), registry) {
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value)); // f32 holds the same values
        mercer_run settings{};
        settings.struct_size = sizeof settings;
        Run run({}, &settings);
        kernel.finish(run, d, [&](const Leaf &, const std::string &) { return width; });
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

// Multiplies an operator by the columns q, in blocks of its own type.
std::vector<double> product(Run &run, const Operator &op, const std::vector<double> &q) {
    const int64_t n = op.n(), p = static_cast<int64_t>(q.size()) / n;
    Block in(run, n, p + 1, op.f32()), out(run, n, p + 2, op.f32());
    for (int64_t j = 0; j < p; ++j) in.write(1 + j, 0, n, q.data() + j * n);
    op.apply(run, false, columns(in, 1, p), columns(out, 1, p));
    std::vector<double> y(q.size()), beside(static_cast<size_t>(2 * n), 1);
    for (int64_t j = 0; j < p; ++j) out.read(1 + j, 0, n, y.data() + j * n);
    out.read(0, 0, n, beside.data());
    out.read(p + 1, 0, n, beside.data() + n);
    for (double value : beside) TEST_ASSERT_TRUE(value == 0); // other columns must not change
    return y;
}

std::vector<double> some_columns(int64_t n, int64_t p) {
    std::vector<double> q(static_cast<size_t>(n * p));
    oracle::Numbers numbers(9);
    for (double &value : q) value = static_cast<double>(static_cast<float>(numbers()));
    return q;
}

// Returns the numbers of a few rows, among them the first and the last, not in ascending order.
std::vector<int64_t> some_rows(int64_t n) { return {n - 1, 0, n / 2}; }

// Calls all functions of an operator and returns their results in one array: a product, the dense
// matrix, the diagonal, columns and row squares.
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
    const std::vector<int64_t> rows = some_rows(n);
    const size_t before = out.size();
    out.resize(before + static_cast<size_t>(3 * ld + n), 4);
    op->columns(run, rows.data(), 3, out.data() + before, ld);
    op->row_squares(run, {}, out.data() + before + 3 * ld);
    return out;
}

// Bounds the error of a sum of n squares if each entry is off by at most `allowed`, including the
// rounding of the sum.
double square_error(int64_t n, double sum, double allowed) {
    const double count = static_cast<double>(n);
    return 2 * allowed * std::sqrt(count * sum) + count * allowed * allowed + tolerance::sum(n, sum, tolerance::u64);
}

double row_square(const Matrix &a, int64_t i) { return oracle::dot(a.row(i), a.row(i), a.cols); }

// Compares the results of all_of with the naive matrix a. allowed: the error of an entry; u: the
// unit roundoff of the operator.
void check_all(const std::vector<double> &out, const Matrix &a, double allowed, double u) {
    const int64_t n = a.rows, p = 3, ld = n + 2;
    const std::vector<double> q = some_columns(n, p);
    double largest = 0;
    for (double value : a.v) largest = std::max(largest, std::fabs(value));
    const double error = static_cast<double>(n) * allowed + tolerance::sum(n, largest * static_cast<double>(n), u);
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < n; ++i) { // u |exact|: storing the result rounds it
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
    const std::vector<int64_t> rows = some_rows(n);
    const double *some = diagonal + n, *squares = some + 3 * ld;
    for (int64_t k = 0; k < 3; ++k) {
        for (int64_t i = 0; i < n; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, a(i, rows[static_cast<size_t>(k)]), some[i + k * ld]);
        TEST_ASSERT_TRUE(some[n + k * ld] == 4 && some[n + 1 + k * ld] == 4);
    }
    for (int64_t i = 0; i < n; ++i)
        TEST_ASSERT_DOUBLE_WITHIN(square_error(n, row_square(a, i), allowed), row_square(a, i), squares[i]);
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
    const int64_t at = 3 * n + (n + 2) * n; // where the diagonal begins
    for (int64_t i = 0; i < n; ++i)
        TEST_ASSERT_TRUE(first[static_cast<size_t>(at + i)] == 1); // k(x, x) of a Gaussian is 1 exactly
}

// n is below, at and above the size of a tile, takes several tiles, or an odd number of blocks.
void test_gram() {
    for (int64_t n : {1, 3, 255, 256, 257, 600, 1300}) check_gram<double>(n);
}
void test_gram_f32() {
    for (int64_t n : {1, 257, 600}) check_gram<float>(n);
}

// Checks many blocks. The naive matrix would be too large, so only products with three nonzero
// entries are compared.
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

Matrix weighted(const Matrix &k, const std::vector<double> &s, bool centred) { // P S K S P, by matrix products
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
                for (int64_t count : {1, 2, 8}) {
                    std::unique_ptr<Operator> base;
                    auto out = all_of(n, count, [&](Run &run) {
                        base = gram_of<double>(run, problem, count != 2);
                        return std::make_unique<WeightedOperator>(run, *base, equal ? nullptr : s.data(), centred);
                    });
                    if (first.empty()) // centring subtracts three sums of n entries of size up to 5
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

// Adds a matrix of rank 3 with coefficients of both signs to an operator that itself wraps another
// one. Stored and streamed kernel matrices must give bitwise equal results.
void test_rank() {
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
                if (first.empty() && n < 100) // 60 instead of the 50 of test_weighted: three more terms
                    check_all(out, plus_rank(weighted(problem.gram(), s, true), u, c),
                              tolerance::sum(n, 60, tolerance::u64), tolerance::u64);
                TEST_ASSERT_TRUE(first.empty() || first == out);
                first = out;
            }
    }
}

// Computes sum_j v_j (A_ij - a_i - a_j)^2 for each i in plain loops. shift: a.
std::vector<double> shifted_squares(const Matrix &a, const std::vector<double> &v, const std::vector<double> &shift) {
    std::vector<double> out(static_cast<size_t>(a.rows), 0);
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < a.rows; ++j) {
            const double value = a(i, j) - shift[static_cast<size_t>(i)] - shift[static_cast<size_t>(j)];
            out[static_cast<size_t>(i)] += v[static_cast<size_t>(j)] * value * value;
        }
    return out;
}

// Checks row squares with weights and a shift: of the kernel matrix, of operators that only pass
// the call on, and of a centred one, which computes the squares from its columns.
void test_row_squares() {
    for (int64_t n : {1, 300}) {
        Problem problem(n);
        oracle::Numbers numbers(8);
        std::vector<double> v(static_cast<size_t>(n)), shift(v), s(v), out(v);
        for (size_t i = 0; i < v.size(); ++i) v[i] = numbers.uniform(), shift[i] = numbers(), s[i] = 0.2 + v[i];
        mercer_run settings = threads(2);
        Run run({}, &settings);
        run.stage("all");
        const auto base = gram_of<double>(run, problem, false), rough = gram_of<float>(run, problem, false);
        const PairedOperator paired(*base, *rough);
        const Counted counted(run, paired, 0, 1);
        const WeightedOperator centred(run, counted, s.data(), true);
        const auto check = [&](const Operator &op, const Matrix &a) {
            op.row_squares(run, {v.data(), shift.data()}, out.data());
            const std::vector<double> expected = shifted_squares(a, v, shift);
            for (size_t i = 0; i < out.size(); ++i) // |A_ij - a_i - a_j| is at most 4, a weight at most 1
                TEST_ASSERT_DOUBLE_WITHIN(square_error(n, 16 * static_cast<double>(n), 1e-14), expected[i], out[i]);
        };
        check(*base, problem.gram());
        check(counted, problem.gram());
        check(centred, weighted(problem.gram(), s, true));
        // One pass computed the mean for `centred`, the other one the squares of `counted`. Columns
        // do not count as a pass.
        TEST_ASSERT_EQUAL_INT(2, counted.passes().size());
    }
}

// The rows are so close that K is 1 up to 1e-6. The row squares of the centred matrix must be as
// accurate as the entries of K allow (1e-9), which they would not be as differences of squares that
// are 1e12 times as large.
void test_row_squares_do_not_cancel() {
    const int64_t n = 300;
    Problem problem(n, "gaussian", 1000);
    mercer_run settings = threads(2);
    Run run({}, &settings);
    const auto base = gram_of<double>(run, problem, false);
    const WeightedOperator centred(run, *base, nullptr, true);
    std::vector<double> squares(static_cast<size_t>(n));
    centred.row_squares(run, {}, squares.data());
    // The oracle uses k - 1, which expm1 computes without the rounding of k near 1; centring
    // removes the constant.
    const Matrix less = oracle::gram(
        [](const double *x, const double *y, int64_t count) { return std::expm1(-oracle::sqdist(x, y, count) / 2e6); },
        problem.x, problem.x);
    const Matrix a = weighted(less, std::vector<double>(static_cast<size_t>(n), 1.0), true);
    for (int64_t i = 0; i < n; ++i)
        TEST_ASSERT_DOUBLE_WITHIN(1e-7 * row_square(a, i), row_square(a, i), squares[static_cast<size_t>(i)]);
}

void test_not_finite() {
    Problem problem(3, "linear");
    problem.x(1, 2) = 1e160; // its square is beyond f64
    mercer_run settings = threads(1);
    Run run({}, &settings);
    const auto base = gram_of<double>(run, problem, false);
    std::vector<double> out(3);
    try {
        base->row_squares(run, {}, out.data());
        TEST_FAIL_MESSAGE("squares beyond f64 were accepted");
    } catch (const Error &error) {
        TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL, error.code());
    }
}

// An operator of a given matrix that claims a given fidelity.
class Approximate : public Operator {
  public:
    Approximate(const Matrix &a, Fidelity known) : Operator(a.rows, false), a_(a), known_(known) {}
    void product(Run &, bool, int64_t p, const Fill &q, const Take &y) const override {
        std::vector<double> in(static_cast<size_t>(n() * p)), out(in.size(), 0);
        q(0, n(), in.data(), p);
        for (int64_t i = 0; i < n(); ++i)
            for (int64_t j = 0; j < n(); ++j)
                for (int64_t c = 0; c < p; ++c)
                    out[static_cast<size_t>(i * p + c)] += a_(i, j) * in[static_cast<size_t>(j * p + c)];
        y(out.data(), p);
    }
    void dense(Run &, double *a, int64_t lda) const override {
        for (int64_t j = 0; j < n(); ++j) std::copy_n(a_.row(j), n(), a + j * lda);
    }
    void diagonal(Run &, double *out) const override {
        for (int64_t i = 0; i < n(); ++i) out[i] = a_(i, i);
    }
    Fidelity fidelity() const override { return known_; }

  private:
    const Matrix &a_;
    Fidelity known_;
};

// Checks columns and row squares of a class that does not define them: the base class computes them
// from products.
void test_products_alone() {
    const int64_t n = 300;
    const Matrix a = Problem(n).gram();
    const auto out = all_of(n, 2, [&](Run &) { return std::make_unique<Approximate>(a, Fidelity{0.5, false}); });
    check_all(out, a, 0, tolerance::u64);
}

// Checks how wrappers change the fidelity of their base. Scales of up to 3 on both sides make the
// bound of the distance from the exact matrix 9 times as large. An added matrix changes nothing,
// but a subtracted one may make the sum indefinite. A pair has the fidelity of its exact operator,
// whatever the fidelity of its rough one.
void test_fidelity() {
    const int64_t n = 4;
    const Matrix a = Problem(n).gram();
    Run run({}, nullptr);
    run.stage("all");
    const std::vector<double> s = {1, -3, 2, 0.5};
    Block u(run, n, 1, false);
    const auto says = [](const Operator &op, double distance, bool positive) {
        TEST_ASSERT_TRUE(op.fidelity().distance == distance && op.fidelity().positive == positive);
        TEST_ASSERT_TRUE(op.fidelity().exact() == (distance == 0));
    };
    for (double distance : {0.0, 0.5, double(INFINITY)})
        for (bool positive : {true, false}) {
            const Approximate base(a, {distance, positive}), other(a, {7, !positive});
            says(base, distance, positive);
            says(WeightedOperator(run, base, s.data(), true), 9 * distance, positive);
            says(WeightedOperator(run, base, nullptr, true), distance, positive);
            says(RankOperator(base, columns(u), {1}), distance, positive);
            says(RankOperator(base, columns(u), {-1}), distance, false);
            says(PairedOperator(base, other), distance, positive);
            says(Counted(run, base, 0, 1), distance, positive);
        }
    Problem psd(n), indefinite(n, "sigmoid");
    says(*gram_of<float>(run, psd, true), 0, true);
    says(*gram_of<double>(run, indefinite, false), 0, false);
}

Approximate *made = nullptr; // what make_another returns in the next test
std::unique_ptr<Operator> make_another(Run &, const KernelRows &, const GramPlan &) {
    return std::unique_ptr<Operator>(made);
}

// Checks make_operator: it makes the kernel matrix once or in two types, as planned, or calls the
// plan's own maker.
void test_maker() {
    const int64_t n = 40;
    Problem problem(n);
    Run run({}, nullptr);
    const KernelRows rows{problem.source, {}, problem.kernel, nullptr, n, nullptr};
    const KernelMatrix plain = make_operator<double>(run, rows, {.store = Store::rows}),
                       pair = make_operator<double>(run, rows, {.rough = true, .store = Store::matrix});
    TEST_ASSERT_TRUE(!plain.both().has_rough() && &plain.both() == &plain.base() && plain.evaluations() == 0);
    TEST_ASSERT_TRUE(pair.both().has_rough() && !pair.base().f32() && pair.evaluations() == n * n);
    TEST_ASSERT_TRUE(make_operator<float>(run, rows, {.f32 = true}).base().f32());
    const Matrix a = problem.gram();
    made = new Approximate(a, {0.5, false});
    const KernelMatrix another = make_operator<double>(run, rows, {.base = make_another});
    TEST_ASSERT_TRUE(&another.base() == made && &another.both() == made);
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

// Checks an expression: a weighted sum of products of kernels, each on some of the columns.
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
    RUN_TEST(test_row_squares);
    RUN_TEST(test_row_squares_do_not_cancel);
    RUN_TEST(test_not_finite);
    RUN_TEST(test_products_alone);
    RUN_TEST(test_fidelity);
    RUN_TEST(test_maker);
    RUN_TEST(test_c_operator);
    RUN_TEST(test_expression_tiles);
    return UNITY_END();
}
