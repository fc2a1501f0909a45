// Checks the lift `triangular` (features in the order of the centres) against Gram-Schmidt in long
// double, against the lift `projected` on the same centres, and against smaller models of itself;
// and the derivation `truncate`.
#include "session.h"
#include "tolerances.h"

namespace {

// Rows with repeats, a column of heavy tails and one of few values.
Matrix skewed(int64_t n, uint64_t seed) {
    oracle::Numbers numbers(seed);
    Matrix x(n, 3);
    for (int64_t i = 0; i < n; ++i) {
        x(i, 0) = numbers();
        x(i, 1) = std::pow(numbers(), 3) * 2;
        x(i, 2) = std::floor(3 * numbers.uniform());
    }
    for (int64_t i = 0; i + 10 < n; i += 10) std::copy_n(x.row(i), 3, &x(i + 3, 0));
    return x;
}

const oracle::Pair kernel = oracle::gaussian(1.2);
const Settings common = {{"sigma", "1.2"}, {"lift", "triangular"}, {"reducer", "given"}};

Settings with(Settings settings, const Settings &more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

// What the definitions at the top of triangular.cpp say, by plain loops.
struct Plain {
    Matrix a, features, covariance; // features: of the rows of x, before the mean is subtracted
    Vector mean, errors, residual;
};

Plain plain(const Matrix &x, const std::vector<int64_t> &rows, const Vector &weights, bool centred) {
    using Real = long double;
    const int64_t n = x.rows, m = static_cast<int64_t>(rows.size());
    const auto at = [m](int64_t i, int64_t j) { return static_cast<size_t>(i * m + j); };
    const auto k = [&](int64_t i, int64_t j) { return static_cast<Real>(kernel(x.row(i), x.row(j), x.cols)); };
    std::vector<Real> lower(static_cast<size_t>(m * m)), a(lower), f(static_cast<size_t>(n * m));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            Real sum = k(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(j)]);
            for (int64_t q = 0; q < j; ++q) sum -= lower[at(i, q)] * lower[at(j, q)];
            lower[at(i, j)] = i == j ? std::sqrt(sum) : sum / lower[at(j, j)];
        }
    for (int64_t j = 0; j < m; ++j) // column j of L^-T, by back substitution
        for (int64_t i = j; i >= 0; --i) {
            Real sum = i == j;
            for (int64_t q = i + 1; q <= j; ++q) sum -= lower[at(q, i)] * a[at(q, j)];
            a[at(i, j)] = sum / lower[at(i, i)];
        }
    Plain out{Matrix(m, m), Matrix(n, m), Matrix(m, m), Vector(static_cast<size_t>(m)), {}, {}};
    Real total = 0, self = 0;
    std::vector<Real> mean(static_cast<size_t>(m)), second(static_cast<size_t>(m * m));
    for (int64_t t = 0; t < n; ++t) {
        const Real w = weights.empty() ? 1 : weights[static_cast<size_t>(t)];
        Real left = k(t, t);
        total += w, self += w * left;
        for (int64_t j = 0; j < m; ++j) {
            Real sum = 0;
            for (int64_t i = 0; i <= j; ++i) sum += a[at(i, j)] * k(rows[static_cast<size_t>(i)], t);
            f[static_cast<size_t>(t * m + j)] = sum;
            out.features(t, j) = static_cast<double>(sum);
            left -= sum * sum;
            mean[static_cast<size_t>(j)] += w * sum;
        }
        out.residual.push_back(static_cast<double>(left));
    }
    for (Real &value : mean) value = centred ? value / total : 0;
    for (int64_t t = 0; t < n; ++t)
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < m; ++j)
                second[at(i, j)] += (weights.empty() ? 1 : weights[static_cast<size_t>(t)]) *
                                    (f[static_cast<size_t>(t * m + i)] - mean[static_cast<size_t>(i)]) *
                                    (f[static_cast<size_t>(t * m + j)] - mean[static_cast<size_t>(j)]) / total;
    Real error = self / total;
    out.errors.push_back(static_cast<double>(error));
    for (int64_t j = 0; j < m; ++j) {
        const Real shift = mean[static_cast<size_t>(j)];
        out.mean[static_cast<size_t>(j)] = static_cast<double>(shift);
        out.errors.push_back(static_cast<double>(error -= second[at(j, j)] + shift * shift));
        for (int64_t i = 0; i < m; ++i) {
            out.a(i, j) = static_cast<double>(a[at(i, j)]);
            out.covariance(i, j) = static_cast<double>(second[at(i, j)]);
        }
    }
    return out;
}

