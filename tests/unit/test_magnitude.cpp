// Checks data of any magnitude that f64 holds. If the rows are multiplied by s, the eigenvalues
// must be multiplied by s^2 for the linear kernel, and must not change for a radial kernel whose
// bandwidth is multiplied by s, too. If values do not fit their type, the error must say so.
#include "session.h"
#include "tolerances.h"

namespace {

constexpr int64_t d = 4, r = 3;
constexpr double scales[] = {1, 1e20, 1e-20, 1e-30, 1e150, 1e-150};

Matrix times(Matrix x, double s) {
    for (double &value : x.v) value *= s;
    return x;
}

Matrix points(int64_t n) { // variances of columns differ by factors of 4
    Matrix x = oracle::Numbers(5).matrix(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) x(i, k) *= std::ldexp(1.0, static_cast<int>(-k));
    return x;
}

Vector covariance_values(const Matrix &x) {
    Matrix c(d, d), vectors;
    Vector mean;
    const double n = static_cast<double>(x.rows);
    for (int64_t k = 0; k < d; ++k) mean.push_back(oracle::sum_over(x.rows, [&](int64_t i) { return x(i, k); }) / n);
    for (int64_t k = 0; k < d; ++k)
        for (int64_t l = 0; l < d; ++l)
            c(k, l) = oracle::sum_over(x.rows,
                                       [&](int64_t i) {
                                           return (x(i, k) - mean[static_cast<size_t>(k)]) *
                                                  (x(i, l) - mean[static_cast<size_t>(l)]);
                                       }) /
                      n;
    return oracle::eigen(c, vectors);
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// Checks that the mean squares of the training rows' scores, divided by s^2, are the eigenvalues.
void check_scores(Session &session, const Model &model, const Matrix &x, double s, const Vector &lambda,
                  double allowed) {
    const Matrix z = times(session.apply(model, x), 1 / s);
    for (int64_t j = 0; j < r; ++j) {
        const double square = oracle::sum_over(z.rows, [&](int64_t i) { return z(i, j) * z(i, j); });
        TEST_ASSERT_DOUBLE_WITHIN(allowed, lambda[static_cast<size_t>(j)], square / static_cast<double>(z.rows));
    }
}

// The error of an iterated eigenvalue is at most residual^2 / gap, here about 1e-17 of the first
// one, and the third is a sixteenth of the first. Scaling rounds each entry, and the matrix and
// LAPACK err by some n u. The limit 1e-12 is more than both.
void test_linear() {
    Session session;
    for (const auto &[n, solver] : {std::pair{300, "dense"}, {1200, "block-krylov"}, {300, "orthogonal"}}) {
        const Matrix x = points(n);
        const Vector exact = covariance_values(x);
        for (double s : scales) {
            const Model model =
                session.fit(times(x, s), {{"kernel", "linear"}, {"components", "3"}, {"solver", solver}});
            const mercer_summary summary = model.summary();
            TEST_ASSERT_EQUAL_UINT32_MESSAGE(0, summary.outcome, solver);
            const Vector lambda = model.vector("lambda");
            double sum = 0;
            for (double value : exact) sum += value;
            for (size_t j = 0; j < r; ++j) TEST_ASSERT_DOUBLE_WITHIN(1e-12 * exact[j], exact[j], lambda[j] / s / s);
            TEST_ASSERT_DOUBLE_WITHIN(1e-12 * sum, sum, summary.total_variance / s / s);
            check_scores(session, model, times(x, s), s, exact, 1e-8 * exact[0]);
        }
    }
}

// Scaling rounds the rows by u, which changes distances by 2 u, and kernel values by that times
// their slope. Both fits stop at residuals of 1e-9 lambda_1, which change eigenvalues only by their
// squares.
void test_bandwidth_scales() {
    Session session;
    const int64_t n = 1200;
    const Matrix x = points(n);
    for (const char *kernel : {"gaussian", "laplacian"}) {
        Vector unscaled;
        for (double s : scales) {
            const Model model =
                session.fit(times(x, s), {{"kernel", kernel}, {"sigma", number(0.8 * s)}, {"components", "3"}});
            TEST_ASSERT_EQUAL_UINT32_MESSAGE(0, model.summary().outcome, kernel);
            const Vector lambda = model.vector("lambda");
            if (s == 1) unscaled = lambda;
            const double matrix =
                tolerance::matrix(n, tolerance::steep(8) * tolerance::u64, 1) / static_cast<double>(n);
            expect_near(lambda, unscaled, 2 * matrix, kernel);
            check_scores(session, model, times(x, s), 1, unscaled, 1e-8 * unscaled[0]);
        }
    }
}

// Sparse rows are not shifted. At the extreme scales, the squares of their values are outside the
// range of f32, so the fit must not use products in f32.
void test_sparse() {
    Session session;
    const int64_t n = 1200;
    const Matrix x = points(n);
    const Vector exact = covariance_values(x);
    std::vector<int64_t> offsets, columns;
    for (int64_t i = 0; i <= n; ++i) offsets.push_back(i * d);
    for (int64_t i = 0; i < n * d; ++i) columns.push_back(i % d);
    for (double s : scales) {
        const Matrix values = times(x, s);
        const mercer_sparse sparse{sizeof sparse, MERCER_CSR,     MERCER_F64,     MERCER_I64,     0, n, d,
                                   n * d,         offsets.data(), columns.data(), values.v.data()};
        mercer_data *data = nullptr;
        OK(mercer_data_from_sparse(&data, session.context, &sparse));
        const Vector lambda =
            session.fit(data, {{"kernel", "linear"}, {"components", "3"}, {"solver", "block-krylov"}}).vector("lambda");
        for (size_t j = 0; j < r; ++j) TEST_ASSERT_DOUBLE_WITHIN(1e-12 * exact[j], exact[j], lambda[j] / s / s);
        mercer_data_destroy(data);
    }
}

// The accuracy that `auto` promises (1 %) must hold at each scale, whichever strategy it chooses.
void test_auto() {
    Session session;
    const int64_t n = 1500;
    const Matrix x = points(n);
    for (const char *kernel : {"linear", "gaussian", "laplacian"}) {
        const bool linear = kernel == std::string("linear");
        auto settings = [&](double s) {
            Settings out = {{"kernel", kernel}, {"components", "3"}};
            if (!linear) out.emplace_back("sigma", number(0.8 * s));
            return out;
        };
        const Vector exact = session.fit(x, settings(1)).vector("lambda");
        for (double s : scales) {
            const Model model = session.fit(times(x, s), settings(s), {}, {}, "auto");
            const Vector lambda = model.vector("lambda");
            for (size_t j = 0; j < r; ++j)
                TEST_ASSERT_DOUBLE_WITHIN(0.01 * exact[j], exact[j], linear ? lambda[j] / s / s : lambda[j]);
        }
    }
}

// Rows are shifted before they are rounded to f32. Therefore a large mean must neither cost
// accuracy nor make the kernel matrix indefinite.
void test_large_mean() {
    Session session;
    Matrix x = points(1200);
    for (double &value : x.v) value = std::round(value * 4096) / 4096; // few bits, so that adding 1e8 is exact
    Matrix moved = x;
    for (double &value : moved.v) value += 1e8;
    const Settings settings = {{"kernel", "laplacian"}, {"sigma", "0.8"}, {"components", "3"}};
    const Model near = session.fit(x, settings), far = session.fit(moved, settings);
    TEST_ASSERT_EQUAL_UINT32(0, far.summary().outcome);
    // The mean is rounded by 1e8 u, and so are the rows from which it is subtracted.
    expect_near(far.vector("lambda"), near.vector("lambda"), 8 * 1e8 * tolerance::u64, "far from 0");
}

void refused(Session &session, const Matrix &x, Settings settings, const char *said, Layout layout = {},
             const char *method = "kpca") {
    settings.emplace_back("components", "3");
    Held held(x, layout);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe(method, settings);
    Model none;
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_DATA, mercer_model_fit(&none.handle, recipe, data, nullptr), said);
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), said), mercer_last_error());
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

