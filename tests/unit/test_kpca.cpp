// Compares every tensor and every output of fits with naive kernel PCA, for several kernels,
// weights, centring and both types.
#include "session.h"
#include "tolerances.h"

namespace {

constexpr int64_t d = 4, r = 4;

struct Case {
    const char *name;
    Settings settings;
    oracle::Pair k;
    double lo, hi, kappa;
    double entry; // allowed error of kernel values, in u
};

std::vector<Case> cases() {
    auto exp_of = [](double rate, oracle::Pair form) {
        return [=](const double *x, const double *y, int64_t n) { return std::exp(-rate * form(x, y, n)); };
    };
    auto g = oracle::gaussian(0.7);
    auto mixed = [g](const double *x, const double *y, int64_t) {
        return 2 * g(x, y, 2) * g(x + 1, y + 1, 3) + 0.3 * oracle::dot(x, y, d);
    };
    const double sums = tolerance::sqdist(d, 2 * d, 1);
    return {
        {"gaussian", {{"kernel", "gaussian"}, {"sigma", "0.7"}}, g, -1, 1, 1, sums + 8},
        {"laplacian",
         {{"kernel", "laplacian"}, {"sigma", "1"}},
         oracle::laplacian(1),
         -1,
         1,
         1,
         tolerance::steep(2 * std::sqrt(double(d)))},
        {"laplacian l1",
         {{"kernel", "laplacian"}, {"norm", "l1"}, {"sigma", "2"}},
         exp_of(0.5, oracle::l1),
         -1,
         1,
         1,
         sums + 8},
        {"linear", {{"kernel", "linear"}}, oracle::dot, -1, 1, d, sums},
        {"chi2", {{"kernel", "chi2"}, {"gamma", "1"}}, exp_of(1, oracle::chi2), 0, 2, 1, sums + 8},
        {"additive-chi2", {{"kernel", "additive-chi2"}}, oracle::additive_chi2, 0, 2, 2 * d, 2 * sums},
        {"histogram-intersection", {{"kernel", "histogram-intersection"}}, oracle::min, 0, 2, 2 * d, sums},
        {"expression",
         {{"kernel", "2 gaussian[0-1] * gaussian[1-3] + 0.3 linear"},
          {"kernel.1.sigma", "0.7"},
          {"kernel.2.sigma", "0.7"}},
         mixed,
         -1,
         1,
         2 + d,
         6 * sums},
    };
}

struct Exact {
    Matrix x, q, k, kq;
    Vector self;
    oracle::Kpca pca;
    double matrix, gap; // error of K/n, smallest gap around the first r eigenvalues
};

Exact solve(const Case &c, int64_t n, const Vector &weights, bool centred, double u = tolerance::u64) {
    Exact out;
    oracle::Numbers numbers(21);
    out.x = numbers.matrix(n, d, c.lo, c.hi);
    out.q = numbers.matrix(9, d, c.lo, c.hi);
    for (Matrix *m : {&out.x, &out.q})
        for (double &value : m->v) value = static_cast<double>(static_cast<float>(value));
    out.k = oracle::gram(c.k, out.x, out.x);
    out.kq = oracle::gram(c.k, out.q, out.x);
    for (int64_t i = 0; i < out.q.rows; ++i) out.self.push_back(c.k(out.q.row(i), out.q.row(i), d));
    out.pca = oracle::kpca(out.k, weights.empty() ? Vector(static_cast<size_t>(n), 1.0) : weights, centred, r);
    out.matrix = tolerance::matrix(n, c.entry * u, c.kappa, std::max(u, tolerance::u64)) / static_cast<double>(n);
    out.gap = INFINITY;
    for (size_t j = 0; j < r; ++j) out.gap = std::min(out.gap, out.pca.lambda[j] - out.pca.lambda[j + 1]);
    return out;
}

void check(Session &session, const Case &c, const Exact &exact, const Model &model, Layout layout = {}) {
    const oracle::Kpca &pca = exact.pca;
    const double smallest = pca.lambda[r - 1], score = tolerance::score(exact.matrix, exact.gap, smallest, c.kappa);
    Vector lambda(pca.lambda.begin(), pca.lambda.begin() + r);
    expect_near(model.vector("lambda"), lambda, tolerance::eigenvalue(exact.matrix), c.name);
    expect_near(model.tensor("A").v, pca.a.v, tolerance::coefficient(exact.matrix, exact.gap, smallest), c.name);
    expect_near(model.vector("b"), pca.b, score, c.name);
    mercer_summary summary = model.summary();
    TEST_ASSERT_DOUBLE_WITHIN(exact.matrix * static_cast<double>(exact.x.rows), pca.total, summary.total_variance);
    TEST_ASSERT_TRUE(summary.n == exact.x.rows && summary.m == exact.x.rows && summary.r == r && summary.d == d &&
                     summary.outcome == 0);
    TEST_ASSERT_TRUE(model.has("nu") == pca.centred);
    if (pca.centred) expect_near(model.vector("nu"), pca.p, 4 * tolerance::u64, c.name);
    expect_near(session.apply(model, exact.q, "scores", layout).v, pca.scores(exact.kq).v, score, c.name);
    expect_near(session.apply(model, exact.x, "scores", layout).v, pca.scores(exact.k).v, score, c.name);
    expect_near(session.apply(model, exact.q, "density", layout).v, pca.density(exact.kq),
                exact.matrix + 16 * c.kappa * tolerance::u64 * (layout.f32 ? 0x1p29 : 1), c.name);
    double residual = 4 * std::sqrt(c.kappa) * score * r + 8 * exact.matrix; // squares of scores up to 2 sqrt(kappa)
    expect_near(session.apply(model, exact.q, "residual", layout).v, pca.residual(exact.kq, exact.self), residual,
                c.name);
}

Settings with(Settings settings, const char *name, const char *value) {
    settings.emplace_back(name, value);
    return settings;
}

void test_against_naive() {
    Session session;
    for (const Case &c : cases())
        for (const char *centred : {"true", "false"}) {
            Exact exact = solve(c, 50, {}, *centred == 't');
            check(session, c, exact,
                  session.fit(exact.x, with(with(c.settings, "lift.centred", centred), "components", "4")));
        }
}

void test_weighted() {
    Session session;
    Vector weights;
    oracle::Numbers numbers(8);
    for (int i = 0; i < 50; ++i) weights.push_back(0.1 + 3 * numbers.uniform());
    for (const Case &c : cases())
        for (const char *centred : {"true", "false"}) {
            Exact exact = solve(c, 50, weights, *centred == 't');
            check(session, c, exact,
                  session.fit(exact.x, with(with(c.settings, "lift.centred", centred), "components", "4"), weights));
        }
}

void test_f32() {
    Session session;
    for (const Case &c : cases()) {
        Exact exact = solve(c, 50, {}, true, tolerance::u32);
        Layout layout{true, false};
        Model model = session.fit(exact.x, with(c.settings, "components", "4"), {}, layout);
        TEST_ASSERT_EQUAL_INT(MERCER_F32, model.summary().dtype);
        check(session, c, exact, model, layout);
    }
}

// Compares transform(train) with the scores that follow from the fit: H K H A = n A diag(lambda)
// and A^T 1 = 0, so the scores of row i are n lambda times row i of A. Fit and transform compute K
// with different rounding errors, each as large as tolerance::matrix says. Scores differ by this
// difference times a column of A, which has the length (n lambda)^-1/2; the gaps between
// eigenvalues do not matter.
void test_fitted_scores() {
    Session session;
    const int64_t n = 300; // two panels
    for (const Case &c : cases())
        for (bool f32 : {false, true}) {
            const double u = f32 ? tolerance::u32 : tolerance::u64;
            const Matrix x = oracle::Numbers(21).matrix(n, d, c.lo, c.hi);
            const Layout layout{f32, false};
            const Model model =
                session.fit(x, with(with(c.settings, "components", "4"), "solver", "dense"), {}, layout);
            const Matrix a = model.tensor("A");
            const Vector lambda = model.vector("lambda");
            Matrix fitted(n, r);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < r; ++j)
                    fitted(i, j) = static_cast<double>(n) * lambda[static_cast<size_t>(j)] * a(i, j);
            const double longest = 1 / std::sqrt(static_cast<double>(n) * lambda[r - 1]);
            expect_near(session.apply(model, x, "scores", layout).v, fitted.v,
                        2 * tolerance::matrix(n, c.entry * u, c.kappa, u) * longest, c.name);
        }
}

