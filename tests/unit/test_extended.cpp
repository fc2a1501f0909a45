// Compares weights by the nearest centre, the lift `extended` and Ritz refinement with plain loops
// for the formulas of the specification (reduced sets, 3 to 5), with golden data and, for m = n,
// with kernel PCA. Checks the certificates of refined models against the true eigenvalues.
#include "session.h"
#include "tolerances.h"

#include <nlohmann/json.hpp>

namespace {

constexpr double gamma_of = 1.5625; // exp(-r^2 / 0.64)

struct Case {
    const char *lift;
    bool centred;
    int64_t ritz;
    bool weighted; // the rows have weights
};

struct Data {
    Matrix x = oracle::golden_points();
    std::vector<int64_t> rows;
    Vector weights;
};

Data make_data(bool weighted) {
    Data out;
    for (int64_t i = 0; i < 60; i += 3) out.rows.push_back(i);
    for (int64_t i = 0; weighted && i < 60; ++i) out.weights.push_back(i % 5 == 1 ? 0 : 1 + static_cast<double>(i % 4));
    return out;
}

Settings settings_of(const Case &one) {
    return {{"kernel", "gaussian"},
            {"gamma", "1.5625"},
            {"components", "4"},
            {"reducer", "given"},
            {"lift", one.lift},
            {"reducer.weights", "voronoi"},
            {"lift.centred", one.centred ? "true" : "false"},
            {"lift.ritz", std::to_string(one.ritz)}};
}

Model fit(Session &session, const Data &data, const Settings &settings, Layout layout = {}, int64_t threads = 2) {
    const mercer_run run = with_threads(threads);
    return session.fit_given(data.x, data.rows, data.weights, settings, layout, "kpca", &run);
}

// ---- the formulas, by plain loops

double k(const double *a, const double *b, int64_t d) { return std::exp(-gamma_of * oracle::sqdist(a, b, d)); }

Matrix rows_of(const Matrix &x, const std::vector<int64_t> &index) {
    Matrix out(static_cast<int64_t>(index.size()), x.cols);
    for (int64_t i = 0; i < out.rows; ++i) std::copy_n(x.row(index[static_cast<size_t>(i)]), x.cols, &out(i, 0));
    return out;
}

Vector shares(const Data &data) { // the weights of the rows, divided by their sum
    Vector out = data.weights.empty() ? Vector(static_cast<size_t>(data.x.rows), 1.0) : data.weights;
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (double &value : out) value /= sum;
    return out;
}

Vector voronoi(const Data &data) {
    const Vector s = shares(data);
    Vector out(data.rows.size());
    for (int64_t i = 0; i < data.x.rows; ++i) {
        size_t best = 0;
        auto to = [&](size_t j) { return oracle::sqdist(data.x.row(i), data.x.row(data.rows[j]), data.x.cols); };
        for (size_t j = 1; j < out.size(); ++j)
            if (to(j) < to(best)) best = j;
        out[best] += s[static_cast<size_t>(i)];
    }
    return out;
}

struct Naive {
    Matrix centres, a;
    Vector b, nu, lambda;
    Matrix scores(const Matrix &q) const {
        Matrix z = oracle::product(oracle::gram(k, q, centres), a);
        for (int64_t i = 0; i < z.rows; ++i)
            for (int64_t j = 0; j < z.cols; ++j) z(i, j) -= b[static_cast<size_t>(j)];
        return z;
    }
};

Vector means_of(const Matrix &z, const Vector &s, bool centred) {
    Vector out(static_cast<size_t>(z.cols));
    for (int64_t i = 0; centred && i < z.rows; ++i)
        for (int64_t j = 0; j < z.cols; ++j) out[static_cast<size_t>(j)] += s[static_cast<size_t>(i)] * z(i, j);
    return out;
}

void extend(Naive &model, const Data &data, bool centred) {
    const Vector s = shares(data);
    const Matrix z = model.scores(data.x);
    const Vector mean = means_of(z, s, centred);
    model.a = Matrix(data.x.rows, z.cols);
    for (int64_t i = 0; i < z.rows; ++i)
        for (int64_t j = 0; j < z.cols; ++j)
            model.a(i, j) = s[static_cast<size_t>(i)] * (z(i, j) - mean[static_cast<size_t>(j)]) /
                            model.lambda[static_cast<size_t>(j)];
    model.centres = data.x;
    model.nu = s;
    const Matrix ka = oracle::product(oracle::gram(k, data.x, data.x), model.a);
    model.b = means_of(ka, s, centred);
}

// G^-1/2 of a positive definite matrix.
Matrix inverse_root(const Matrix &g) {
    Matrix q, out(g.rows, g.rows);
    const Vector values = oracle::eigen(g, q);
    for (int64_t i = 0; i < g.rows; ++i)
        for (int64_t j = 0; j < g.rows; ++j)
            out(i, j) = oracle::sum_over(g.rows, [&](int64_t l) {
                return static_cast<long double>(q(i, l)) * q(j, l) / std::sqrt(values[static_cast<size_t>(l)]);
            });
    return out;
}

void refine(Naive &model, const Data &data, bool centred, int64_t r) {
    const Vector s = shares(data);
    const Matrix z = model.scores(data.x);
    const Vector zbar = means_of(z, s, centred);
    const int64_t p = z.cols;
    Matrix second(p, p);
    for (int64_t a = 0; a < p; ++a)
        for (int64_t b = 0; b < p; ++b) {
            for (int64_t i = 0; i < z.rows; ++i) second(a, b) += s[static_cast<size_t>(i)] * z(i, a) * z(i, b);
            second(a, b) -= zbar[static_cast<size_t>(a)] * zbar[static_cast<size_t>(b)];
        }
    const Matrix kcc = oracle::gram(k, model.centres, model.centres),
                 g = oracle::product(oracle::transposed(model.a), oracle::product(kcc, model.a)),
                 root = inverse_root(g);
    Matrix v;
    Vector theta = oracle::eigen(oracle::product(root, oracle::product(second, root)), v);
    const Matrix turn = oracle::product(root, v), ginv = oracle::product(root, root);
    for (int64_t i = 0; i < model.a.rows; ++i) // nu + A G^-1 zbar
        for (int64_t j = 0; j < p; ++j)
            for (int64_t l = 0; l < p; ++l)
                model.nu[static_cast<size_t>(i)] += model.a(i, j) * ginv(j, l) * zbar[static_cast<size_t>(l)];
    const Matrix all = oracle::product(model.a, turn);
    Vector b;
    for (int64_t j = 0; j < r; ++j)
        b.push_back(oracle::sum_over(p, [&](int64_t l) {
            return static_cast<long double>(turn(l, j)) *
                   (model.b[static_cast<size_t>(l)] + zbar[static_cast<size_t>(l)]);
        }));
    model.a = Matrix(all.rows, r);
    for (int64_t i = 0; i < all.rows; ++i)
        for (int64_t j = 0; j < r; ++j) model.a(i, j) = all(i, j);
    model.b = b;
    model.lambda.assign(theta.begin(), theta.begin() + r);
}

void rule_of_signs(Naive &model) {
    for (int64_t j = 0; j < model.a.cols; ++j) {
        double largest = 0;
        for (int64_t i = 0; i < model.a.rows; ++i)
            if (std::fabs(model.a(i, j)) > std::fabs(largest) * (1 + 1e-9)) largest = model.a(i, j);
        if (largest > 0) continue;
        for (int64_t i = 0; i < model.a.rows; ++i) model.a(i, j) = -model.a(i, j);
        model.b[static_cast<size_t>(j)] = -model.b[static_cast<size_t>(j)];
    }
}

Naive on_paper(const Data &data, const Case &one) {
    Naive model;
    model.centres = rows_of(data.x, data.rows);
    model.nu = voronoi(data);
    const oracle::Kpca small = oracle::kpca(oracle::gram(k, model.centres, model.centres), model.nu, one.centred,
                                            std::max<int64_t>(one.ritz, 4));
    model.a = small.a, model.b = small.b;
    model.lambda.assign(small.lambda.begin(), small.lambda.begin() + small.a.cols);
    if (one.lift == std::string("extended")) extend(model, data, one.centred);
    if (one.ritz > 0) refine(model, data, one.centred, 4);
    rule_of_signs(model);
    return model;
}

// ---- tests

Matrix queries() { return oracle::Numbers(3).matrix(9, 3, 0, 1); }

void test_against_paper() {
    Session session;
    for (const char *lift : {"weighted", "extended"})
        for (bool centred : {true, false})
            for (int64_t ritz : {0, 12})
                for (bool weighted : {false, true})
                    for (Layout layout : {Layout{}, Layout{true, true}}) {
                        const Case one{lift, centred, ritz, weighted};
                        const Data data = make_data(weighted);
                        const Naive naive = on_paper(data, one);
                        const Model model = fit(session, data, settings_of(one), layout);
                        // In f32 entries have errors of some u. Directions have these errors
                        // divided by gaps of 0.02, and A has the errors of directions divided by
                        // lambda.
                        const double allowed = layout.f32 ? 2e-3 : 1e-10;
                        expect_near(model.vector("lambda"), Vector(naive.lambda.begin(), naive.lambda.begin() + 4),
                                    layout.f32 ? 1e-6 : 1e-13, lift);
                        const Matrix z = naive.scores(queries());
                        Matrix first(z.rows, 4);
                        for (int64_t i = 0; i < z.rows; ++i) std::copy_n(z.row(i), 4, &first(i, 0));
                        expect_near(session.apply(model, queries()).v, first.v, allowed, lift);
                        if (!centred) continue;
                        Vector nu = model.vector("nu"), expected;
                        for (double value : naive.nu)
                            if (value != 0) expected.push_back(value);
                        expect_near(nu, expected, allowed, "nu");
                    }
}

void test_golden() { // golden data of the specification: nystrom_n on rows 0 to 9, uncentred
    Session session;
    Data data;
    for (int64_t i = 0; i < 10; ++i) data.rows.push_back(i);
    Settings settings = settings_of({"extended", false, 0, false});
    settings.emplace_back("reducer.weights", "own");
    expect_near(fit(session, data, settings).vector("lambda"),
                {.588937910956, .161279296081, .098931883623, .073187067949}, tolerance::printed, "lambda");
}

void test_all_rows_are_exact() { // if all rows are centres (m = n), this lift gives exact kernel PCA
    Session session;
    for (bool centred : {true, false})
        for (int64_t ritz : {0, 8}) {
            Data data;
            data.rows.resize(60);
            std::iota(data.rows.begin(), data.rows.end(), 0);
            const Model model = fit(session, data, settings_of({"extended", centred, ritz, false}));
            const Model exact = session.fit(
                data.x, {{"gamma", "1.5625"}, {"components", "4"}, {"lift.centred", centred ? "true" : "false"}});
            expect_near(model.vector("lambda"), exact.vector("lambda"), 1e-14, "lambda");
            expect_near(session.apply(model, queries()).v, session.apply(exact, queries()).v, 1e-11, "scores");
        }
}

void test_same_bits() {
    Session session;
    for (const char *lift : {"weighted", "extended"}) {
        const Data data = make_data(true);
        const Settings settings = settings_of({lift, true, 12, true});
        const Model one = fit(session, data, settings, {}, 1), eight = fit(session, data, settings, {}, 8);
        expect_same_bits(one.tensor("A").v, eight.tensor("A").v, "A");
        expect_same_bits(one.vector("lambda"), eight.vector("lambda"), "lambda");
    }
}

// No row is assigned to a centre that equals an earlier one, so that this centre is left out. A row
// of weight 3 must give the same model as three equal rows.
void test_nearest() {
    Session session;
    Data data = make_data(false);
    std::copy_n(data.x.row(3), 3, &data.x(6, 0));
    Model model = fit(session, data, settings_of({"weighted", true, 0, false}));
    const Vector w = model.vector("w");
    TEST_ASSERT_EQUAL_size_t(data.rows.size() - 1, w.size());
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 60, std::accumulate(w.begin(), w.end(), 0.0));
    Data multiples = data;
    multiples.weights.assign(60, 1);
    multiples.weights[10] = 3;
    Data repeated = data;
    repeated.x = Matrix(62, 3);
    std::copy(data.x.v.begin(), data.x.v.end(), repeated.x.v.begin());
    for (int64_t i : {60, 61}) std::copy_n(data.x.row(10), 3, &repeated.x(i, 0));
    for (const char *lift : {"weighted", "extended"}) {
        const Settings settings = settings_of({lift, true, 12, false});
        expect_near(fit(session, multiples, settings).vector("lambda"),
                    fit(session, repeated, settings).vector("lambda"), 1e-13, "lambda");
    }
}