void test_beyond() {
    Session session;
    const Matrix x = points(100), large = times(x, 1e200);
    const Layout f32{true, false};
    for (const char *method : {"kpca", "auto", "nystrom"}) {
        refused(session, large, {{"kernel", "linear"}}, "overflow f64", {}, method);
        refused(session, large, {{"kernel", "laplacian"}, {"sigma", "1e200"}}, "overflow f64", {}, method);
    }
    refused(session, times(x, 1e-170), {{"kernel", "linear"}}, "too small for f64");
    refused(session, times(x, 1e25), {{"kernel", "linear"}}, "data.dtype = f64", f32);
    refused(session, times(x, 1e-25), {{"kernel", "linear"}}, "data.dtype = f64", f32);
    refused(session, times(x, 1e25), {{"kernel", "linear"}, {"gram.storage", "f32"}}, "gram.storage = f32");
    refused(session, large, {{"kernel", "gaussian"}}, "kernel.bandwidth");
    const Settings scaled = {{"kernel", "gaussian"}, {"sigma", "1"}, {"data.scale", "standard"}, {"components", "3"}};
    const Vector unit = session.fit(x, scaled).vector("lambda"); // standardised columns do not depend on the scale
    expect_near(session.fit(large, scaled).vector("lambda"), unit, 1e-12 * unit[0], "scaled from 1e200");
    Matrix widest = x;
    widest(0, 0) = 1.7e308, widest(1, 0) = -1.7e308;
    refused(session, widest, {{"kernel", "gaussian"}, {"sigma", "1"}, {"data.scale", "standard"}}, "column 0");
    refused(session, times(x, 1e150), {{"kernel", "linear"}, {"report.certificates", "rows"}}, "squares", {},
            "nystrom");
    const Model held =
        session.fit(times(x, 1e25), {{"kernel", "linear"}, {"data.dtype", "f64"}, {"components", "3"}}, {}, f32);
    TEST_ASSERT_EQUAL_INT64(3, held.summary().r);
    // Kernel values of 1e300 need only fit the type of the result, f64.
    const Matrix k = session.kernel({{"kernel", "linear"}}, times(x, 1e150));
    TEST_ASSERT_DOUBLE_WITHIN(8 * d * tolerance::u64 * d, oracle::dot(x.row(0), x.row(1), d), k(0, 1) / 1e150 / 1e150);
    // In f32 blocks, images of vectors are of size 1e37, and their squares overflow.
    const Model near = session.fit(times(x, 1e18), {{"kernel", "linear"}, {"components", "3"}}, {}, f32);
    const Vector exact = covariance_values(x), lambda = near.vector("lambda");
    for (size_t j = 0; j < r; ++j)
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::matrix(100, 8 * d * tolerance::u32, d, tolerance::u32) / 100, exact[j],
                                  lambda[j] * 1e-36);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_linear);
    RUN_TEST(test_bandwidth_scales);
    RUN_TEST(test_sparse);
    RUN_TEST(test_auto);
    RUN_TEST(test_large_mean);
    RUN_TEST(test_beyond);
    return UNITY_END();
}
