// Checks what a mergeable model promises (src/model/ledger.h): the terms of its ledger add up to
// the squared lengths of all rows, and its components are orthonormal; an error of two components
// counts in proportion to the root of the product of their variances. Also checks which models have
// a ledger, and that it is kept when a model is made from tensors.
#include "session.h"

#include <nlohmann/json.hpp>

namespace {

constexpr int64_t columns = 4;

nlohmann::json report(const Model &model, const char *path = "") { return nlohmann::json::parse(info(model, path)); }

bool is_mergeable(const Model &model) { return (model.summary().capabilities & MERCER_CAN_MERGE) != 0; }

struct Kernel {
    Settings settings;
    oracle::Pair k;
    bool amplifies = false; // nearly dependent centres have large coefficients, which amplify rounding
};

double cube(const double *x, const double *y, int64_t d) {
    double out = 1;
    for (int64_t j = 0; j < d; ++j) out += 0.5 * x[j] * y[j];
    return out * out * out;
}
double with_linear(const double *x, const double *y, int64_t d) {
    double out = 0.1 * std::exp(-std::sqrt(oracle::sqdist(x, y, d)) / 2);
    for (int64_t j = 0; j < d; ++j) out += x[j] * y[j];
    return out;
}

const Kernel kernels[] = {
    {{{"sigma", "0.9"}}, oracle::gaussian(0.9)},
    {{{"sigma", "30"}}, oracle::gaussian(30), true},
    // The feature space has 35 dimensions, so that centres are dependent.
    {{{"kernel", "polynomial"}, {"gamma", "0.5"}, {"coef0", "1"}, {"degree", "3"}}, cube, true},
    {{{"kernel", "linear + 0.1 laplacian"}, {"sigma", "2"}}, with_linear},
};

struct Sizes { // both relative to `self` of the ledger
    double identity, defect;
};
constexpr Sizes f64_allows{1e-11, 1e-13}, f32_allows{1e-6, 1e-7};

// Returns by how much a model misses its promises, relative to sum s k(x, x) over the rows that it
// represents.
Sizes measured(const Model &model, const oracle::Pair &k) {
    const double self = report(model, "/ledger/self").get<double>();
    const Matrix c = model.tensor("C"), a = model.tensor("A"), kcc = oracle::gram(k, c, c);
    const Vector variances = model.vector(model.has("scatter") ? "scatter" : "lambda");
    const double n = report(model, "/ledger/n_eff").get<double>();
    double sum = report(model, "/ledger/lost").get<double>() + report(model, "/ledger/resid").get<double>();
    for (double value : variances) sum += n * value;
    if (model.has("nu")) {
        Matrix nu(c.rows, 1);
        nu.v = model.vector("nu");
        sum += n * oracle::product(oracle::transposed(nu), oracle::product(kcc, nu))(0, 0);
    }
    Sizes out{std::fabs(sum - self) / self, 0};
    const Matrix one = oracle::product(oracle::transposed(a), oracle::product(kcc, a));
    for (int64_t i = 0; i < one.rows; ++i)
        for (int64_t j = 0; j < one.cols; ++j)
            out.defect = oracle::larger(
                out.defect, std::fabs(one(i, j) - (i == j)) * n *
                                std::sqrt(variances[static_cast<size_t>(i)] * variances[static_cast<size_t>(j)]) /
                                self);
    return out;
}

double self_of(const Matrix &x, const Vector &weights, const oracle::Pair &k, double scale = 1) {
    double out = 0;
    for (int64_t i = 0; i < x.rows; ++i)
        out += (weights.empty() ? 1 : weights[static_cast<size_t>(i)]) * k(x.row(i), x.row(i), x.cols) * scale;
    return out;
}

struct Case {
    const char *method;
    Settings more;
    bool measure = false; // the model represents its weighted centres, not the rows
};
const Case cases[] = {
    {"kpca", {{"components", "6"}}},
    {"kpca", {{"components", "300"}}},
    {"kpca", {{"solver", "block-krylov"}}},
    {"kpca", {{"solver", "orthogonal"}}},
    {"kpca", {{"storage", "stream"}, {"solver", "block-krylov"}}},
    {"nystrom", {{"m", "90"}}},
    {"nystrom", {{"certificates", "none"}, {"components", "3"}, {"m", "90"}}}, // solved iteratively, by passes
    {"nystrom", {{"m", "90"}, {"certificates", "rows"}}},
    {"nystrom", {{"m", "60"}, {"certificates", "exact"}, {"components", "60"}}},
    {"gkpca", {{"m", "90"}, {"components", "90"}}},
    {"nystrom", {{"reducer", "kmeans"}, {"m", "40"}}},
    {"auto", {{"components", "4"}, {"accuracy", "0.2"}}},
    {"subsampled", {{"m", "100"}}, true},
    {"subsampled", {{"m", "100"}, {"lift.ritz", "40"}}},
    {"rskpca-kmeans", {{"m", "50"}}, true},
    {"rskpca-kmeans", {{"m", "50"}, {"lift.ritz", "40"}}},
    {"nystrom-full", {{"m", "60"}, {"lift.ritz", "30"}}},
};

Matrix rows_in_f32(int64_t n) {
    Matrix x = oracle::clusters(n, columns);
    for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
    return x;
}

struct Variant {
    bool f32, weighted, centred;
};

void expect_promises(Session &session, const Matrix &x, const Kernel &kernel, const Case &one, Variant variant,
                     int &mergeable) {
    Settings all = kernel.settings;
    all.emplace_back("lift.centred", variant.centred ? "true" : "false");
    all.insert(all.end(), one.more.begin(), one.more.end());
    Vector weights;
    for (int64_t i = 0; variant.weighted && i < x.rows; ++i) weights.push_back(0.5 + static_cast<double>(i % 4));
    const Model model = session.fit(x, all, weights, {variant.f32, false}, one.method);
    const std::string text = std::string(one.method) + ", " + kernel.settings[0].second + ", " +
                             one.more.back().second + (variant.f32 ? ", f32" : "") +
                             (variant.weighted ? ", weighted" : "") + (variant.centred ? ", centred" : "");
    TEST_ASSERT_EQUAL_MESSAGE(is_mergeable(model), report(model).contains("ledger"), text.c_str());
    if (!is_mergeable(model)) {
        TEST_ASSERT_TRUE_MESSAGE(kernel.amplifies, text.c_str());
        return;
    }
    ++mergeable;
    const double n = static_cast<double>(x.rows),
                 sum = variant.weighted ? std::accumulate(weights.begin(), weights.end(), 0.0) : n,
                 self = one.measure ? self_of(model.tensor("C"), model.vector("w"), kernel.k, sum / n)
                                    : self_of(x, weights, kernel.k);
    const nlohmann::json ledger = report(model, "/ledger");
    TEST_ASSERT_EQUAL_DOUBLE(sum, ledger["n_eff"].get<double>());
    TEST_ASSERT_EQUAL_DOUBLE(0, ledger["moved"].get<double>());
    TEST_ASSERT_DOUBLE_WITHIN_MESSAGE((variant.f32 ? 2e-6 : 1e-12) * self, self, ledger["self"].get<double>(),
                                      text.c_str());
    const Sizes found = measured(model, kernel.k), allowed = variant.f32 ? f32_allows : f64_allows;
    char sizes[80];
    std::snprintf(sizes, sizeof sizes, ": identity off by %.2g, defect %.2g", found.identity, found.defect);
    TEST_ASSERT_TRUE_MESSAGE(found.identity <= allowed.identity && found.defect <= allowed.defect,
                             (text + sizes).c_str());
}

void test_identities() {
    Session session;
    const Matrix x = rows_in_f32(360);
    int mergeable = 0, all = 0;
    for (const Kernel &kernel : kernels)
        for (const Case &one : cases)
            for (int bits = 0; bits < 8; ++bits, ++all)
                expect_promises(session, x, kernel, one, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0},
                                mergeable);
    TEST_ASSERT_TRUE(mergeable > 9 * all / 10);
}

