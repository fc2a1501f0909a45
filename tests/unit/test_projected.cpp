// Compares the lift `projected` (nystrom, gkpca) with golden data, with exact kernel PCA, and with
// a naive solution in the span of the landmarks, where the factor is stored or recomputed.
#include "session.h"
#include "tolerances.h"

#include <nlohmann/json.hpp>
#include <numeric>

namespace {

const Settings golden = {{"kernel", "gaussian"}, {"gamma", "1.5625"}, {"components", "4"}}; // exp(-r^2 / 0.64)

Settings with(Settings settings, const std::vector<std::pair<std::string, std::string>> &more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

Model fit_rows(Session &session, const Matrix &x, const Settings &settings, std::vector<int64_t> rows,
               const mercer_run *run = nullptr, Layout layout = {}) {
    return session.fit_given(x, std::move(rows), {}, with(settings, {{"reducer", "given"}, {"lift", "projected"}}),
                             layout, "nystrom", run);
}

// Returns the eigenvalues of kernel PCA in the span of the rows B of x, that is, with
// K_nB K_BB^-1 K_Bn in place of K, by a naive computation.
Vector eigenvalues_in_span(const Matrix &x, const std::vector<int64_t> &rows, double gamma, bool centred) {
    auto k = [gamma](const double *a, const double *b, int64_t d) {
        return std::exp(-gamma * oracle::sqdist(a, b, d));
    };
    const int64_t m = static_cast<int64_t>(rows.size());
    Matrix b(m, x.cols);
    for (int64_t i = 0; i < m; ++i) std::copy_n(x.row(rows[static_cast<size_t>(i)]), x.cols, &b(i, 0));
    Matrix kbb = oracle::gram(k, b, b), kbn = oracle::gram(k, b, x), q;
    Vector s = oracle::eigen(kbb, q);
    Matrix f(m, x.rows); // S^-1/2 Q^T k(B, X)
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < x.rows; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < m; ++l) sum += q(l, i) * kbn(l, j);
            f(i, j) = s[static_cast<size_t>(i)] > 1e-9 ? sum / std::sqrt(s[static_cast<size_t>(i)]) : 0;
        }
    for (int64_t i = 0; centred && i < m; ++i) {
        double mean = 0;
        for (int64_t j = 0; j < x.rows; ++j) mean += f(i, j) / static_cast<double>(x.rows);
        for (int64_t j = 0; j < x.rows; ++j) f(i, j) -= mean;
    }
    Matrix vectors;
    Vector out = oracle::eigen(oracle::product(f, oracle::transposed(f)), vectors);
    for (double &value : out) value /= static_cast<double>(x.rows);
    return out;
}

std::vector<int64_t> first_rows(int64_t count) {
    std::vector<int64_t> out(static_cast<size_t>(count));
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i);
    return out;
}

void test_golden() {
    Session session;
    const Matrix x = oracle::golden_points();
    expect_near(fit_rows(session, x, with(golden, {{"lift.centred", "false"}}), first_rows(10)).vector("lambda"),
                {.549646322122, .134547792503, .110973977462, .071844542638}, tolerance::printed, "uncentred");
    expect_near(fit_rows(session, x, golden, first_rows(10)).vector("lambda"),
                {.135023366, .111132100, .073739516, .029296468}, 1e-9, "centred");
    const Model greedy = fit_rows(session, x, golden, {0, 20, 11, 7, 16, 58, 23, 21}); // landmarks of the golden data
    const char *text = nullptr;
    OK(mercer_model_info(greedy.handle, "/mse", &text));
    TEST_ASSERT_DOUBLE_WITHIN(1e-11, .106827839983, std::atof(text));
}

void test_all_rows_are_exact() {
    Session session;
    Matrix x = oracle::Numbers(5).matrix(90, 3);
    for (const char *centred : {"true", "false"}) {
        const Settings settings = {{"sigma", "0.5"}, {"components", "6"}, {"lift.centred", centred}};
        Model exact = session.fit(x, settings), all = fit_rows(session, x, settings, first_rows(90));
        expect_near(all.vector("lambda"), exact.vector("lambda"), 1e-12, "lambda");
        expect_near(session.apply(all, x).v, session.apply(exact, x).v, 1e-8, "scores");
        TEST_ASSERT_DOUBLE_WITHIN(1e-11, exact.summary().total_variance, all.summary().total_variance);
        expect_near(session.apply(all, x, "residual").v, session.apply(exact, x, "residual").v, 1e-8, "residual");
    }
}

