// Certificates of models whose centres stand for rows: on random problems none is smaller than the truth, computed on paper;
// what is measured is the truth; what costs more says more; pairs are wrong no more often than they say.
#include "session.h"
#include "tolerances.h"

#include <nlohmann/json.hpp>

#include <map>

namespace {

using Json = nlohmann::json;

struct Problem {
    Matrix x;
    std::vector<int64_t> rows; // centres
    Vector weights;            // of the rows; empty: 1
    std::string kernel = "gaussian";
    oracle::Pair k;
    bool centred = true, f32 = false;
    std::string seed = "0", certificates = "cheap";
};

std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

oracle::Pair pair_of(const std::string &kernel, double sigma) {
    if (kernel == "gaussian") return oracle::gaussian(sigma);
    if (kernel == "laplacian") return oracle::laplacian(sigma);
    if (kernel == "cauchy") return oracle::of_distance([=](double r) { return 1 / (1 + r * r / sigma / sigma); });
    return oracle::of_distance([=](double r) { // matern 3/2
        const double a = std::sqrt(3.0) * r / sigma;
        return (1 + a) * std::exp(-a);
    });
}

Model fit(Session &session, const Problem &of, double sigma, const Settings &more = {}) {
    Settings settings = {{"kernel", of.kernel},
                         {"kernel.sigma", number(sigma)},
                         {"components", "4"},
                         {"reducer", "given"},
                         {"reducer.weights", "voronoi"},
                         {"report.certificates", of.certificates},
                         {"lift.centred", of.centred ? "true" : "false"},
                         {"seed", of.seed}};
    settings.insert(settings.end(), more.begin(), more.end());
    return session.fit_given(of.x, of.rows, of.weights, settings, {of.f32, false}, "subsampled");
}

Json certificates(const Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/certificates", &text));
    return Json::parse(text);
}

bool is(const Json &entry, const std::string &name, const std::string &by) {
    return entry["name"].get<std::string>() == name && entry["by"].get<std::string>() == by;
}

// ---- the truth

struct Truth {
    double mmd, covariance, eigenvalues;
    Vector data, model, projections; // eigenvalues; |P - P_C|_HS of the first 1, 2, ... components
};

double squared_sum(const Matrix &k, const Vector &u, const Vector &v) {
    return oracle::sum_over(k.rows, [&](int64_t i) {
        return oracle::sum_over(k.cols, [&](int64_t j) {
            return static_cast<long double>(u[static_cast<size_t>(i)]) * v[static_cast<size_t>(j)] * k(i, j) * k(i, j);
        });
    });
}

// <phi(x_i) - mu, phi(y_j) - nu>, u and v the weights of the means.
Matrix centred_by(const Matrix &kxy, const Matrix &kxv, const Matrix &kuy, const Matrix &kuv, const Vector &u,
                  const Vector &v) {
    Matrix out = kxy;
    const double both = oracle::sum_over(kuv.rows, [&](int64_t i) {
        return oracle::sum_over(kuv.cols, [&](int64_t j) {
            return static_cast<long double>(u[static_cast<size_t>(i)]) * v[static_cast<size_t>(j)] * kuv(i, j);
        });
    });
    for (int64_t i = 0; i < out.rows; ++i)
        for (int64_t j = 0; j < out.cols; ++j) {
            const double row = oracle::dot(kxv.row(i), v.data(), kxv.cols);
            const double column =
                oracle::sum_over(kuy.rows, [&](int64_t l) { return u[static_cast<size_t>(l)] * kuy(l, j); });
            out(i, j) += both - row - column;
        }
    return out;
}

Truth truth_of(const Problem &of) {
    const int64_t n = of.x.rows, m = static_cast<int64_t>(of.rows.size());
    Vector s = of.weights.empty() ? Vector(static_cast<size_t>(n), 1.0) : of.weights, w(static_cast<size_t>(m));
    const double sum = std::accumulate(s.begin(), s.end(), 0.0);
    for (double &value : s) value /= sum;
    Matrix c(m, of.x.cols);
    for (int64_t j = 0; j < m; ++j) std::copy_n(of.x.row(of.rows[static_cast<size_t>(j)]), c.cols, &c(j, 0));
    for (int64_t i = 0; i < n; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < m; ++j)
            if (oracle::sqdist(of.x.row(i), c.row(j), c.cols) < oracle::sqdist(of.x.row(i), c.row(best), c.cols))
                best = j;
        w[static_cast<size_t>(best)] += s[static_cast<size_t>(i)];
    }
    const Matrix kxx = oracle::gram(of.k, of.x, of.x), kxc = oracle::gram(of.k, of.x, c),
                 kcc = oracle::gram(of.k, c, c), kcx = oracle::transposed(kxc);
    auto mean = [](const Matrix &k, const Vector &u, const Vector &v) {
        return oracle::sum_over(
            k.rows, [&](int64_t i) { return u[static_cast<size_t>(i)] * oracle::dot(k.row(i), v.data(), k.cols); });
    };
    Truth out{};
    out.mmd = std::sqrt(std::max(mean(kxx, s, s) - 2 * mean(kxc, s, w) + mean(kcc, w, w), 0.0));
    Matrix xx = kxx, xc = kxc, cc = kcc;
    if (of.centred) {
        xx = centred_by(kxx, kxx, kxx, kxx, s, s);
        xc = centred_by(kxc, kxc, kxc, kxc, s, w);
        cc = centred_by(kcc, kcc, kcc, kcc, w, w);
    }
    out.covariance =
        std::sqrt(std::max(squared_sum(xx, s, s) - 2 * squared_sum(xc, s, w) + squared_sum(cc, w, w), 0.0));
    const oracle::Kpca exact = oracle::kpca(kxx, s, of.centred, 4);
    std::vector<int64_t> kept;
    for (int64_t j = 0; j < m; ++j)
        if (w[static_cast<size_t>(j)] > 0) kept.push_back(j);
    const oracle::Kpca reduced = oracle::kpca(kcc, w, of.centred, 4);
    out.data = exact.lambda, out.model = reduced.lambda;
    double square = 0;
    for (size_t k = 0; k < exact.lambda.size(); ++k) {
        const double other = k < reduced.lambda.size() ? reduced.lambda[k] : 0;
        square += (exact.lambda[k] - other) * (exact.lambda[k] - other);
    }
    out.eigenvalues = std::sqrt(square);
    const Matrix angles = oracle::product(oracle::transposed(exact.a), oracle::product(xc, reduced.a));
    for (int64_t d = 1; d <= 4; ++d) {
        double overlap = 0;
        for (int64_t a = 0; a < d; ++a)
            for (int64_t b = 0; b < d; ++b) overlap += angles(a, b) * angles(a, b);
        out.projections.push_back(std::sqrt(std::max(2 * (static_cast<double>(d) - overlap), 0.0)));
    }
    return out;
}

