// Checks every kernel, alone and in expressions, through mercer_recipe_kernel: in both types and
// layouts, for one set of rows and between two.
#include "session.h"
#include "tolerances.h"

namespace {

constexpr int64_t d = 6;
struct Case {
    const char *name;
    Settings settings;
    oracle::Pair k;
    double lo, hi;    // range of the data
    bool whole;       // entries are rounded down to whole numbers, so that some coincide
    double slope;     // upper bound of |dk/dform|
    double sizes;     // upper bound of the sum of |terms| of the form; for sqdist, of |x|^2 + |y|^2
    double sigma = 0; // width of a kernel with a cusp; 0: there is no cusp
};

// Kernels of dot products. For entries in (-1, 1), |x.y| <= d, which bounds the slopes.
std::vector<Case> of_dots(double sizes) {
    auto map = [](auto f) {
        return [=](const double *x, const double *y, int64_t n) { return f(oracle::dot(x, y, n)); };
    };
    auto power = map([](double v) { return std::pow(0.5 * v - 0.25, 5); });
    auto poly = map([](double v) { return std::pow(v / d + 1, 3); });
    auto tanh = map([](double v) { return std::tanh(0.6 * v - 0.1); });
    return {{"polynomial",
             {{"kernel", "polynomial"}, {"gamma", "0.5"}, {"coef0", "-0.25"}, {"degree", "5"}},
             power,
             -1,
             1,
             false,
             0.5 * 5 * std::pow(3.25, 4),
             sizes},
            {"poly", {{"kernel", "poly"}}, poly, -1, 1, false, 3 * 4. / d, sizes},
            {"sigmoid", {{"kernel", "sigmoid"}, {"gamma", "0.6"}, {"coef0", "-0.1"}}, tanh, -1, 1, false, 0.6, sizes},
            {"cosine", {{"kernel", "cosine"}}, oracle::cosine, -1, 1, false, 1, 2},
            {"anova",
             {{"kernel", "anova"}, {"gamma", "0.8"}, {"degree", "3"}},
             oracle::anova(0.8, 3),
             -1,
             1,
             false,
             3 * d * d,
             sizes}};
}

// Radial kernels. Their slopes are those of k as a function of r^2, which are largest at 0.
std::vector<Case> of_distances(double norms) {
    struct Radial {
        const char *name;
        Settings settings;
        std::function<double(double r)> k;
        double slope, cusp;
    };
    const double s = 0.7;
    const Radial table[] = {
        {"matern 0.5", {{"kernel", "matern"}, {"nu", "0.5"}}, [=](double r) { return std::exp(-r / s); }, 0, s},
        {"matern 1.5",
         {{"kernel", "matern"}},
         [=](double r) { return (1 + std::sqrt(3) * r / s) * std::exp(-std::sqrt(3) * r / s); },
         1.5 / s / s,
         0},
        {"matern 2.5",
         {{"kernel", "matern"}, {"nu", "2.5"}},
         [=](double r) {
             const double t = std::sqrt(5) * r / s;
             return (1 + t + t * t / 3) * std::exp(-t);
         },
         5. / 6 / s / s,
         0},
        {"rational-quadratic 1",
         {{"kernel", "rational-quadratic"}},
         [=](double r) { return 1 / (1 + r * r / (2 * s * s)); },
         0.5 / s / s,
         0},
        {"rational-quadratic 2.6",
         {{"kernel", "rational-quadratic"}, {"alpha", "2.6"}},
         [=](double r) { return std::pow(1 + r * r / (5.2 * s * s), -2.6); },
         0.5 / s / s,
         0},
        {"cauchy", {{"kernel", "cauchy"}}, [=](double r) { return 1 / (1 + r * r / (s * s)); }, 1 / s / s, 0},
        {"inverse-multiquadric",
         {{"kernel", "inverse-multiquadric"}},
         [=](double r) { return 1 / std::sqrt(r * r + s * s); },
         0.5 / s / s / s,
         0},
        {"wave",
         {{"kernel", "wave"}},
         [=](double r) { return r == 0 ? 1 : s / r * std::sin(r / s); },
         1 / s / s / 6,
         0},
    };
    std::vector<Case> out;
    for (const Radial &row : table) {
        Settings settings = row.settings;
        settings.push_back({row.name == std::string("inverse-multiquadric") ? "c" : "sigma", "0.7"});
        out.push_back({row.name, settings, oracle::of_distance(row.k), -1, 1, false, row.slope, norms, row.cusp});
    }
    return out;
}

std::vector<Case> cases() {
    auto exp_of = [](double rate, oracle::Pair form) {
        return [=](const double *x, const double *y, int64_t n) { return std::exp(-rate * form(x, y, n)); };
    };
    auto norms = 2.0 * d;
    std::vector<Case> out = {
        {"linear", {{"kernel", "linear"}}, oracle::dot, -1, 1, false, 1, norms},
        {"gaussian sigma",
         {{"kernel", "gaussian"}, {"sigma", "1.5"}},
         oracle::gaussian(1.5),
         -1,
         1,
         false,
         1 / 4.5,
         norms},
        {"rbf gamma", {{"kernel", "rbf"}, {"gamma", "0.7"}}, exp_of(0.7, oracle::sqdist), -1, 1, false, 0.7, norms},
        {"laplacian l2", {{"kernel", "laplacian"}, {"sigma", "2"}}, oracle::laplacian(2), -1, 1, false, 0, norms, 2},
        {"laplacian l1",
         {{"kernel", "laplacian"}, {"kernel.norm", "l1"}, {"gamma", "0.3"}},
         exp_of(0.3, oracle::l1),
         -1,
         1,
         false,
         0.3,
         norms},
        {"chi2", {{"kernel", "chi2"}, {"gamma", "0.4"}}, exp_of(0.4, oracle::chi2), 0, 2, false, 0.4, norms},
        {"additive-chi2", {{"kernel", "additive-chi2"}}, oracle::additive_chi2, 0, 2, false, 1, norms},
        {"histogram-intersection", {{"kernel", "histogram-intersection"}}, oracle::min, 0, 2, false, 1, norms},
        {"hamming", {{"kernel", "hamming"}, {"gamma", "2"}}, exp_of(2.0 / d, oracle::hamming), 0, 3, true, 0, 0},
    };
    for (const Case &c : of_dots(norms)) out.push_back(c);
    for (const Case &c : of_distances(norms)) out.push_back(c);
    auto g = oracle::gaussian(1);
    auto h = exp_of(1.0 / 2, oracle::hamming); // gamma = 1, divided by the 2 columns
    auto sum = [g](const double *x, const double *y, int64_t) { return g(x, y, d) + 0.25 * oracle::dot(x, y, d); };
    auto mixed = [g, h](const double *x, const double *y, int64_t) {
        return g(x, y, 4) * h(x + 4, y + 4, 2) + 0.1 * oracle::dot(x, y, d);
    };
    auto columns = [](const double *x, const double *y, int64_t) {
        return 3 * (x[5] * y[5] + x[0] * y[0] + x[1] * y[1]);
    };
    out.push_back(
        {"sum", {{"kernel", "gaussian + 0.25 linear"}, {"kernel.1.sigma", "1"}}, sum, -1, 1, false, 1, 2 * norms});
    out.push_back({"product",
                   {{"kernel", "gaussian[0-3] * hamming[4-5] + 0.1 linear"}, {"kernel.1.sigma", "1"}},
                   mixed,
                   0,
                   3,
                   true,
                   1,
                   9 * norms});
    out.push_back({"columns", {{"kernel", "3 linear[5,0-1]"}}, columns, -1, 1, false, 3, norms});
    return out;
}

Matrix points(const Case &c, int64_t n, uint64_t seed) {
    Matrix x = oracle::Numbers(seed).matrix(n, d, c.lo, c.hi);
    for (double &value : x.v)
        value = static_cast<double>(static_cast<float>(c.whole ? std::floor(value) : value)); // the same data for f32
    if (n > 3) std::copy_n(x.row(0), d, &x(3, 0));                                            // equal rows
    if (n > 5 && c.lo == 0) std::fill_n(&x(5, 0), d, 0.0); // zeros, for which some kernels have terms 0/0
    return x;
}

double allowed(const Case &c, double u) {
    double form = c.slope * (tolerance::sqdist(d, c.sizes, u) + tolerance::sum(d, c.sizes, u));
    return c.sigma > 0 ? tolerance::steep(2 * std::sqrt(double(d)) / c.sigma) * u : tolerance::kernel(form, 1, u);
}

void test_every_kernel() {
    Session session;
    for (const Case &c : cases())
        for (Layout layout : {Layout{false, false}, Layout{false, true}, Layout{true, false}, Layout{true, true}}) {
            Matrix x = points(c, 300, 1), y = points(c, 41, 2);
            std::copy_n(x.row(7), d, &y(2, 0));
            Matrix square = session.kernel(c.settings, x, nullptr, layout),
                   between = session.kernel(c.settings, x, &y, layout);
            double u = layout.f32 ? tolerance::u32 : tolerance::u64;
            expect_near(square.v, oracle::gram(c.k, x, x).v, allowed(c, u), c.name);
            expect_near(between.v, oracle::gram(c.k, x, y).v, allowed(c, u), c.name);
            for (int64_t i = 0; i < square.rows; ++i)
                for (int64_t j = 0; j < i; ++j) TEST_ASSERT_TRUE_MESSAGE(square(i, j) == square(j, i), c.name);
            double own = c.k(x.row(0), x.row(0), d);
            TEST_ASSERT_TRUE_MESSAGE(square(0, 3) == square(0, 0), c.name); // equal rows
            if (own == 1 && c.name != std::string("cosine"))                // its lengths are rounded
                TEST_ASSERT_TRUE_MESSAGE(square(0, 0) == 1 && between(7, 2) == 1, c.name);
        }
}

void test_layouts_have_the_same_bits() {
    Session session;
    for (const Case &c : cases()) {
        Matrix x = points(c, 70, 3);
        for (bool f32 : {false, true})
            expect_same_bits(session.kernel(c.settings, x, nullptr, {f32, false}).v,
                             session.kernel(c.settings, x, nullptr, {f32, true}).v, c.name);
    }
}

// y = x must agree with y = NULL, for which only one triangle is computed, up to rounding: in both
// types and layouts, and for more rows than a tile has.
void test_given_and_null_agree() {
    Session session;
    for (const Case &c : cases()) {
        Matrix x = points(c, 270, 4);
        for (bool f32 : {false, true}) {
            const double u = f32 ? tolerance::u32 : tolerance::u64;
            const Matrix null = session.kernel(c.settings, x, nullptr, {f32, false}),
                         given = session.kernel(c.settings, x, &x, {f32, false});
            expect_near(given.v, null.v, 2 * allowed(c, u), c.name);
            expect_same_bits(session.kernel(c.settings, x, &x, {f32, true}).v, given.v, c.name);
        }
    }
}

// Far from the origin, kernel values must be as accurate as near it, because rows are shifted to
// their mean.
void test_large_offset() {
    Session session;
    Matrix x = oracle::Numbers(5).matrix(100, d), far = x;
    for (double &value : x.v) value = std::round(value * 1024) / 1024; // adding 1e6 is exact then
    for (size_t k = 0; k < x.v.size(); ++k) far.v[k] = x.v[k] + 1e6;
    for (const char *kernel : {"gaussian", "laplacian"}) {
        Settings settings = {{"kernel", kernel}, {"sigma", "1"}};
        auto k = std::string(kernel) == "gaussian" ? oracle::gaussian(1) : oracle::laplacian(1);
        double error = std::string(kernel) == "gaussian"
                           ? tolerance::kernel(tolerance::sqdist(d, 4 * d, tolerance::u64), 1, tolerance::u64)
                           : tolerance::steep(2 * std::sqrt(double(d))) * tolerance::u64;
        expect_near(session.kernel(settings, far).v, oracle::gram(k, x, x).v, error, kernel);
    }
}

// Rows with duplicates and with neighbours at all distances, down to a rounding error of a
// coordinate. The mean is near `offset` in each column.
Matrix neighbours(int64_t cols, double offset, bool f32) {
    constexpr int64_t half = 140;
    oracle::Numbers numbers(static_cast<uint64_t>(cols));
    Matrix x = numbers.matrix(2 * half, cols);
    for (int64_t i = 0; i < half; ++i)
        for (int64_t k = 0; k < cols; ++k) x(half + i, k) = x(i, k) + (i % 4 ? std::pow(10, -i % 18) * numbers() : 0);
    for (double &value : x.v) value += offset;
    if (f32)
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
    return x;
}

// For a kernel with a cusp, values of close rows must be as accurate as all others, and values of
// equal rows must be exactly k(x, x).
void test_close_rows() {
    Session session;
    for (int64_t cols : {1, 2, 16, 100})
        for (double offset : {0.0, 50.0})
            for (bool f32 : {false, true})
                for (double wide : {0.1, 1.0, 10.0}) {
                    const Matrix x = neighbours(cols, offset, f32);
                    const double length = std::sqrt(double(cols)), sigma = wide * length;
                    const Settings settings = {{"kernel", "laplacian"}, {"sigma", std::to_string(sigma)}};
                    const Matrix exact = oracle::gram(oracle::laplacian(std::stod(settings[1].second)), x, x);
                    const double u = f32 ? tolerance::u32 : tolerance::u64;
                    for (const Matrix *other : {static_cast<const Matrix *>(nullptr), &x}) {
                        const Matrix k = session.kernel(settings, x, other, {f32, false});
                        expect_near(k.v, exact.v, tolerance::steep(2 * length / sigma) * u, "close rows");
                        for (int64_t i = 0; i < x.rows; ++i)
                            for (int64_t j = 0; j < x.rows; ++j)
                                if (std::equal(x.row(i), x.row(i) + cols, x.row(j)))
                                    TEST_ASSERT_TRUE_MESSAGE(k(i, j) == 1, "equal rows");
                    }
                }
}

// Checks that lengths neither overflow nor underflow, that rows of zeros give 0, and that a kernel
// on some columns uses the length in these columns.
void test_cosine() {
    Session session;
    Matrix x = oracle::Numbers(11).matrix(70, d), wild = x;
    std::fill_n(&x(3, 0), d, 0.0);
    std::fill_n(&wild(3, 0), d, 0.0);
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t k = 0; k < d; ++k) wild(i, k) *= std::ldexp(1, static_cast<int>(i % 3 - 1) * 900);
    const Matrix exact = oracle::gram(oracle::cosine, x, x);
    const double allowed = tolerance::sum(d, 2, tolerance::u64);
    expect_near(session.kernel({{"kernel", "cosine"}}, wild).v, exact.v, allowed, "wild lengths");
    auto some = [](const double *a, const double *b, int64_t) { return oracle::cosine(a + 2, b + 2, 3); };
    expect_near(session.kernel({{"kernel", "cosine[2-4]"}}, wild).v, oracle::gram(some, x, x).v, allowed, "columns");
}