// Checks that duplicates among the landmarks, landmarks given as points instead of row numbers, and
// data in f32 do not change the solution in the span of the landmarks.
void test_against_naive() {
    Session session;
    Matrix x = oracle::Numbers(6).matrix(2500, 4);
    std::copy_n(x.row(3), 4, &x(7, 0));
    const std::vector<int64_t> rows = first_rows(40);
    const double gamma = 0.4;
    const Settings settings = {{"gamma", "0.4"}, {"components", "5"}, {"report.certificates", "none"}};
    Vector expected = eigenvalues_in_span(x, rows, gamma, true);
    expected.resize(5);
    Model held = fit_rows(session, x, settings, rows);
    expect_near(held.vector("lambda"), expected, 1e-9, "held");
    expect_near(fit_rows(session, x, settings, rows, nullptr, {true, true}).vector("lambda"), expected, 2e-5, "f32");
    // The scores of all rows must have mean 0 and covariance diag(lambda).
    Matrix z = session.apply(held, x);
    for (int64_t j = 0; j < 5; ++j)
        for (int64_t l = 0; l <= j; ++l) {
            double sum = 0, mean = 0;
            for (int64_t i = 0; i < x.rows; ++i) sum += z(i, j) * z(i, l), mean += z(i, j);
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, j == l ? expected[static_cast<size_t>(j)] : 0, sum / 2500);
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, mean / 2500);
        }
    Matrix points(40, 4);
    for (int64_t i = 0; i < 40; ++i) std::copy_n(x.row(i), 4, &points(i, 0));
    Held at(x), landmarks(points);
    mercer_data *data = session.data(at);
    mercer_view view = landmarks.view();
    OK(mercer_data_attach(data, "landmarks", &view));
    // The landmarks are points without row numbers, so the factor is recomputed.
    Model recomputed = session.fit(data, with(settings, {{"reducer", "given"}, {"lift", "projected"}}), "nystrom");
    mercer_data_destroy(data);
    expect_near(recomputed.vector("lambda"), expected, 1e-9, "remade");
    expect_near(session.apply(recomputed, x).v, z.v, 1e-7, "remade scores");
}

void test_threads_and_weights() {
    Session session;
    Matrix x = oracle::Numbers(8).matrix(3000, 3), twice(3300, 3);
    std::copy(x.v.begin(), x.v.end(), twice.v.begin());
    Vector weights(3000, 1.0);
    for (int64_t i = 0; i < 300; ++i)
        std::copy_n(x.row(i), 3, &twice(3000 + i, 0)), weights[static_cast<size_t>(i)] = 2;
    const Settings settings = {{"sigma", "1"}, {"components", "4"}, {"reducer", "rpcholesky"}, {"m", "60"}};
    const mercer_run one = with_threads(1), eight = with_threads(8);
    Model a = session.fit(x, settings, {}, {}, "nystrom", &one),
          b = session.fit(x, settings, {}, {}, "nystrom", &eight);
    for (const char *name : {"C", "A", "b", "lambda", "nu"}) expect_same_bits(a.vector(name), b.vector(name), name);
    const Settings all = {{"sigma", "1"}, {"components", "4"}, {"reducer", "greedy"}, {"m", "200"}};
    expect_near(session.fit(x, all, weights, {}, "nystrom").vector("lambda"),
                session.fit(twice, all, {}, {}, "nystrom").vector("lambda"), 1e-9, "weights are repetitions");
}

// Checks that the certificate of each eigenvalue contains the exact value.
void check_certificates(const Model &model, const Vector &exact, const char *what) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/certificates", &text));
    size_t seen = 0;
    for (const auto &entry : nlohmann::json::parse(text)) {
        if (entry["name"] != "eigenvalue") continue;
        const double lower = entry["lower"], upper = entry["upper"], truth = exact[seen++];
        TEST_ASSERT_TRUE_MESSAGE(lower > 0 && lower <= truth * (1 + 1e-9) && truth <= upper * (1 + 1e-9), what);
    }
    TEST_ASSERT_EQUAL_size_t_MESSAGE(exact.size(), seen, what);
}