// All solvers and storages must give the same results. This problem is larger, so that all paths
// have several tiles.
void test_solvers_and_storage() {
    Session session;
    Case c = cases()[0];
    Exact exact = solve(c, 300, {}, true);
    Settings base = with(c.settings, "components", "4");
    Model dense = session.fit(exact.x, with(base, "solver", "dense"));
    check(session, c, exact, dense);
    for (const char *solver : {"block-krylov", "orthogonal"})
        for (const char *storage : {"auto", "stream", "f64"}) {
            Model other = session.fit(exact.x, with(with(base, "solver", solver), "gram.storage", storage));
            double matrix = exact.matrix + 1e-9 * exact.pca.lambda[0]; // solver.tol lambda_1 bounds residuals
            expect_near(other.vector("lambda"), dense.vector("lambda"), tolerance::eigenvalue(matrix), storage);
            expect_near(other.tensor("A").v, dense.tensor("A").v,
                        tolerance::coefficient(matrix, exact.gap, exact.pca.lambda[r - 1]), storage);
        }
    Model single = session.fit(exact.x, with(base, "gram.storage", "f32")); // f64 data, tiles of f32
    TEST_ASSERT_EQUAL_INT(MERCER_F64, single.summary().dtype);
    expect_near(single.vector("lambda"), dense.vector("lambda"),
                tolerance::matrix(300, c.entry * tolerance::u32, 1, tolerance::u32) / 300, "f32 storage");
}

