// Tests the lift `projected` by passes over k(X, B). Compares the operator with naive matrices, and
// fits by passes with fits by the dense problem. Also checks which fits use the dense problem
// instead, and the bounds of forecasts.
#include "factor/nystrom_operator.h"
#include "oracle.h"
#include "session.h"
#include "tolerances.h"

#include <nlohmann/json.hpp>
#include <numeric>

using namespace mercer;
using nlohmann::json;

namespace {

constexpr int64_t d = 8, n = 700, m = 270;
constexpr double sigma = 0.7;

// The rows B are the first m rows; two of them are equal. With `far`, one row of X is so far away
// that f32 cannot hold it in the packed layout of the fused kernels.
struct Problem {
    explicit Problem(bool far) : x(oracle::Numbers(3).matrix(n, d)), kernel(parse_expression("gaussian"), registry) {
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value)); // the same data for f32
        for (int64_t c = 0; c < d; ++c) x(20, c) = x(11, c);
        if (far) x(600, 2) = 1e16;
        mercer_run settings = with_threads(1);
        Run run({}, &settings);
        kernel.finish(run, d, [](const Leaf &, const std::string &) { return sigma; });
        for (Leaf &leaf : kernel.leaves) leaf.shift.assign(d, 0.0);
        source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, n, d, d, 1, x.v.data()});
        basis = make_view_source({sizeof(mercer_view), MERCER_F64, 0, m, d, d, 1, x.v.data()});
        for (int64_t i = 0; i < n; ++i) weights.push_back(0.5 + static_cast<double>(i % 7));
    }
    template <class T>
    Points<T> points(const std::shared_ptr<Source> &of) const {
        return Points<T>(of, {}, leaf_specs(kernel));
    }
    // Returns sum w (l - mu)(l - mu)^T by plain loops, where l are the coordinates of a row in the
    // span of the pivots.
    Matrix expected(const int64_t *places, int64_t rank, bool weighted, bool centred, Vector &mean) const {
        Matrix b(rank, d);
        for (int64_t k = 0; k < rank; ++k) std::copy_n(x.row(places[k]), d, &b(k, 0));
        const Matrix kb = oracle::gram(oracle::gaussian(sigma), b, b), kx = oracle::gram(oracle::gaussian(sigma), x, b);
        Matrix lb(rank, rank), l(n, rank), out(rank, rank);
        for (int64_t i = 0; i < rank; ++i)
            for (int64_t j = 0; j <= i; ++j) {
                double sum = kb(i, j);
                for (int64_t k = 0; k < j; ++k) sum -= lb(i, k) * lb(j, k);
                lb(i, j) = i == j ? std::sqrt(sum) : sum / lb(j, j);
            }
        double total = 0;
        mean.assign(static_cast<size_t>(rank), 0.0);
        for (int64_t i = 0; i < n; ++i) {
            const double w = weighted ? weights[static_cast<size_t>(i)] : 1;
            for (int64_t j = 0; j < rank; ++j) {
                double sum = kx(i, j);
                for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * lb(j, k);
                l(i, j) = sum / lb(j, j);
                mean[static_cast<size_t>(j)] += w * l(i, j);
            }
            total += w;
        }
        for (double &value : mean) value = centred ? value / total : 0;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < rank; ++j)
                for (int64_t k = 0; k < rank; ++k)
                    out(j, k) += (weighted ? weights[static_cast<size_t>(i)] : 1) *
                                 (l(i, j) - mean[static_cast<size_t>(j)]) * (l(i, k) - mean[static_cast<size_t>(k)]);
        return out;
    }

    Registry registry;
    Matrix x;
    Expression kernel;
    std::shared_ptr<Source> source, basis;
    Vector weights;
};

template <class T>
struct Said {
    std::vector<double> dense, product, diagonal, mean;
    std::vector<int64_t> places;
};

// Calls dense, apply and diagonal of the operator. The first call computes the mean, which the
// others use. about: the operator is given a point other than 0 as its guess of the mean.
template <class T>
Said<T> say(const Problem &problem, bool weighted, bool centred, int64_t threads, bool about) {
    mercer_run settings = with_threads(threads);
    Run run({}, &settings);
    const KernelRows own{problem.basis, {}, problem.kernel, nullptr, m, nullptr};
    auto factor = std::make_shared<PartialCholesky<T>>(run, own, m);
    std::vector<int64_t> order(m);
    std::iota(order.begin(), order.end(), int64_t{0});
    factor->append(order.data(), m);
    const SpanRows<T> span(run, problem.kernel, problem.points<T>(problem.source), problem.points<T>(problem.basis),
                           factor);
    const int64_t rank = span.rank();
    std::vector<double> near;
    for (int64_t k = 0; about && k < rank; ++k) near.push_back(0.1 * static_cast<double>(k % 3));
    const SpanOperator<T> op(run, span, problem.points<T>(problem.source), weighted ? problem.weights.data() : nullptr,
                             centred, near);
    Said<T> out;
    out.places.assign(span.index(), span.index() + rank);
    out.dense.resize(static_cast<size_t>(rank * rank));
    op.dense(run, out.dense.data(), rank);
    out.mean = op.mean();
    Block q(run, rank, 3, false), y(run, rank, 3, false);
    Vector values(static_cast<size_t>(rank));
    oracle::Numbers numbers(9);
    for (int64_t j = 0; j < 3; ++j) {
        for (double &value : values) value = numbers();
        q.write(j, 0, rank, values.data());
    }
    op.apply(run, false, columns(q), columns(y));
    out.product.resize(static_cast<size_t>(3 * rank));
    for (int64_t j = 0; j < 3; ++j) y.read(j, 0, rank, out.product.data() + j * rank);
    out.diagonal.resize(static_cast<size_t>(rank));
    op.diagonal(run, out.diagonal.data());
    TEST_ASSERT_EQUAL_INT64(3 * n * m, op.kernel_evaluations());
    return out;
}