// Rows must be assigned to their nearest centre even if the kernel values of all pairs underflow to
// 0. For kernels that are not radial, the distance in feature space decides.
void test_other_kernels() {
    Session session;
    Data data = make_data(false);
    Settings settings = settings_of({"weighted", true, 0, false});
    settings[1] = {"gamma", "1e7"};
    const Vector w = fit(session, data, settings).vector("w");
    Vector expected = voronoi(data);
    for (double &value : expected) value *= 60;
    expect_near(w, expected, 1e-12, "cells");
    settings[0] = {"kernel", "polynomial"};
    settings[1] = {"kernel.degree", "2"};
    const Vector cells = fit(session, data, settings).vector("w");
    Vector naive(data.rows.size());
    auto poly = [](const double *a, const double *b, int64_t d) { return std::pow(oracle::dot(a, b, d) / 3 + 1, 2); };
    for (int64_t i = 0; i < 60; ++i) {
        size_t best = 0;
        auto to = [&](size_t j) {
            const double *c = data.x.row(data.rows[j]);
            return poly(c, c, 3) - 2 * poly(data.x.row(i), c, 3);
        };
        for (size_t j = 1; j < naive.size(); ++j)
            if (to(j) < to(best)) best = j;
        naive[best] += 1;
    }
    naive.erase(std::remove(naive.begin(), naive.end(), 0.0), naive.end());
    expect_near(cells, naive, 0, "cells in feature space");
}