// With many rows, products are iterated in f32 and corrected by f64 ones. The model must be as
// accurate as one computed in f64 alone.
void test_iterated_in_f32() {
    Session session;
    const Matrix x = rows_in_f32(1200);
    const Model model = session.fit(x, {{"sigma", "0.9"}, {"components", "12"}});
    TEST_ASSERT_TRUE(is_mergeable(model) && report(model)["solver"] == "block-krylov");
    const Sizes found = measured(model, kernels[0].k);
    TEST_ASSERT_TRUE(found.identity <= f64_allows.identity && found.defect <= f64_allows.defect);
}

void test_models_that_do_not_promise() {
    Session session;
    const Matrix x = rows_in_f32(120);
    const Case none[] = {
        {"kpca", {{"gram.storage", "f32"}}}, // kernel values of f64 data, rounded to f32
        {"nystrom-full", {{"m", "40"}}},
        {"wnystrom", {{"m", "20"}}},
        {"diffusion", {{"components", "3"}}},
        {"kpca", {{"kernel", "sigmoid"}, {"gamma", "0.3"}, {"coef0", "-1"}}}, // an indefinite kernel
    };
    for (const Case &one : none) {
        Settings all = one.more;
        if (all[0].first != "kernel") all.emplace_back("sigma", "0.9");
        const Model model = session.fit(x, all, {}, {}, one.method);
        TEST_ASSERT_FALSE_MESSAGE(is_mergeable(model) || report(model).contains("ledger"), one.method);
    }
    Model fitted = session.fit(x, {{"sigma", "0.9"}}), compressed;
    mercer_recipe *recipe = session.recipe("compress", {{"m", "30"}});
    OK(mercer_model_derive(&compressed.handle, recipe, &fitted.handle, 1, nullptr, nullptr));
    mercer_recipe_destroy(recipe);
    TEST_ASSERT_FALSE(is_mergeable(compressed) || report(compressed).contains("ledger"));
}