// A solver that is stopped too early must set the outcome MERCER_NOT_CONVERGED or, with
// solver.strict, fail.
void test_not_converged() {
    Session session;
    Matrix x = oracle::Numbers(4).matrix(400, d);
    Settings early = {{"sigma", "0.5"}, {"components", "6"}, {"solver", "block-krylov"}, {"solver.max_passes", "1"}};
    Model model = session.fit(x, early);
    TEST_ASSERT_TRUE(model.summary().outcome & MERCER_NOT_CONVERGED);
    mercer_recipe *recipe = session.recipe("kpca", with(early, "solver.strict", "true"));
    Held held(x);
    mercer_data *data = session.data(held);
    Model none;
    TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL, mercer_model_fit(&none.handle, recipe, data, nullptr));
    OK(mercer_recipe_set(recipe, "solver.max_passes", "0")); // 0: the default limit of the solver
    OK(mercer_model_fit(&none.handle, recipe, data, nullptr));
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

// Objects whose values come from a callback for pairs: distances and kernel values must both give
// the model that vectors give.
struct Objects {
    Matrix x, q;
    bool queries, kernel;
};
int32_t pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const Objects &o = *static_cast<const Objects *>(user);
    for (int64_t k = 0; k < count; ++k) {
        const double *a = (o.queries ? o.q : o.x).row(i[k]), *b = o.x.row(j[k]);
        values[k] = o.kernel ? oracle::gaussian(0.7)(a, b, d) : std::sqrt(oracle::sqdist(a, b, d));
    }
    return 0;
}
int32_t self(void *, const int64_t *, int64_t count, double *values) { return std::fill_n(values, count, 1.0), 0; }

void test_objects() {
    Session session;
    Case c = cases()[0];
    Exact exact = solve(c, 50, {}, true);
    for (bool kernel : {false, true})
        for (int32_t safe : std::vector<int32_t>{0, MERCER_THREAD_SAFE}) {
            Objects fitted{exact.x, exact.q, false, kernel}, asked{exact.x, exact.q, true, kernel};
            mercer_objects given{sizeof given,
                                 50,
                                 kernel ? MERCER_KERNEL : MERCER_DISTANCE,
                                 safe | (kernel ? MERCER_PSD : 0),
                                 pairs,
                                 kernel ? self : nullptr,
                                 &fitted,
                                 nullptr};
            mercer_data *data = nullptr, *queries = nullptr;
            OK(mercer_data_from_objects(&data, session.context, &given));
            Model model = session.fit(data, kernel ? Settings{{"kernel", "user"}, {"components", "4"}}
                                                   : with(c.settings, "components", "4"));
            given.user = &asked, given.rows = 9;
            OK(mercer_data_from_objects(&queries, session.context, &given));
            double score = tolerance::score(exact.matrix, exact.gap, exact.pca.lambda[r - 1], 1);
            expect_near(model.vector("lambda"), Vector(exact.pca.lambda.begin(), exact.pca.lambda.begin() + r),
                        tolerance::eigenvalue(exact.matrix), "objects");
            expect_near(session.apply(model, queries).v, exact.pca.scores(exact.kq).v, score, "objects");
            expect_near(session.apply(model, queries, "residual").v, exact.pca.residual(exact.kq, exact.self),
                        32 * score, "objects");
            expect_near(
                model.vector("indices"),
                [] {
                    Vector v(50);
                    std::iota(v.begin(), v.end(), 0);
                    return v;
                }(),
                0, "indices");
            mercer_data_destroy(data);
            mercer_data_destroy(queries);
        }
}