Vector errors_of(const Model &model) {
    Vector out;
    const std::string text = info(model, "/errors");
    for (const char *at = text.c_str(); *at; ++at)
        if (std::strchr("-0123456789", *at)) {
            char *end = nullptr;
            out.push_back(std::strtod(at, &end));
            at = end - 1;
        }
    return out;
}

const std::vector<int64_t> chosen = {17, 4, 101, 55, 230, 8, 142, 66};

void test_against_gram_schmidt() {
    Session session;
    const Matrix x = skewed(1300, 4), queries = skewed(40, 5);
    Vector weights;
    oracle::Numbers numbers(9);
    for (int64_t i = 0; i < x.rows; ++i) weights.push_back(numbers.uniform() < 0.2 ? 0 : 1 + numbers.uniform());
    for (int64_t row : chosen) weights[static_cast<size_t>(row)] = 1;
    for (const bool f32 : {false, true})
        for (const bool centred : {true, false})
            for (const Vector &given : {Vector(), weights}) {
                const double near = f32 ? 2e-4 : 1e-10;
                const Plain expected = plain(x, chosen, given, centred);
                const Model model =
                    session.fit_given(x, chosen, given, with(common, {{"lift.centred", centred ? "true" : "false"}}),
                                      {f32, f32}, "nystrom");
                TEST_ASSERT_EQUAL_INT64(8, model.summary().r);
                TEST_ASSERT_EQUAL_INT64(8, model.summary().m);
                TEST_ASSERT_FALSE(model.has("lambda"));
                const Matrix a = model.tensor("A");
                for (int64_t i = 0; i < 8; ++i)
                    for (int64_t j = 0; j < i; ++j) TEST_ASSERT_TRUE(a(i, j) == 0);
                expect_near(a.v, expected.a.v, near * 10, "A");
                expect_near(model.vector("b"), expected.mean, near, "b");
                expect_near(model.vector("covariance"), expected.covariance.v, near, "covariance");
                const Vector variance = model.vector("variance");
                for (int64_t j = 0; j < 8; ++j)
                    TEST_ASSERT_DOUBLE_WITHIN(near, expected.covariance(j, j), variance[static_cast<size_t>(j)]);
                expect_near(errors_of(model), expected.errors, near, "errors");
                const Matrix scores = session.apply(model, x), residual = session.apply(model, x, "residual");
                for (int64_t t = 0; t < x.rows; ++t)
                    for (int64_t j = 0; j < 8; ++j)
                        TEST_ASSERT_DOUBLE_WITHIN(near, expected.features(t, j) - expected.mean[static_cast<size_t>(j)],
                                                  scores(t, j));
                expect_near(residual.v, expected.residual, near, "residual");
            }
}

// The lift `projected` rotates the features to principal components, so T2 and the residual, which
// do not depend on the basis, must agree, as must their limits.
void test_against_projected() {
    Session session;
    const Matrix x = skewed(900, 6), queries = skewed(50, 7);
    for (const char *centred : {"true", "false"}) {
        const Model ours = session.fit_given(x, chosen, {}, with(common, {{"lift.centred", centred}}), {}, "nystrom");
        const Model turned = session.fit_given(x, chosen, {},
                                               {{"sigma", "1.2"},
                                                {"reducer", "given"},
                                                {"lift", "projected"},
                                                {"components", "8"},
                                                {"lift.centred", centred},
                                                {"report.certificates", "none"}},
                                               {}, "nystrom");
        expect_near(session.apply(ours, queries, "t2").v, session.apply(turned, queries, "t2").v, 1e-6, "t2");
        expect_near(session.apply(ours, queries, "residual").v, session.apply(turned, queries, "residual").v, 1e-10,
                    "residual");
        for (const char *path : {"/limits/t2/p95", "/limits/t2/p99", "/limits/residual/p95", "/mse"})
            TEST_ASSERT_DOUBLE_WITHIN(1e-7, std::atof(info(turned, path).c_str()), std::atof(info(ours, path).c_str()));
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, turned.summary().total_variance, ours.summary().total_variance);
        const Vector lambda = turned.vector("lambda"), variance = ours.vector("variance");
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, std::accumulate(lambda.begin(), lambda.end(), 0.0),
                                  std::accumulate(variance.begin(), variance.end(), 0.0));
    }
}