// Makes a model from the tensors of another one and a given text.
int32_t rebuild(Session &session, const Model &model, const nlohmann::json &text, Model &out) {
    std::vector<const char *> names;
    std::vector<mercer_view> views;
    for (const char *name : {"C", "A", "b", "lambda", "nu", "w", "scatter"}) {
        if (!model.has(name)) continue;
        mercer_view view{};
        view.struct_size = sizeof view;
        OK(mercer_model_tensor(model.handle, name, &view));
        names.push_back(name), views.push_back(view);
    }
    return mercer_model_from_tensors(&out.handle, session.context, text.dump().c_str(), names.data(), views.data(),
                                     static_cast<int64_t>(names.size()));
}

void test_ledger_travels() {
    Session session;
    const Matrix x = rows_in_f32(200);
    for (const char *method : {"kpca", "auto"}) {
        const Model model = session.fit(x, {{"sigma", "0.9"}, {"components", "4"}}, {}, {}, method);
        nlohmann::json text = report(model);
        Model same;
        OK(rebuild(session, model, text, same));
        TEST_ASSERT_TRUE(is_mergeable(same) && report(same, "/ledger") == text["ledger"]);

        Model without; // a text without a ledger, as earlier versions wrote it
        nlohmann::json old = text;
        old.erase("ledger");
        OK(rebuild(session, model, old, without));
        TEST_ASSERT_FALSE(is_mergeable(without));
        for (const auto &name : report(without, "/capabilities")) TEST_ASSERT_TRUE(name != "mergeable");
    }
}

void test_damaged_ledgers() {
    Session session;
    const Model model = session.fit(rows_in_f32(50), {{"sigma", "0.9"}, {"components", "4"}});
    const nlohmann::json text = report(model);
    const auto refused = [&](const nlohmann::json &changed, const char *word) {
        Model none;
        TEST_ASSERT_EQUAL_INT32(MERCER_E_MODEL, rebuild(session, model, changed, none));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), word), mercer_last_error());
    };
    for (const char *name : {"n_eff", "self", "lost", "resid", "moved"}) {
        nlohmann::json changed = text;
        changed["ledger"][name] = -1;
        refused(changed, name);
        changed["ledger"][name] = "1";
        refused(changed, name);
        changed["ledger"].erase(name);
        refused(changed, name);
    }
    nlohmann::json changed = text;
    changed["ledger"]["n_eff"] = 0;
    refused(changed, "n_eff");
    changed["ledger"] = 3;
    refused(changed, "ledger");
    changed = text;
    changed["capabilities"] = {"mergeable"};
    refused(changed, "orthonormal");
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_identities);
    RUN_TEST(test_iterated_in_f32);
    RUN_TEST(test_models_that_do_not_promise);
    RUN_TEST(test_ledger_travels);
    RUN_TEST(test_damaged_ledgers);
    return UNITY_END();
}