// Checks on random problems that the certificates of refined models contain the true eigenvalues
// and are at most 0.5 wide.
void test_certificate() {
    Session session;
    oracle::Numbers numbers(19);
    for (int trial = 0; trial < 60; ++trial) {
        Data data;
        data.x = numbers.matrix(30 + trial, 2);
        for (int64_t i = 0; i < data.x.rows; i += 4) data.rows.push_back(i);
        const bool centred = trial % 2;
        const Model model = fit(session, data, settings_of({trial % 3 ? "weighted" : "extended", centred, 7, false}),
                                {trial % 5 == 0, false});
        Matrix v;
        const Vector s = shares(data),
                     truth = oracle::eigen(oracle::weighted_centred(oracle::gram(k, data.x, data.x), s, centred), v);
        const char *text = nullptr;
        OK(mercer_model_info(model.handle, "/certificates", &text));
        nlohmann::json entries;
        for (const auto &entry : nlohmann::json::parse(text))
            if (entry["name"] == "eigenvalue" && entry["by"] == "ritz") entries.push_back(entry);
        TEST_ASSERT_EQUAL_size_t(4, entries.size());
        for (size_t j = 0; j < 4; ++j) {
            TEST_ASSERT_EQUAL_STRING("certain", entries[j]["kind"].get<std::string>().c_str());
            TEST_ASSERT_TRUE(entries[j]["lower"] <= truth[j] && truth[j] <= entries[j]["upper"]);
            TEST_ASSERT_TRUE(entries[j]["upper"].get<double>() - entries[j]["lower"].get<double>() < 0.5);
        }
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_against_paper);
    RUN_TEST(test_golden);
    RUN_TEST(test_all_rows_are_exact);
    RUN_TEST(test_same_bits);
    RUN_TEST(test_nearest);
    RUN_TEST(test_other_kernels);
    RUN_TEST(test_certificate);
    return UNITY_END();
}