Model truncated(Session &session, const Model &model, const char *components) {
    mercer_recipe *recipe = session.recipe("truncate", {{"components", components}});
    Model out;
    mercer_model *from = model.handle;
    const int32_t status = mercer_model_derive(&out.handle, recipe, &from, 1, nullptr, nullptr);
    mercer_recipe_destroy(recipe);
    OK(status);
    return out;
}

// The first k features, their model after `truncate`, and the model of k centres are the same.
void test_nested() {
    Session session;
    const Matrix x = skewed(700, 8), queries = skewed(30, 9);
    const Model whole = session.fit_given(x, chosen, {}, common, {}, "nystrom");
    const Model cut = truncated(session, whole, "3");
    const Model small = session.fit_given(x, {17, 4, 101}, {}, common, {}, "nystrom");
    const Model limited = session.fit_given(x, chosen, {}, with(common, {{"components", "3"}}), {}, "nystrom");
    for (const Model *one : {&cut, &small, &limited}) {
        TEST_ASSERT_EQUAL_INT64(3, one->summary().m);
        TEST_ASSERT_EQUAL_INT64(3, one->summary().r);
        TEST_ASSERT_EQUAL_INT64(4, static_cast<int64_t>(errors_of(*one).size()));
        for (const char *name : {"A", "b", "nu", "covariance", "variance", "w", "C"})
            expect_near(one->vector(name), small.vector(name), 1e-11, name);
        for (const char *what : {"scores", "residual", "t2", "density"})
            expect_near(session.apply(*one, queries, what).v, session.apply(small, queries, what).v, 1e-9, what);
        for (const char *path : {"/mse", "/mean_square"})
            TEST_ASSERT_DOUBLE_WITHIN(1e-12, std::atof(info(small, path).c_str()), std::atof(info(*one, path).c_str()));
    }
    // The bound that eight centres gave is tighter than that of three.
    TEST_ASSERT_TRUE(cut.summary().total_variance < small.summary().total_variance);
    TEST_ASSERT_TRUE(cut.summary().total_variance == whole.summary().total_variance);
    const Matrix all = session.apply(whole, queries), first = session.apply(cut, queries);
    for (int64_t i = 0; i < queries.rows; ++i)
        for (int64_t j = 0; j < 3; ++j) TEST_ASSERT_TRUE(all(i, j) == first(i, j));
}

// Whitened scores have the unit covariance, and each depends on the scores up to it alone.
void test_whitening() {
    Session session;
    const Matrix x = skewed(800, 10);
    const Model model = session.fit_given(x, chosen, {}, common, {}, "nystrom"), cut = truncated(session, model, "5");
    const auto white = [&](const Model &of) {
        mercer_recipe *recipe = session.recipe("scores", {{"whiten", "true"}});
        Held held(x), out(Matrix(x.rows, of.summary().r));
        mercer_data *data = session.data(held);
        mercer_view view = out.view();
        const int32_t status = mercer_model_transform(of.handle, recipe, data, &view, 1, nullptr);
        mercer_recipe_destroy(recipe);
        mercer_data_destroy(data);
        OK(status);
        return to_matrix(view);
    };
    const Matrix g = white(model), few = white(cut), t2 = session.apply(model, x, "t2");
    for (int64_t i = 0; i < 8; ++i)
        for (int64_t j = 0; j < 8; ++j) {
            double sum = 0;
            for (int64_t t = 0; t < x.rows; ++t) sum += g(t, i) * g(t, j) / static_cast<double>(x.rows);
            TEST_ASSERT_DOUBLE_WITHIN(1e-7, i == j, sum);
        }
    for (int64_t t = 0; t < x.rows; ++t) {
        for (int64_t j = 0; j < 5; ++j) TEST_ASSERT_DOUBLE_WITHIN(1e-8, g(t, j), few(t, j));
        double sum = 0;
        for (int64_t j = 0; j < 8; ++j) sum += g(t, j) * g(t, j);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9 * (1 + sum), sum, t2.v[static_cast<size_t>(t)]);
    }
}