// Kernel values have errors of some u, and coordinates 1 / L_kk times as much; an entry adds up
// products of n coordinates. In f32, errors of 3e-4 n were observed.
template <class T>
void check_operator(bool far) {
    const Problem problem(far);
    const double allowed = (sizeof(T) == 4 ? 2e-3 : 1e-9) * 4 * n; // 4 n exceeds the sum of the weights, 3.5 n
    for (int kind = 0; kind < 8; ++kind) {
        const bool weighted = kind & 1, centred = kind & 2, about = kind & 4;
        const Said<T> got = say<T>(problem, weighted, centred, 2, about && centred);
        const int64_t rank = static_cast<int64_t>(got.places.size());
        TEST_ASSERT_EQUAL_INT64(m - 1, rank); // of two equal rows one is dropped
        Vector mean;
        const Matrix expected = problem.expected(got.places.data(), rank, weighted, centred, mean);
        expect_near(got.dense, expected.v, allowed, "dense");
        expect_near(got.mean, mean, allowed / n, "mean");
        oracle::Numbers numbers(9);
        Vector q(static_cast<size_t>(rank)), y(static_cast<size_t>(rank)), diagonal(static_cast<size_t>(rank));
        for (int64_t j = 0; j < 3; ++j) {
            for (double &value : q) value = numbers();
            for (int64_t i = 0; i < rank; ++i) {
                y[static_cast<size_t>(i)] = oracle::dot(expected.row(i), q.data(), rank);
                diagonal[static_cast<size_t>(i)] = expected(i, i);
            }
            expect_near(Vector(got.product.begin() + j * rank, got.product.begin() + (j + 1) * rank), y, 4 * allowed,
                        "product");
        }
        expect_near(got.diagonal, diagonal, allowed, "diagonal");
        for (int64_t threads : {1, 5}) {
            const Said<T> again = say<T>(problem, weighted, centred, threads, about && centred);
            expect_same_bits(again.dense, got.dense, "threads: dense");
            expect_same_bits(again.product, got.product, "threads: product");
        }
    }
}
void test_operator() {
    for (bool far : {false, true}) check_operator<double>(far), check_operator<float>(far);
}

json report_of(const ::Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "", &text));
    return json::parse(text);
}

Settings settings_for(const char *certificates, const char *centred, int64_t centres = 200) {
    return {{"reducer", "uniform"},
            {"reducer.m", std::to_string(centres)},
            {"components", "4"},
            {"report.certificates", certificates},
            {"lift.centred", centred}};
}

void check_bounds(const json &report) {
    for (const char *name : {"bytes", "kernel_evaluations", "passes", "flops"}) {
        const json &figure = report["forecast"][name];
        TEST_ASSERT_TRUE_MESSAGE(figure["happened"] <= figure["most"], name);
        TEST_ASSERT_TRUE_MESSAGE(figure["likely"] <= figure["most"], name);
    }
}

// Returns z with the signs of the columns of `like`. Rounding decides the sign of a component if
// two of its coefficients are equally large.
Matrix turned_to(Matrix z, const Matrix &like) {
    for (int64_t j = 0; j < z.cols; ++j) {
        double along = 0;
        for (int64_t i = 0; i < z.rows; ++i) along += z(i, j) * like(i, j);
        for (int64_t i = 0; along < 0 && i < z.rows; ++i) z(i, j) = -z(i, j);
    }
    return z;
}