// Checks the bandwidth of each rule, on data whose distances are known.
void test_bandwidth() {
    Session session;
    Matrix x(3, 1);
    x.v = {0, 1, 3}; // distances 1, 2, 3; variance 14/9
    struct {
        const char *rule;
        double sigma;
    } rules[] = {{"median", 2}, {"mean", 2}, {"scale", std::sqrt(14. / 9 / 2)}};
    for (auto &rule : rules)
        expect_near(session.kernel({{"kernel", "gaussian"}, {"bandwidth", rule.rule}}, x).v,
                    oracle::gram(oracle::gaussian(rule.sigma), x, x).v,
                    tolerance::kernel(tolerance::sqdist(1, 18, tolerance::u64), 1, tolerance::u64), rule.rule);
    Matrix equal(4, 2); // all distances are 0, so any width will do, and all kernel values are 1
    expect_near(session.kernel({{"kernel", "gaussian"}}, equal).v, Vector(16, 1.0), 0, "constant data");
}

void test_refusals() {
    Session session;
    Matrix x(2, 2);
    x.v = {1, 2, -1e-9, 4};
    for (const char *kernel : {"chi2", "additive-chi2", "histogram-intersection"}) {
        Held held(x), out(x);
        mercer_data *data = session.data(held);
        mercer_recipe *recipe = session.recipe("kpca", {{"kernel", kernel}});
        mercer_view view = out.view();
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_DATA, mercer_recipe_kernel(recipe, data, nullptr, &view, nullptr),
                                      kernel);
        TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "row 1, column 0"));
        mercer_recipe_destroy(recipe);
        mercer_data_destroy(data);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_every_kernel);
    RUN_TEST(test_layouts_have_the_same_bits);
    RUN_TEST(test_given_and_null_agree);
    RUN_TEST(test_large_offset);
    RUN_TEST(test_close_rows);
    RUN_TEST(test_cosine);
    RUN_TEST(test_bandwidth);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
