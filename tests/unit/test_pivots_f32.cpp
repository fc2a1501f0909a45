// Compares partial Cholesky in float32 with float64, on data like real ones: few columns, rows that
// repeat exactly or nearly, heavy tails, skewed columns. Data in clusters, or uniform in cubes, do
// not show how drawn and given pivots affect an f32 factor.
//
//   test_pivots_f32               n = 2500, m = 700, four kernels
//   test_pivots_f32 N M           all kernels that are positive semi-definite, and also the real
//                                 data sets that are found
#include "data_files.h"
#include "pivots_problem.h"

namespace {

int64_t rows_asked = 2500, pivots_asked = 700;
bool all_of_it = false;

// Returns rows with five correlated columns rounded to tenths, two log-normal ones and two with
// heavy tails (of index 1.5). The second half of the rows repeats the first, every other row
// exactly and the rest nearly.
Matrix like_real(int64_t n) {
    oracle::Numbers numbers(5);
    auto normal = [&] {
        return std::sqrt(-2 * std::log(1 - numbers.uniform())) * std::cos(2 * M_PI * numbers.uniform());
    };
    const Matrix turn = numbers.matrix(3, 5);
    Matrix x(n, 9);
    for (int64_t i = 0; i < n; ++i) {
        if (2 * i >= n) {
            for (int64_t k = 0; k < 9; ++k) x(i, k) = x(i - n / 2, k) + (i % 2 ? 1e-3 * normal() : 0);
            continue;
        }
        double z[3];
        for (double &value : z) value = normal();
        for (int64_t k = 0; k < 5; ++k)
            x(i, k) = std::round(10 * (z[0] * turn(0, k) + z[1] * turn(1, k) + z[2] * turn(2, k))) / 10;
        for (int64_t k = 5; k < 7; ++k) x(i, k) = std::exp(1.5 * normal());
        for (int64_t k = 7; k < 9; ++k) x(i, k) = normal() / std::pow(1 - numbers.uniform(), 1 / 1.5) / 2;
    }
    for (double &value : x.v) value = static_cast<float>(value);
    return x;
}

double median_distance(const Matrix &x) {
    oracle::Numbers numbers(1);
    Vector squares;
    for (int64_t s = 0; s < 2000; ++s) {
        const int64_t i = static_cast<int64_t>(numbers.uniform() * static_cast<double>(x.rows)),
                      j = static_cast<int64_t>(numbers.uniform() * static_cast<double>(x.rows));
        double sum = 0;
        for (int64_t k = 0; k < x.cols; ++k) sum += (x(i, k) - x(j, k)) * (x(i, k) - x(j, k));
        squares.push_back(sum);
    }
    std::nth_element(squares.begin(), squares.begin() + 1000, squares.end());
    return std::sqrt(squares[1000]);
}

struct Problem {
    Problem(Matrix rows, const char *name, double width)
        : x(std::move(rows)), kernel(parse_expression(name), registry) {
        Run run({}, nullptr);
        kernel.finish(run, x.cols, [width](const Leaf &, const std::string &) { return width; });
        source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, x.rows, x.cols, x.cols, 1, x.v.data()});
    }
    KernelRows rows() const { return {source, map, kernel, nullptr, x.rows, nullptr}; }
    Registry registry;
    Matrix x;
    Expression kernel;
    InputMap map;
    std::shared_ptr<const Source> source;
};

enum class Rule { greedy, sampled, given };

std::vector<int64_t> drawn_rows(int64_t n, int64_t m) {
    std::vector<int64_t> out(static_cast<size_t>(n));
    std::iota(out.begin(), out.end(), int64_t{0});
    mercer::Random random(9, Stage::reducer);
    for (int64_t k = 0; k < m; ++k)
        std::swap(
            out[static_cast<size_t>(k)],
            out[static_cast<size_t>(k + static_cast<int64_t>(random.uniform(k, 0) * static_cast<double>(n - k)))]);
    out.resize(static_cast<size_t>(m));
    return out;
}

template <class T>
void grow(PartialCholesky<T> &factor, Rule rule, int64_t m) {
    switch (rule) {
    case Rule::greedy: return factor.grow_greedy(stop_at(m));
    case Rule::sampled: return factor.grow_sampled(stop_at(m), mercer::Random(3, Stage::reducer));
    case Rule::given: factor.append(drawn_rows(factor.n(), m).data(), m);
    }
}