// Centres that are equal to earlier ones have no feature. With all rows as centres and centring,
// the scores of the rows have a singular covariance, so that there is no T2, and the model says
// why.
void test_rank() {
    Session session;
    Matrix x = skewed(300, 11);
    std::copy_n(x.row(17), 3, &x(4, 0));
    const Model model = session.fit_given(x, {17, 4, 101}, {}, common, {}, "nystrom");
    TEST_ASSERT_EQUAL_INT64(2, model.summary().r);
    TEST_ASSERT_TRUE(model.summary().outcome & MERCER_RANK_REACHED);
    const Matrix a = model.tensor("A");
    for (int64_t j = 0; j < a.cols; ++j) TEST_ASSERT_TRUE(a(1, j) == 0);

    Matrix few(4, 2);
    few.v = {0, 0, 3, 0, 0, 3, 3, 3};
    const Model all = session.fit_given(few, {2, 0, 1, 3}, {}, with(common, {{"sigma", "1"}}), {}, "nystrom");
    TEST_ASSERT_EQUAL_INT64(4, all.summary().r);
    const Matrix residual = session.apply(all, few, "residual");
    for (double value : residual.v) TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0, value);
    mercer_recipe *t2 = session.recipe("t2", {});
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    Held held(few);
    mercer_data *data = session.data(held);
    TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, mercer_model_output(all.handle, t2, data, 0, &output, &count));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "singular"));
    mercer_data_destroy(data);
    mercer_recipe_destroy(t2);
}

// The default of output.components follows the lift, and setting the lift back restores it.
void test_components() {
    Session session;
    mercer_recipe *recipe = session.recipe("nystrom", {});
    const auto value = [&] {
        const char *text = nullptr;
        OK(mercer_recipe_get(recipe, "output.components", &text));
        return std::string(text);
    };
    TEST_ASSERT_EQUAL_STRING("10", value().c_str());
    OK(mercer_recipe_set(recipe, "lift", "triangular"));
    TEST_ASSERT_EQUAL_STRING("0", value().c_str());
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_recipe_set(recipe, "output.variance", "0.9"));
    OK(mercer_recipe_set(recipe, "lift", "projected"));
    TEST_ASSERT_EQUAL_STRING("10", value().c_str());
    mercer_recipe_destroy(recipe);
}

// Any model can be cut to its first components: scores stay, and what is lost is counted.
void test_truncate_others() {
    Session session;
    const Matrix x = skewed(500, 12);
    const Settings settings = {{"sigma", "1.2"}, {"components", "6"}};
    const Model model = session.fit(x, settings), cut = truncated(session, model, "2");
    TEST_ASSERT_EQUAL_INT64(2, cut.summary().r);
    TEST_ASSERT_EQUAL_INT64(model.summary().m, cut.summary().m);
    TEST_ASSERT_EQUAL_UINT32(model.summary().capabilities, cut.summary().capabilities);
    const Matrix all = session.apply(model, x), first = session.apply(cut, x);
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < 2; ++j) TEST_ASSERT_TRUE(all(i, j) == first(i, j));
    const Vector lambda = model.vector("lambda");
    const double gone = std::accumulate(lambda.begin() + 2, lambda.end(), 0.0);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, std::atof(info(model, "/mse_components").c_str()) + gone,
                              std::atof(info(cut, "/mse_components").c_str()));
    const double rows = std::atof(info(model, "/ledger/n_eff").c_str());
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, std::atof(info(model, "/ledger/lost").c_str()) + rows * gone,
                              std::atof(info(cut, "/ledger/lost").c_str()));

    mercer_recipe *recipe = session.recipe("truncate", {{"components", "7"}});
    Model none;
    mercer_model *from = model.handle;
    TEST_ASSERT_EQUAL_INT(MERCER_E_VALUE, mercer_model_derive(&none.handle, recipe, &from, 1, nullptr, nullptr));
    mercer_recipe_destroy(recipe);
}