// Compares a fit by passes with a fit by the dense problem. Both compute eigenpairs of the same
// matrix, and passes end at residuals of at most tol theta_1. Eigenvalues therefore differ by
// rounding, and vectors by tol / gap. sigma = 1 keeps the centres so far apart that passes in f32
// are possible.
void test_fits() {
    Session session;
    const Matrix x = oracle::clusters(6000, 4);
    Vector weights;
    for (int64_t i = 0; i < x.rows; ++i) weights.push_back(i % 5 == 0 ? 0 : 1 + static_cast<double>(i % 3));
    for (bool f32 : {false, true})
        for (const char *centred : {"true", "false"})
            for (const Vector &w : {Vector(), weights}) {
                const Layout layout{f32, f32};
                Settings settings = settings_for("none", centred);
                settings.emplace_back("sigma", "1");
                const ::Model few = session.fit(x, settings, w, layout, "nystrom");
                settings[3].second = "cheap";
                const ::Model all = session.fit(x, settings, w, layout, "nystrom");
                const json report = report_of(few), other = report_of(all);
                TEST_ASSERT_TRUE(report["outcome"].empty() && !report.contains("mse") &&
                                 report["solver"] == "block-krylov");
                check_bounds(report);
                Vector theta;
                for (const json &entry : other["certificates"])
                    if (entry["name"] == "eigenvalue") theta.push_back(entry["theta"].get<double>());
                const double u = f32 ? 1e-5 : 1e-11;
                expect_near(few.vector("lambda"), theta, u * theta[0], "lambda");
                TEST_ASSERT_DOUBLE_WITHIN(u, other["total_variance"]["value"], report["total_variance"]["value"]);
                TEST_ASSERT_DOUBLE_WITHIN(u, other["mse_components"], report["mse_components"]);
                const Matrix scores = session.apply(all, x, "scores", layout);
                expect_near(turned_to(session.apply(few, x, "scores", layout), scores).v, scores.v, f32 ? 3e-3 : 1e-7,
                            "scores");
                expect_near(session.apply(few, x, "residual", layout).v, session.apply(all, x, "residual", layout).v,
                            f32 ? 1e-3 : 1e-9, "residual");
                for (const char *limit : {"t2", "residual"})
                    TEST_ASSERT_DOUBLE_WITHIN((f32 ? 1e-2 : 1e-6) * other["limits"][limit]["p95"].get<double>(),
                                              other["limits"][limit]["p95"], report["limits"][limit]["p95"]);
            }
}

void test_threads_and_seeds() {
    Session session;
    const Matrix x = oracle::clusters(9000, 3);
    const mercer_run one = with_threads(1), four = with_threads(4);
    Settings settings = settings_for("none", "true", 100);
    const ::Model a = session.fit(x, settings, {}, {}, "nystrom", &one),
                  b = session.fit(x, settings, {}, {}, "nystrom", &four);
    expect_same_bits(a.vector("A"), b.vector("A"), "A");
    expect_same_bits(a.vector("lambda"), b.vector("lambda"), "lambda");
    const json passes = report_of(a)["passes"];
    TEST_ASSERT_TRUE(passes.size() >= 2 && passes[0]["width"] == 16 && passes[0]["dtype"] == "f64");
}

// In f32, passes are too inaccurate if centres are nearly linearly dependent. The dense problem
// must then be solved, with its usual accuracy.
void test_all_entries() {
    Session session;
    const Matrix x = oracle::clusters(6000, 4);
    for (const char *wide : {"50", "400"}) {
        Settings settings = settings_for("none", "true");
        settings.emplace_back("sigma", wide);
        const Layout f32{true, false};
        const ::Model few = session.fit(x, settings, {}, f32, "nystrom");
        const json report = report_of(few);
        TEST_ASSERT_TRUE(report.contains("mse") && report["outcome"].empty() && report["solver"] == "dense");
        check_bounds(report);
        settings[3].second = "cheap";
        const json other = report_of(session.fit(x, settings, {}, f32, "nystrom"));
        // The total variance is 1 - |mu|^2, and both terms have errors of some u in f32.
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, other["total_variance"]["value"], report["total_variance"]["value"]);
        const double first = other["eigenvalues"][0];
        TEST_ASSERT_DOUBLE_WITHIN(1e-3 * first, first, report["eigenvalues"][0]);
    }
}

// The dense problem must be solved if error bars need rows of L, if the number of components is
// open or too large for m, if kernel values are expensive (laplacian), or if n < 4 m.
void test_not_by_passes() {
    Session session;
    const Matrix x = oracle::clusters(3000, 4);
    const std::vector<Settings> others = {{{"report.bootstrap", "10"}},
                                          {{"components", "0"}},
                                          {{"components", "40"}},
                                          {{"kernel", "laplacian"}},
                                          {{"reducer.m", "1000"}}};
    for (const Settings &other : others) {
        Settings settings = settings_for("none", "true");
        for (const auto &[name, value] : other) {
            std::erase_if(settings, [&name = name](const auto &pair) { return pair.first == name; });
            settings.emplace_back(name, value);
        }
        const json report = report_of(session.fit(x, settings, {}, {}, "nystrom"));
        TEST_ASSERT_TRUE_MESSAGE(report.contains("mse") && report["solver"] == "dense", other[0].first.c_str());
    }
}

} // namespace

void setUp() {}
void tearDown() {}
int main() {
    UNITY_BEGIN();
    RUN_TEST(test_operator);
    RUN_TEST(test_fits);
    RUN_TEST(test_threads_and_seeds);
    RUN_TEST(test_all_entries);
    RUN_TEST(test_not_by_passes);
    return UNITY_END();
}