// ---- tests

struct Count {
    int64_t problems = 0, applicable = 0;
    std::map<std::string, int64_t> by;
};

void check(const Json &entries, const Truth &truth, bool centred, double u, Count &count) {
    const std::map<std::string, double> values = {
        {"mmd", truth.mmd}, {"covariance", truth.covariance}, {"eigenvalues", truth.eigenvalues}};
    std::map<std::string, double> last;
    for (const Json &entry : entries) {
        const std::string name = entry["name"], by = entry["by"];
        ++count.by[by];
        TEST_ASSERT_EQUAL_STRING("certain", entry["kind"].get<std::string>().c_str());
        const double value = entry["value"];
        if (const auto at = values.find(name); at != values.end()) {
            char said[120];
            std::snprintf(said, sizeof said, "%s by %s: %.9g, truth %.9g", name.c_str(), by.c_str(), value, at->second);
            TEST_ASSERT_TRUE_MESSAGE(value * value >= at->second * at->second * (1 - 1e-9) - 1e-15, said);
            // The root of a difference that rounds: sqrt(u) of its terms.
            TEST_ASSERT_TRUE(entry.contains("measured") == (name == "mmd" || (!centred && name == "covariance")));
            if (entry.contains("measured"))
                TEST_ASSERT_DOUBLE_WITHIN(20 * std::sqrt(u), at->second, entry["measured"].get<double>());
            if (last.count(name)) { // nested
                char text[120];
                std::snprintf(text, sizeof text, "%s by %s: %.6g, less was proved for less: %.6g", name.c_str(),
                              by.c_str(), value, last[name]);
                TEST_ASSERT_TRUE_MESSAGE(value <= last[name] + 20 * std::sqrt(u), text);
            }
            last[name] = value;
        }
        const size_t j = entry.value("component", size_t{0});
        if (name == "eigenvalue") {
            TEST_ASSERT_DOUBLE_WITHIN(1e3 * u, truth.model[j], value);
            TEST_ASSERT_TRUE(entry["lower"] <= truth.data[j] && truth.data[j] <= entry["upper"]);
        }
        if (name == "projection") {
            TEST_ASSERT_TRUE(value >= truth.projections[j] - 1e4 * std::sqrt(u));
            count.applicable += entry["applicable"].get<bool>();
        }
    }
    TEST_ASSERT_EQUAL_size_t(3, last.size());
}