// The methods reach the bits of `given` with the rows that they select, and any number of threads
// selects the same ones.
void test_methods() {
    Session session;
    const Matrix x = skewed(600, 13);
    for (const char *method : {"akfa", "ackfa", "skfa"}) {
        Model one;
        for (const int64_t threads : {1, 2, 8}) {
            const mercer_run run = with_threads(threads);
            Model model = session.fit(x, {{"sigma", "1.2"}, {"components", "12"}}, {}, {}, method, &run);
            TEST_ASSERT_EQUAL_INT64(12, model.summary().r);
            const Vector errors = errors_of(model);
            for (size_t k = 1; k < errors.size(); ++k) TEST_ASSERT_TRUE(errors[k] < errors[k - 1]);
            if (one.handle)
                for (const char *name : {"A", "C", "b", "covariance"})
                    TEST_ASSERT_TRUE(one.vector(name) == model.vector(name));
            else
                one = std::move(model);
        }
        TEST_ASSERT_EQUAL_STRING("exact", info(one, "/total_variance/kind").c_str());
        double total = 0; // 1 - mean k(x, y)
        for (int64_t i = 0; i < x.rows; ++i)
            for (int64_t j = 0; j < x.rows; ++j) total += kernel(x.row(i), x.row(j), 3);
        TEST_ASSERT_DOUBLE_WITHIN(1e-10, 1 - total / 360000, one.summary().total_variance);
    }
}

// Each other selection finds rows whose error is close to that of the exact one, which in the sum
// over m features no other choice of one row at a time beats at its first pivot.
void test_selections() {
    Session session;
    const Matrix x = skewed(1500, 14);
    for (const char *method : {"akfa", "skfa"}) {
        const auto error = [&](const char *selection, const Settings &more = {}) {
            const Model model =
                session.fit(x, with({{"sigma", "1.2"}, {"components", "15"}, {"reducer.selection", selection}}, more),
                            {}, {}, method);
            TEST_ASSERT_EQUAL_INT64(15, model.summary().r);
            return errors_of(model).back();
        };
        const double exact = error("exact");
        for (const char *selection : {"in-factor", "rows", "sketch", "quantile"}) {
            const double other = error(selection);
            TEST_ASSERT_TRUE_MESSAGE(other < 1.5 * exact && other > 0.5 * exact, selection);
        }
    }
}

// With all rows as candidates and a factor of full rank, the selection in the factor is the exact
// one.
void test_in_factor_is_exact() {
    Session session;
    const Matrix x = skewed(180, 15);
    Vector weights;
    oracle::Numbers numbers(3);
    for (int64_t i = 0; i < x.rows; ++i) weights.push_back(0.5 + numbers.uniform());
    for (const char *method : {"akfa", "skfa"})
        for (const Vector &given : {Vector(), weights}) {
            const Settings settings = {{"sigma", "0.4"}, {"components", "20"}};
            const Model exact = session.fit(x, with(settings, {{"reducer.selection", "exact"}}), given, {}, method);
            const Model other = session.fit(
                x, with(settings, {{"reducer.selection", "in-factor"}, {"reducer.rank", "180"}}), given, {}, method);
            TEST_ASSERT_TRUE_MESSAGE(exact.vector("C") == other.vector("C"), method);
        }
}