// With an indefinite kernel, negative eigenvalues must be left out, and the outcome must say so.
int32_t indefinite(void *, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    for (int64_t i = 0; i < k->rows; ++i)
        for (int64_t j = 0; j < k->cols; ++j) {
            double e = static_cast<const double *>(x->data)[i * x->row_stride] -
                       static_cast<const double *>(y->data)[j * y->row_stride];
            static_cast<double *>(k->data)[i * k->row_stride + j] = -e * e;
        }
    return 0;
}
void test_indefinite() {
    Session session;
    Matrix x(30, 1);
    for (int64_t i = 0; i < 30; ++i) x(i, 0) = static_cast<double>(i % 7);
    Held held(x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("kpca", {{"kernel", "user"}, {"lift.centred", "false"}});
    mercer_user_kernel kernel{sizeof kernel, 0, 0, indefinite, nullptr, nullptr};
    OK(mercer_recipe_set_kernel(recipe, &kernel));
    Model model;
    OK(mercer_model_fit(&model.handle, recipe, data, nullptr));
    mercer_summary summary = model.summary();
    TEST_ASSERT_TRUE(summary.outcome & MERCER_INDEFINITE && summary.outcome & MERCER_RANK_REACHED);
    TEST_ASSERT_FALSE(summary.capabilities & (MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL));
    Matrix vectors,
        k = oracle::gram([](const double *a, const double *b, int64_t) { return -(*a - *b) * (*a - *b); }, x, x);
    Vector exact = oracle::eigen(k, vectors), lambda = model.vector("lambda");
    // The matrix 2 xy - x^2 - y^2 has rank 3 and trace 0, and two of its eigenvalues are positive.
    // Rounding must not be taken for a third positive one.
    expect_near(lambda, {exact[0] / 30, exact[1] / 30}, tolerance::matrix(30, 0, 36), "positive eigenvalues");
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

double bound(const Model &model, int64_t component, const char *side) {
    return std::strtod(info(model, "/certificates/" + std::to_string(component) + "/" + side).c_str(), nullptr);
}

// With a wide kernel, the uncentred matrix has an eigenvalue of about n, and those of the centred
// one are hundreds of times smaller. Rounding errors of the former in f32 must not be taken for
// negative eigenvalues, and the bounds of f32 fits must allow for these errors.
void test_wide_kernel() {
    Session session;
    const Matrix x = oracle::Numbers(31).matrix(1200, 16, -4, 4); // > 1000 rows: an iterative solver is used
    for (const char *components : {"17", "40"}) {
        const Model model = session.fit(x, {{"sigma", "200"}, {"components", components}});
        TEST_ASSERT_FALSE(model.summary().outcome & MERCER_INDEFINITE);
        TEST_ASSERT_TRUE(model.summary().capabilities & MERCER_CAN_RESIDUAL);
    }
    Matrix rounded = x; // the rows after rounding to f32
    for (double &value : rounded.v) value = static_cast<double>(static_cast<float>(value));
    const Settings base = {{"sigma", "200"}, {"components", "10"}};
    const Vector truth =
        session.fit(rounded, {{"sigma", "200"}, {"components", "10"}, {"gram.storage", "f64"}}).vector("lambda");
    const Model single = session.fit(x, base, {}, {true, false});
    TEST_ASSERT_TRUE(single.summary().r > 0);
    for (int64_t j = 0; j < single.summary().r; ++j) {
        const double value = truth[static_cast<size_t>(j)];
        TEST_ASSERT_TRUE(bound(single, j, "lower") <= value && value <= bound(single, j, "upper"));
    }
}

// A weight of w stands for w equal rows, and 0 for no row. The weighted fit must be as exact as
// that of the repeated rows.
void test_weighted_is_exact() {
    Session session;
    const Matrix x = oracle::Numbers(32).matrix(60, 3);
    Vector weights(60);
    Matrix repeated(60, 3);
    int64_t rows = 0;
    for (int64_t i = 0; i < 60; ++i) {
        weights[static_cast<size_t>(i)] = static_cast<double>(i % 3);
        for (int64_t copy = 0; copy < i % 3; ++copy, ++rows)
            for (int64_t k = 0; k < 3; ++k) repeated(rows, k) = x(i, k);
    }
    TEST_ASSERT_EQUAL_INT64(60, rows);
    const Settings settings = {{"sigma", "1"}, {"components", "4"}};
    const Model weighted = session.fit(x, settings, weights), plain = session.fit(repeated, settings);
    TEST_ASSERT_EQUAL_STRING("exact", info(weighted, "/total_variance/kind").c_str());
    TEST_ASSERT_EQUAL_STRING("exact", info(weighted, "/limits/kind").c_str());
    TEST_ASSERT_DOUBLE_WITHIN(1e-13, plain.summary().total_variance, weighted.summary().total_variance);
    for (int64_t j = 0; j < 4; ++j) {
        const double value = plain.vector("lambda")[static_cast<size_t>(j)], rounding = 60 * tolerance::u64;
        TEST_ASSERT_TRUE(bound(weighted, j, "lower") <= value + rounding &&
                         value - rounding <= bound(weighted, j, "upper"));
    }
}

// A solver that decomposes the whole matrix misses no eigenvalue, so that its certificates are
// certain. Those of an iterative solver are conditional.
void test_certain() {
    Session session;
    // For n = 60 the dense solver computes all eigenvalues, for n = 600 only the leading ones.
    for (int64_t n : {60, 600}) {
        const Matrix x = oracle::Numbers(12).matrix(n, 3);
        for (const char *solver : {"dense", "block-krylov"}) {
            const Model model = session.fit(x, {{"sigma", "1"}, {"components", "4"}, {"solver", solver}});
            const char *text = nullptr;
            OK(mercer_model_info(model.handle, "/certificates", &text));
            const bool certain = std::strstr(text, "\"certain\"") != nullptr,
                       conditional = std::strstr(text, "\"conditional\"") != nullptr;
            TEST_ASSERT_TRUE_MESSAGE(certain == (*solver == 'd') && conditional == (*solver == 'b'), text);
        }
    }
}

// The variance of a component's scores must be near its eigenvalue, however small that is; if it is
// not, the component is rounding noise and should not have been kept. The data are narrow and the
// kernels wide, so that eigenvalues fall to rounding errors within a few components.
void test_small_components() {
    Session session;
    oracle::Numbers numbers(21);
    Matrix line(200, 1), uneven(90, 1);
    for (int64_t i = 0; i < line.rows; ++i) line(i, 0) = static_cast<double>(i) / 199;
    for (int64_t i = 0; i < uneven.rows; ++i) uneven(i, 0) = std::exp(2 * std::sin(static_cast<double>(i * i)));
    Vector weights;
    for (int64_t i = 0; i < line.rows; ++i) weights.push_back(1 + static_cast<double>(i % 7));
    struct Narrow {
        Matrix x;
        const char *sigma;
        Vector weights;
    };
    const Narrow all[] = {{line, "0.2965", {}},
                          {line, "0.3", weights},
                          {uneven, "3", {}},
                          {numbers.matrix(64, 1), "3", {}},
                          {numbers.matrix(300, 3), "30", {}}};
    for (const Narrow &one : all)
        for (const char *solver : {"dense", "block-krylov", "orthogonal"})
            for (const bool f32 : {false, true}) {
                Vector w = one.weights;
                const Model model = session.fit(one.x, {{"sigma", one.sigma}, {"components", "20"}, {"solver", solver}},
                                                w, {f32, false});
                const Matrix z = session.apply(model, one.x, "scores", {f32, false});
                const Vector lambda = model.vector("lambda");
                if (w.empty()) w.assign(static_cast<size_t>(one.x.rows), 1);
                const double total = oracle::sum_over(one.x.rows, [&](int64_t i) { return w[static_cast<size_t>(i)]; });
                TEST_ASSERT_TRUE(model.summary().r >= (f32 ? 2 : 4)); // some components must be kept nevertheless
                for (int64_t j = 0; j < z.cols; ++j) {
                    const double mean = oracle::sum_over(
                        z.rows, [&](int64_t i) { return w[static_cast<size_t>(i)] * z(i, j) / total; });
                    const double square = oracle::sum_over(
                        z.rows, [&](int64_t i) { return w[static_cast<size_t>(i)] * z(i, j) * z(i, j) / total; });
                    const std::string what = std::string(solver) + ", sigma " + one.sigma + ", component " +
                                             std::to_string(j) + ": " +
                                             std::to_string(square / lambda[static_cast<size_t>(j)]);
                    TEST_ASSERT_TRUE_MESSAGE(std::fabs(square / lambda[static_cast<size_t>(j)] - 1) < 0.5,
                                             what.c_str());
                    TEST_ASSERT_TRUE_MESSAGE(mean * mean < lambda[static_cast<size_t>(j)] / 4, what.c_str());
                }
            }
}

double kept_variance(const Model &model) {
    const Vector lambda = model.vector("lambda");
    return oracle::sum_over(static_cast<int64_t>(lambda.size()),
                            [&](int64_t k) { return lambda[static_cast<size_t>(k)]; });
}

// There must be a warning exactly if the limit on components prevents the requested share of the
// variance.
void test_share_beyond_the_limit() {
    Session session;
    const Matrix x = oracle::Numbers(15).matrix(60, 3);
    for (const char *method : {"kpca", "auto", "gkpca"})
        for (const auto &[variance, components] : std::vector<std::pair<const char *, const char *>>{
                 {"0.99", "3"}, {"0.01", "3"}, {"0.99", "0"}, {"", "3"}}) {
            Settings settings = {{"sigma", "1"}, {"components", components}};
            if (*variance) settings.emplace_back("variance", variance);
            if (*method == 'g') settings.emplace_back("m", "60");
            const Model model = session.fit(x, settings, {}, {}, method);
            const double total = model.summary().total_variance, share = kept_variance(model) / total;
            const char *text = "";
            if (mercer_model_info(model.handle, "/warnings", &text) != MERCER_OK) text = "";
            const bool warned = std::strstr(text, "0 removes the limit") != nullptr;
            TEST_ASSERT_TRUE_MESSAGE(warned == (*variance && share < std::stod(variance)), text);
            TEST_ASSERT_TRUE(warned == (variance == std::string("0.99") && components == std::string("3")));
        }
}

// If a column varies a thousand times less than another one, it contributes a millionth to squared
// distances, which must cause a warning. The two columns here differ only by a factor.
void test_drowned_column() {
    Session session;
    const Matrix numbers = oracle::Numbers(16).matrix(60, 1);
    const auto warnings = [&](double factor, const Settings &more) {
        Matrix x(60, 3); // the second column is constant, and no warning may name it
        for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = numbers(i, 0), x(i, 1) = 7, x(i, 2) = factor * numbers(i, 0);
        Settings settings = {{"components", "2"}};
        settings.insert(settings.end(), more.begin(), more.end());
        const Model model = session.fit(x, settings);
        const char *text = "";
        return std::string(mercer_model_info(model.handle, "/warnings", &text) == MERCER_OK ? text : "");
    };
    const Settings by_l1 = {{"kernel", "laplacian"}, {"norm", "l1"}};
    for (const Settings &distances : {Settings{}, by_l1}) {
        const std::string above = warnings(1001, distances), inverse = warnings(1 / 1001.0, distances);
        TEST_ASSERT_TRUE_MESSAGE(above.find("column 2 varies 1001 times as much as column 0,") != above.npos,
                                 above.c_str());
        TEST_ASSERT_TRUE_MESSAGE(inverse.find("column 0 varies 1001 times as much as column 2,") != inverse.npos,
                                 inverse.c_str());
        TEST_ASSERT_EQUAL_STRING("", warnings(999, distances).c_str());
    }
    const auto says_nothing = [&](const Settings &settings) {
        return warnings(1e6, settings).find("hardly counts") == std::string::npos;
    };
    TEST_ASSERT_TRUE(says_nothing({{"data.scale", "standard"}}) && says_nothing({{"data.scale", "minmax"}}));
    TEST_ASSERT_TRUE(says_nothing({{"data.lengths", "1,1,1e6"}}));
    TEST_ASSERT_TRUE(says_nothing({{"kernel", "linear"}})); // does not depend on distances
    TEST_ASSERT_TRUE(says_nothing({{"kernel", "gaussian[0,1] + gaussian[2]"}}));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_against_naive);
    RUN_TEST(test_weighted);
    RUN_TEST(test_f32);
    RUN_TEST(test_fitted_scores);
    RUN_TEST(test_solvers_and_storage);
    RUN_TEST(test_not_converged);
    RUN_TEST(test_objects);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_wide_kernel);
    RUN_TEST(test_weighted_is_exact);
    RUN_TEST(test_certain);
    RUN_TEST(test_small_components);
    RUN_TEST(test_share_beyond_the_limit);
    RUN_TEST(test_drowned_column);
    return UNITY_END();
}