void test_never_smaller_than_the_truth() {
    Session session;
    oracle::Numbers numbers(23);
    Count count;
    const char *kernels[] = {"gaussian", "laplacian", "cauchy", "matern"};
    for (int trial = 0; count.problems < 1000; ++trial) {
        Problem of;
        const int64_t n = 14 + trial % 23, d = 1 + trial % 3, groups = 2 + trial % 5;
        of.x = numbers.matrix(n, d);
        const bool tight = trial % 7 < 4; // clusters: then gaps are certified
        for (int64_t i = 0; tight && i < n; ++i)
            for (int64_t k = 0; k < d; ++k) of.x(i, k) = 1e-3 * of.x(i, k) + 2 * static_cast<double>(i % groups);
        if (trial % 11 == 0) std::copy_n(of.x.row(0), d, &of.x(n - 1, 0));
        for (double &value : of.x.v) value = static_cast<float>(value);
        for (int64_t i = 0; i < n; i += tight ? 2 : 2 + trial % 2) of.rows.push_back(i);
        if (trial % 3 == 0)
            for (int64_t i = 0; i < n; ++i) of.weights.push_back(0.2 + numbers.uniform());
        of.kernel = kernels[trial % 4];
        const double sigma = 0.3 + 2 * numbers.uniform();
        of.k = pair_of(of.kernel, sigma);
        of.centred = trial % 2, of.f32 = trial % 5 == 0;
        if (of.rows.size() < 6) continue;
        ++count.problems;
        check(certificates(fit(session, of, sigma)), truth_of(of), of.centred, of.f32 ? tolerance::u32 : tolerance::u64,
              count);
    }
    for (const char *by : {"distances", "clusters", "exact"}) TEST_ASSERT_GREATER_THAN_INT64(1500, count.by[by]);
    TEST_ASSERT_GREATER_THAN_INT64(100, count.applicable);
}

void test_what_is_paid_for() {
    Session session;
    Problem of;
    of.x = oracle::clusters(2300, 2, 0.5);
    for (int64_t i = 0; i < 2300; i += 20) of.rows.push_back(i);
    auto names = [&](const char *certificates_wanted) {
        of.certificates = certificates_wanted;
        std::map<std::string, int64_t> by;
        for (const Json &entry : certificates(fit(session, of, 1))) ++by[entry["by"].get<std::string>()];
        return by;
    };
    TEST_ASSERT_EQUAL_size_t(0, names("none").size()); // no radius is known of these centres
    auto cheap = names("cheap"), exact = names("exact");
    TEST_ASSERT_TRUE(cheap["distances"] >= 3 && cheap["pairs"] >= 1 && !cheap["exact"] && !cheap["clusters"]);
    TEST_ASSERT_TRUE(exact["distances"] >= 3 && exact["clusters"] == 2 && exact["exact"] >= 3 && !exact["pairs"]);
}

// Kernels that are no function of the distance: only what is computed from all pairs, and it is right.
void test_other_kernels() {
    Session session;
    Problem of;
    of.x = oracle::Numbers(4).matrix(40, 3, 0, 1);
    for (int64_t i = 0; i < 40; i += 4) of.rows.push_back(i);
    of.kernel = "gaussian + 0.5 linear";
    const Model model = session.fit_given(
        of.x, of.rows, {}, {{"kernel", of.kernel}, {"kernel.1.sigma", "1"}, {"reducer", "given"}, {"components", "3"}},
        {}, "subsampled");
    Matrix c(10, 3);
    for (int64_t j = 0; j < 10; ++j) std::copy_n(of.x.row(4 * j), 3, &c(j, 0));
    const auto k = [](const double *a, const double *b, int64_t d) {
        return oracle::gaussian(1)(a, b, d) + 0.5 * oracle::dot(a, b, d);
    };
    const Vector s(40, 1.0 / 40), w(10, 0.1);
    double mmd = 0;
    const Matrix kxx = oracle::gram(k, of.x, of.x), kxc = oracle::gram(k, of.x, c), kcc = oracle::gram(k, c, c);
    for (int64_t i = 0; i < 40; ++i)
        mmd += oracle::dot(kxx.row(i), s.data(), 40) / 40 - 2 * oracle::dot(kxc.row(i), w.data(), 10) / 40;
    for (int64_t i = 0; i < 10; ++i) mmd += oracle::dot(kcc.row(i), w.data(), 10) / 10;
    bool seen = false;
    for (const Json &entry : certificates(model)) {
        TEST_ASSERT_EQUAL_STRING("exact", entry["by"].get<std::string>().c_str());
        if (!is(entry, "mmd", "exact")) continue;
        seen = true;
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, std::sqrt(mmd), entry["value"].get<double>());
    }
    TEST_ASSERT_TRUE(seen);
}