void test_must_and_never() {
    Session session;
    const Matrix x = skewed(400, 16);
    for (const char *selection : {"exact", "in-factor", "quantile"}) {
        const Settings settings = {{"sigma", "1.2"}, {"components", "6"}, {"reducer.selection", selection}};
        const Model free = session.fit(x, settings, {}, {}, "akfa");
        const Matrix c = free.tensor("C");
        int64_t first = 0; // the row that is selected first when all may be
        while (!std::equal(x.row(first), x.row(first) + 3, c.row(0))) ++first;
        const Model bound = session.fit(x, with(settings, {{"reducer.must", "7, 301"}}), {}, {}, "akfa");
        const Matrix b = bound.tensor("C");
        TEST_ASSERT_TRUE(std::equal(x.row(7), x.row(7) + 3, b.row(0)));
        TEST_ASSERT_TRUE(std::equal(x.row(301), x.row(301) + 3, b.row(1)));
        const Model listed =
            session.fit_given(x, {7, 301}, {}, with(settings, {{"reducer.must", "landmarks"}}), {}, "akfa");
        TEST_ASSERT_TRUE(bound.vector("C") == listed.vector("C"));
        Settings barred = settings;
        std::string rows;
        for (int64_t i = 0; i < x.rows; ++i)
            if (std::equal(x.row(i), x.row(i) + 3, c.row(0))) rows += (rows.empty() ? "" : ",") + std::to_string(i);
        const Matrix other = session.fit(x, with(settings, {{"reducer.never", rows}}), {}, {}, "akfa").tensor("C");
        for (int64_t i = 0; i < other.rows; ++i) TEST_ASSERT_FALSE(std::equal(c.row(0), c.row(0) + 3, other.row(i)));
    }
    const auto refused = [&](const Settings &more, int32_t code, const char *text) {
        mercer_recipe *recipe = session.recipe("akfa", with({{"sigma", "1.2"}, {"components", "6"}}, more));
        Held held(x);
        mercer_data *data = session.data(held);
        Model none;
        TEST_ASSERT_EQUAL_INT(code, mercer_model_fit(&none.handle, recipe, data, nullptr));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), text), mercer_last_error());
        mercer_data_destroy(data);
        mercer_recipe_destroy(recipe);
    };
    refused({{"reducer.must", "400"}}, MERCER_E_VALUE, "must be 0 to 399");
    refused({{"reducer.never", "-1"}}, MERCER_E_VALUE, "must be 0 to 399");
    refused({{"reducer.must", "3,5"}, {"reducer.never", "5"}}, MERCER_E_VALUE, "row 5 is listed in");
    refused({{"reducer.must", "3,x"}}, MERCER_E_VALUE, "is no row number");
    refused({{"reducer.must", "3,3"}}, MERCER_E_VALUE, "twice");
    refused({{"reducer.must", "landmarks"}}, MERCER_E_VALUE, "no row numbers");
    refused({{"reducer.must", "0,1,2,4,5,6,7"}}, MERCER_E_VALUE, "at most 6");
    refused({{"reducer", "ackfa"}, {"reducer.delta", "2"}}, MERCER_E_VALUE, "discards all rows");
}

// lift.centred_gram: the features are those of the centred kernel matrix, by plain loops.
void test_centred_gram() {
    Session session;
    const Matrix x = skewed(260, 17);
    Vector weights;
    oracle::Numbers numbers(19);
    for (int64_t i = 0; i < x.rows; ++i) weights.push_back(0.5 + numbers.uniform());
    for (const bool f32 : {false, true})
        for (const Vector &given : {Vector(), weights}) {
            const double near = f32 ? 3e-5 : 1e-10;
            const auto w = [&](int64_t i) { return given.empty() ? 1.0 : given[static_cast<size_t>(i)]; };
            Matrix k = oracle::gram(kernel, x, x);
            Vector mean(static_cast<size_t>(x.rows));
            double total = 0, square = 0;
            for (int64_t i = 0; i < x.rows; ++i) total += w(i);
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < x.rows; ++j) mean[static_cast<size_t>(i)] += w(j) * k(i, j) / total;
            for (int64_t i = 0; i < x.rows; ++i) square += w(i) * mean[static_cast<size_t>(i)] / total;
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < x.rows; ++j)
                    k(i, j) += square - mean[static_cast<size_t>(i)] - mean[static_cast<size_t>(j)];
            // Greedy in the mean error on the explicit matrix, which is updated.
            const Model model = session.fit(x, {{"sigma", "1.2"}, {"components", "6"}, {"lift.centred_gram", "true"}},
                                            given, {f32, false}, "akfa");
            TEST_ASSERT_EQUAL_INT64(x.rows, model.summary().m);
            const Matrix scores = session.apply(model, x), residual = session.apply(model, x, "residual"),
                         c = model.tensor("C");
            Vector error = errors_of(model);
            for (int64_t step = 0; step < 6; ++step) {
                double left = 0, best = -1;
                int64_t pivot = 0;
                for (int64_t j = 0; j < x.rows; ++j) {
                    double energy = 0;
                    for (int64_t t = 0; t < x.rows; ++t) energy += w(t) * k(j, t) * k(j, t);
                    left += w(j) * k(j, j) / total;
                    const double score = k(j, j) > 1e-4 ? energy / k(j, j) : 0;
                    if (score > best * (1 + 1e-9)) best = score, pivot = j;
                }
                TEST_ASSERT_DOUBLE_WITHIN(near, left, error[static_cast<size_t>(step)]);
                for (int64_t col = 0; col < 3; ++col)
                    TEST_ASSERT_DOUBLE_WITHIN(f32 ? 1e-6 : 0, x(pivot, col), c(step, col));
                Vector l(static_cast<size_t>(x.rows));
                for (int64_t t = 0; t < x.rows; ++t) {
                    l[static_cast<size_t>(t)] = k(pivot, t) / std::sqrt(k(pivot, pivot));
                    TEST_ASSERT_DOUBLE_WITHIN(near * 10, l[static_cast<size_t>(t)], scores(t, step));
                }
                for (int64_t i = 0; i < x.rows; ++i)
                    for (int64_t j = 0; j < x.rows; ++j)
                        k(i, j) -= l[static_cast<size_t>(i)] * l[static_cast<size_t>(j)];
            }
            for (int64_t t = 0; t < x.rows; ++t)
                TEST_ASSERT_DOUBLE_WITHIN(near * 10, std::max(k(t, t), 0.0), residual(t, 0));
            const Model cut = truncated(session, model, "2");
            const Matrix first = session.apply(cut, x);
            for (int64_t t = 0; t < x.rows; ++t)
                for (int64_t j = 0; j < 2; ++j) TEST_ASSERT_DOUBLE_WITHIN(near * 1e-2, scores(t, j), first(t, j));
        }
}