void test_certificates_hold() {
    Session session;
    Matrix x = oracle::Numbers(9).matrix(1500, 3), points(80, 3);
    const Settings base = {{"sigma", "0.4"}, {"components", "6"}};
    const Vector exact = session.fit(x, base).vector("lambda");
    for (const char *kind : {"none", "cheap", "rows"}) {
        const Settings asked = with(base, {{"report.certificates", kind}, {"report.rows", "1000"}});
        for (const char *reducer : {"uniform", "greedy", "rpcholesky"})
            check_certificates(session.fit(x, with(asked, {{"reducer", reducer}, {"m", "80"}}), {}, {}, "nystrom"),
                               exact, reducer);
        // If landmarks are given as points, the factor is recomputed. The certificates draw the
        // same rows, so the estimated eigenvalues must be equal up to rounding.
        const Model held = fit_rows(session, x, asked, first_rows(80));
        std::copy_n(x.v.begin(), points.v.size(), points.v.begin());
        Held at(x), landmarks(points);
        mercer_data *data = session.data(at);
        mercer_view view = landmarks.view();
        OK(mercer_data_attach(data, "landmarks", &view));
        const Model recomputed =
            session.fit(data, with(asked, {{"reducer", "given"}, {"lift", "projected"}}), "nystrom");
        mercer_data_destroy(data);
        check_certificates(recomputed, exact, "points");
        expect_near(recomputed.vector("lambda"), held.vector("lambda"), 1e-9, "made again");
    }
}

// Returns |E|_F / n for E = K - K_nB K_BB^-1 K_Bn, by a plain Cholesky factorisation.
double norm_of_residual(const Matrix &x, const std::vector<int64_t> &rows, double sigma) {
    const int64_t m = static_cast<int64_t>(rows.size()), n = x.rows;
    auto k = [&](int64_t i, int64_t j) {
        return std::exp(-oracle::sqdist(x.row(i), x.row(j), x.cols) / (2 * sigma * sigma));
    };
    Matrix l(n, m); // computed column by column, with the pivots in the given order
    for (int64_t c = 0; c < m; ++c) {
        const int64_t pivot = rows[static_cast<size_t>(c)];
        const double root = std::sqrt(k(pivot, pivot) - oracle::dot(l.row(pivot), l.row(pivot), c));
        Vector column;
        for (int64_t i = 0; i < n; ++i) column.push_back((k(i, pivot) - oracle::dot(l.row(i), l.row(pivot), c)) / root);
        for (int64_t i = 0; i < n; ++i) l(i, c) = column[static_cast<size_t>(i)];
    }
    double square = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) square += std::pow(k(i, j) - oracle::dot(l.row(i), l.row(j), m), 2);
    return std::sqrt(square) / static_cast<double>(n);
}

nlohmann::json at(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return nlohmann::json::parse(text);
}