// The f32 factor must not fail, and its growth may end before m pivots only if the numerical rank
// is reached. Its pivots must be as good as those of f64, and the residuals that it reports must be
// correct.
void check(const Problem &problem, Rule rule, const std::string &what) {
    Run run({}, nullptr);
    const int64_t m = std::min(pivots_asked, problem.x.rows);
    PartialCholesky<float> single(run, problem.rows(), m);
    grow(single, rule, m);
    TEST_ASSERT_TRUE_MESSAGE(rule == Rule::given || single.count() == m || single.rank_reached(), what.c_str());
    PartialCholesky<double> twice(run, problem.rows(), m), same(run, problem.rows(), m);
    grow(twice, rule, rule == Rule::given ? m : single.count());
    const double most = *std::max_element(same.residual(), same.residual() + same.n()); // the largest k(x, x)
    same.append(single.index(), single.count());
    // As shares of the trace: what remains if every residual is at the threshold of numerical rank
    // (floor), and if every residual is u times the largest diagonal entry (u).
    const double scale = most * static_cast<double>(same.n()) / same.trace(), u = unit_roundoff(true) * scale,
                 floor = PartialCholesky<float>::relative_floor(single.count()) * scale, left = same.trace_left();
    if (all_of_it)
        printf("%-60s %5ld of %5ld pivots, left %.3e, said %.3e, f64 %.3e\n", what.c_str(),
               static_cast<long>(single.count()), static_cast<long>(twice.count()), left, single.trace_left(),
               twice.trace_left());
    // f32 skips given rows that it cannot distinguish from the span of others. f64 keeps them, so
    // that they reduce its residual further.
    TEST_ASSERT_TRUE_MESSAGE(left <= 2 * twice.trace_left() + (rule == Rule::given ? 64 : 1) * floor, what.c_str());
    TEST_ASSERT_TRUE_MESSAGE(std::fabs(single.trace_left() - left) <= 0.01 * left + 128 * u, what.c_str());
    for (int64_t i = 0; i < single.n(); ++i) // each row's residual must be correct
        TEST_ASSERT_TRUE_MESSAGE(std::fabs(single.residual()[i] - same.residual()[i]) <= 1e-3 * most, what.c_str());
}

void check_all(const Matrix &x, const char *data) {
    const double width = median_distance(x);
    Matrix positive = x;
    for (double &value : positive.v) value = std::fabs(value);
    std::vector<const char *> kernels = {"gaussian", "laplacian", "matern", "polynomial"};
    if (all_of_it)
        kernels.insert(kernels.end(), {"linear", "cosine", "rational-quadratic", "cauchy", "inverse-multiquadric",
                                       "chi2", "additive-chi2", "histogram-intersection", "hamming", "anova"});
    for (const char *kernel : kernels) {
        const bool scaled = !std::strcmp(kernel, "polynomial") || !std::strcmp(kernel, "anova");
        for (double times : {0.3, 1.0, 3.0, 10.0, 30.0}) {
            Matrix rows = std::strstr(kernel, "chi2") || std::strstr(kernel, "histogram") ? positive : x;
            for (double &value : rows.v) value = scaled ? static_cast<float>(value / (width * times)) : value;
            const Problem problem(std::move(rows), kernel, width * times);
            for (Rule rule : {Rule::greedy, Rule::sampled, Rule::given})
                check(problem, rule,
                      std::string(data) + ", " + kernel + " x " + std::to_string(times) +
                          (rule == Rule::greedy    ? ", greedy"
                           : rule == Rule::sampled ? ", sampled"
                                                   : ", given"));
        }
    }
}

void test_like_real() { check_all(like_real(rows_asked), "like real"); }

void test_real() {
    bool any = false;
    for (const char *name : {"ijcnn1", "skin", "abalone"}) {
        const Matrix all = rows_of_file(name, 0);
        if (all.rows == 0) continue;
        any = true;
        const int64_t n = std::min(rows_asked, all.rows), step = all.rows / n;
        Matrix x(n, all.cols);
        for (int64_t i = 0; i < n; ++i) std::copy_n(all.row(i * step), all.cols, &x(i, 0));
        check_all(x, name);
    }
    if (!any)
        TEST_IGNORE_MESSAGE("there is no ijcnn1.X.npy, skin.X.npy nor abalone.X.npy: set MERCER_DATA to their folder");
}

// A matrix that is truly indefinite must be distinguished from rounding, in f32 too, and the
// message must say what to try.
void test_indefinite() {
    const Matrix x = like_real(400);
    Matrix k = gaussian_gram(x, 3);
    for (int64_t i = 0; i < k.rows; ++i)
        for (int64_t j = 0; j < k.rows; ++j)
            k(i, j) -= 0.02 * std::cos(static_cast<double>(i)) * std::cos(static_cast<double>(j));
    const MatrixRows matrix(k);
    for (bool draw : {false, true})
        expect_error(MERCER_E_NUMERICAL, "use float64",
                     [&] { draw ? sampled<float>(matrix, stop_at(400), 1) : greedy<float>(matrix, stop_at(400)); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int argc, char **argv) {
    if (argc == 3) rows_asked = std::atoll(argv[1]), pivots_asked = std::atoll(argv[2]), all_of_it = true;
    UNITY_BEGIN();
    RUN_TEST(test_like_real);
    if (all_of_it) RUN_TEST(test_real);
    RUN_TEST(test_indefinite);
    return UNITY_END();
}