// Published numbers of an independent implementation, for points with whole coordinates.
void test_golden() {
    Session session;
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    struct Case {
        const char *method, *centred_gram;
        std::vector<int64_t> picks;
        double first, last;
    };
    for (const Case &one : {Case{"akfa", "false", {4, 7, 3, 2, 11}, 1, .0583899554353},
                            Case{"skfa", "false", {4, 7, 3, 0, 11}, 1, .066883131462},
                            Case{"akfa", "true", {7, 3, 2, 11, 5}, .502319067379, .0226625340138},
                            Case{"skfa", "true", {11, 3, 0, 9, 5}, .502319067379, .0225585114292}}) {
        const Model model = session.fit(
            x, {{"sigma", "8"}, {"components", "5"}, {"lift.centred_gram", one.centred_gram}}, {}, {}, one.method);
        const Matrix c = model.tensor("C");
        for (int64_t k = 0; k < 5; ++k)
            TEST_ASSERT_TRUE_MESSAGE(std::equal(c.row(k), c.row(k) + 2, x.row(one.picks[static_cast<size_t>(k)])),
                                     one.method);
        const Vector errors = errors_of(model);
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, one.first, errors.front());
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, one.last, errors.back());
    }
}

// One row, equal rows and a constant kernel: one feature, which has no variance.
void test_edges() {
    Session session;
    Matrix one(1, 2), equal(20, 2);
    one.v = {1, 2};
    for (double &value : equal.v) value = 3;
    for (const char *method : {"akfa", "ackfa", "skfa"})
        for (const Matrix *x : {&one, &equal}) {
            const Model model = session.fit(*x, {{"sigma", "1"}, {"components", "5"}}, {}, {}, method);
            TEST_ASSERT_EQUAL_INT64(1, model.summary().r);
            TEST_ASSERT_TRUE(model.summary().outcome & MERCER_RANK_REACHED);
            TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0, model.vector("variance")[0]);
            TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0, session.apply(model, *x).v[0]);
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_against_gram_schmidt);
    RUN_TEST(test_against_projected);
    RUN_TEST(test_nested);
    RUN_TEST(test_whitening);
    RUN_TEST(test_rank);
    RUN_TEST(test_components);
    RUN_TEST(test_truncate_others);
    RUN_TEST(test_methods);
    RUN_TEST(test_selections);
    RUN_TEST(test_in_factor_is_exact);
    RUN_TEST(test_must_and_never);
    RUN_TEST(test_centred_gram);
    RUN_TEST(test_golden);
    RUN_TEST(test_edges);
    return UNITY_END();
}