// Checks that all pairs or rows are used, each once, if there are no more of them than would be
// drawn. The certificates must then be certain, and pairs and rows may take at most n^2 kernel
// values each.
void test_all_of_it() {
    Session session;
    const struct {
        int64_t n;
        const char *kind;
        bool norm, all; // norm: the norm must be certain; all: so must the eigenvalues and subspaces
    } cases[] = {{300, "cheap", true, true}, {300, "rows", true, true},  {500, "cheap", false, false},
                 {500, "rows", true, true},  {500, "exact", true, true}, {4100, "rows", false, false},
                 {1100, "exact", true, true}};
    for (const auto &[n, kind, norm, all] : cases) {
        const double size = static_cast<double>(n);
        const Matrix x = oracle::Numbers(static_cast<uint64_t>(n)).matrix(n, 3);
        const Settings settings = {{"sigma", "0.4"}, {"components", "4"}};
        const Model model = fit_rows(session, x, with(settings, {{"report.certificates", kind}}), first_rows(60));
        const auto entries = at(model, "/certificates");
        const std::string what = std::to_string(n) + " " + kind;
        const double truth = norm_of_residual(x, first_rows(60), 0.4), found = entries[1]["measured"];
        TEST_ASSERT_TRUE_MESSAGE(entries[1]["name"] == "norm" && entries[1]["value"] >= truth * (1 - 1e-12),
                                 what.c_str());
        // An estimate is off by more than five standard errors less than once in 10^6.
        const double away = norm ? 1e-10 * truth : 5 * entries[1]["stderr"].get<double>();
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(away, truth, found, what.c_str());
        const Vector exact = session.fit(x, settings).vector("lambda");
        size_t seen = 0;
        for (const auto &entry : entries) {
            const bool certain = entry["name"] == "trace" || (entry["name"] == "norm" ? norm : all);
            TEST_ASSERT_TRUE_MESSAGE((entry["kind"] == "certain") == certain, what.c_str());
            TEST_ASSERT_TRUE_MESSAGE((entry["probability"] == 1.0) == certain, what.c_str());
            if (entry["name"] != "eigenvalue") continue;
            const double value = entry["value"], lower = entry["lower"], upper = entry["upper"], theta = entry["theta"],
                         missing = exact[seen++] - theta;
            TEST_ASSERT_TRUE_MESSAGE(lower <= exact[seen - 1] + 1e-13 && exact[seen - 1] <= upper, what.c_str());
            if (!all || std::string(kind) == "cheap") continue;
            // With all rows, each value is the Rayleigh quotient of K for a direction of the model.
            // It is itself a lower bound, and nearer to the exact eigenvalue than theta.
            TEST_ASSERT_TRUE_MESSAGE(value - lower <= 1e-12, what.c_str());
            TEST_ASSERT_TRUE_MESSAGE(exact[seen - 1] - value < 0.5 * missing, what.c_str());
        }
        TEST_ASSERT_EQUAL_size_t(4, seen);
        const double values = at(model, "/kernel_evaluations"), drawn = std::string(kind) == "cheap" ? 0 : size * size;
        if (norm) TEST_ASSERT_TRUE_MESSAGE(values <= size * 61 + 4 * 256 * 60 + size * size + drawn, what.c_str());
    }
}

// Checks that certificates change no output. They improve `lambda`, the estimates of the
// eigenvalues, but `t2` divides by `scatter`, the variances of the scores.
void test_scatter() {
    Session session;
    const Matrix x = oracle::Numbers(40).matrix(600, 4);
    Matrix t2(0, 0);
    bool improved = false;
    for (const char *kind : {"none", "cheap", "rows", "exact"}) {
        const Model model = fit_rows(
            session, x, {{"kernel", "gaussian"}, {"sigma", "2"}, {"components", "5"}, {"report.certificates", kind}},
            first_rows(6));
        const bool has = model.has("scatter");
        const Vector scatter = model.vector(has ? "scatter" : "lambda"), lambda = model.vector("lambda");
        const Matrix z = session.apply(model, x), own = session.apply(model, x, "t2");
        for (int64_t j = 0; j < z.cols; ++j) {
            const size_t at = static_cast<size_t>(j);
            const double square = oracle::sum_over(z.rows, [&](int64_t i) { return z(i, j) * z(i, j) / 600; });
            TEST_ASSERT_DOUBLE_WITHIN(1e-10 * scatter[0], scatter[at], square);
            TEST_ASSERT_TRUE(lambda[at] >= scatter[at]);
            improved |= lambda[at] > 1.01 * scatter[at];
        }
        for (int64_t i = 0; i < z.rows; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(
                1e-9,
                oracle::sum_over(z.cols,
                                 [&](int64_t j) { return z(i, j) * z(i, j) / scatter[static_cast<size_t>(j)]; }),
                own(i, 0));
        if (t2.rows > 0) expect_near(own.v, t2.v, 1e-9, kind);
        t2 = own;
    }
    TEST_ASSERT_TRUE(improved);
}

// Checks that the certain bound of the norm of the residual is at least the true norm in float32,
// too. With this wide kernel the residual is only a few hundred units of rounding.
void test_norm_in_f32() {
    Session session;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        Matrix x = oracle::Numbers(100 + seed).matrix(300, 3);
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
        const std::vector<int64_t> rows = first_rows(5);
        const Model model = fit_rows(session, x,
                                     {{"kernel", "gaussian"},
                                      {"sigma", "32"},
                                      {"components", "3"},
                                      {"lift.centred", "false"},
                                      {"report.certificates", "exact"}},
                                     rows, nullptr, {true, false});
        const auto entries = at(model, "/certificates");
        TEST_ASSERT_TRUE(entries[1]["name"] == "norm" && entries[1]["kind"] == "certain");
        const double truth = norm_of_residual(x, rows, 32), value = entries[1]["value"];
        const std::string what = std::to_string(seed) + ": " + std::to_string(value / truth);
        TEST_ASSERT_TRUE_MESSAGE(value >= truth, what.c_str());
        TEST_ASSERT_TRUE_MESSAGE(value <= 1.1 * truth + 2e-6, what.c_str());
    }
}