int64_t seeds = 60; // 1000 in suite `full`

// Objects known by their distances have no coordinates to measure steps in: what is said of the same points is said of all pairs,
// and centres are counted as centres.
void test_objects() {
    Session session;
    Problem of;
    of.x = oracle::Numbers(8).matrix(60, 2);
    for (int64_t i = 1; i < 60; i += 5) of.rows.push_back(i);
    of.k = oracle::gaussian(0.7), of.certificates = "exact", of.centred = false;
    const Truth truth = truth_of(of);
    mercer_objects objects{};
    objects.struct_size = sizeof objects;
    objects.rows = 60, objects.values = MERCER_DISTANCE, objects.flags = MERCER_THREAD_SAFE, objects.user = &of.x;
    objects.pairs = [](void *user, const int64_t *i, const int64_t *j, int64_t count, double *out) -> int32_t {
        const Matrix &x = *static_cast<const Matrix *>(user);
        for (int64_t k = 0; k < count; ++k) out[k] = std::sqrt(oracle::sqdist(x.row(i[k]), x.row(j[k]), x.cols));
        return MERCER_OK;
    };
    mercer_data *data = nullptr;
    OK(mercer_data_from_objects(&data, session.context, &objects));
    mercer_view view{sizeof view, MERCER_I64, 0, static_cast<int64_t>(of.rows.size()), 1, 1, 1, of.rows.data()};
    OK(mercer_data_attach(data, "landmarks", &view));
    const Model model = session.fit(data,
                                    {{"kernel.sigma", "0.7"},
                                     {"components", "4"},
                                     {"reducer", "given"},
                                     {"reducer.weights", "voronoi"},
                                     {"report.certificates", "exact"},
                                     {"lift.centred", "false"}},
                                    "subsampled");
    mercer_data_destroy(data);
    Count count;
    const Json entries = certificates(model);
    for (const Json &entry : entries) TEST_ASSERT_EQUAL_STRING("exact", entry["by"].get<std::string>().c_str());
    check(entries, truth, false, tolerance::u64, count);
}

// The covariance by pairs is wrong in at most a share delta; the truth by all pairs, once.
void test_pairs() {
    Session session;
    Problem of;
    of.x = oracle::clusters(2048, 2, 0.8);
    for (int64_t i = 0; i < 2048; i += 16) of.rows.push_back(i);
    of.certificates = "exact", of.centred = false;
    double truth = NAN;
    for (const Json &entry : certificates(fit(session, of, 2)))
        if (is(entry, "covariance", "exact")) truth = entry["value"];
    TEST_ASSERT_TRUE(truth > 0);
    of.certificates = "cheap";
    int64_t wrong = 0;
    for (int64_t seed = 0; seed < seeds; ++seed) {
        of.seed = std::to_string(seed);
        bool seen = false;
        for (const Json &entry : certificates(fit(session, of, 2, {{"report.delta", "0.2"}})))
            if (is(entry, "covariance", "pairs")) {
                seen = true;
                TEST_ASSERT_EQUAL_STRING("probable", entry["kind"].get<std::string>().c_str());
                wrong += entry["value"] < truth * (1 - 1e-6);
            }
        TEST_ASSERT_TRUE(seen);
    }
    TEST_ASSERT_TRUE(wrong <= seeds / 5);
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int argc, char **argv) {
    if (argc > 1) seeds = std::stoll(argv[1]);
    UNITY_BEGIN();
    RUN_TEST(test_never_smaller_than_the_truth);
    RUN_TEST(test_what_is_paid_for);
    RUN_TEST(test_other_kernels);
    RUN_TEST(test_objects);
    RUN_TEST(test_pairs);
    return UNITY_END();
}