// Checks that /mse_components is the mean of the output `residual` over the rows.
void test_what_is_left() {
    Session session;
    const Matrix x = oracle::Numbers(12).matrix(700, 3);
    for (const char *centred : {"true", "false"})
        for (const char *method : {"kpca", "nystrom"}) {
            Settings settings = {{"sigma", "0.6"}, {"components", "5"}, {"lift.centred", centred}};
            if (method == std::string("nystrom")) settings.emplace_back("m", "80");
            const Model model = session.fit(x, settings, {}, {}, method);
            const Vector left = session.apply(model, x, "residual").v;
            const double mean = std::accumulate(left.begin(), left.end(), 0.0) / 700;
            TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(1e-9, mean, at(model, "/mse_components").get<double>(), method);
            if (method == std::string("kpca")) TEST_ASSERT_EQUAL_DOUBLE(0, at(model, "/mse").get<double>());
            for (const char *stage : {"read", "gram", "solve", "certify", "lift"})
                TEST_ASSERT_TRUE(at(model, "/timings").contains(stage));
        }
}

// In two columns a linear kernel has rank 2, so the fit must return 2 of the 5 components that were
// requested, and say so.
void test_low_rank() {
    Session session;
    Matrix x = oracle::Numbers(4).matrix(50, 2);
    Held held(x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("nystrom", {{"kernel", "linear"}, {"m", "10"}, {"components", "5"}});
    Model model;
    OK(mercer_model_fit(&model.handle, recipe, data, nullptr));
    TEST_ASSERT_EQUAL_INT64(2, model.summary().r);
    TEST_ASSERT_TRUE(model.summary().outcome & MERCER_RANK_REACHED);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

// The report must warn if the landmarks cannot explain the requested share of the variance,
// whatever the limit on components, and must not warn if they can.
void test_unreachable_share() {
    Session session;
    const Matrix x = oracle::clusters(200, 6, 3);
    for (const char *components : {"0", "150"})
        for (const bool reachable : {false, true}) {
            const Model model = session.fit(x,
                                            {{"sigma", "2"},
                                             {"reducer.m", "10"},
                                             {"components", components},
                                             {"variance", reachable ? "0.001" : "0.99"}},
                                            {}, {}, "nystrom");
            const auto text = nlohmann::json::parse(info(model, ""));
            TEST_ASSERT_EQUAL_INT(!reachable, text.contains("warnings"));
            const auto &outcome = text["outcome"];
            TEST_ASSERT_EQUAL_INT(!reachable, std::count(outcome.begin(), outcome.end(), "rank_reached") > 0);
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_golden);
    RUN_TEST(test_all_rows_are_exact);
    RUN_TEST(test_against_naive);
    RUN_TEST(test_threads_and_weights);
    RUN_TEST(test_certificates_hold);
    RUN_TEST(test_all_of_it);
    RUN_TEST(test_scatter);
    RUN_TEST(test_norm_in_f32);
    RUN_TEST(test_what_is_left);
    RUN_TEST(test_low_rank);
    RUN_TEST(test_unreachable_share);
    return UNITY_END();
}
