// Checks what fits promise, through the public path (recipe, fit, report) on random problems:
// certain bounds always hold, bounds that hold with probability 1 - delta fail in at most a share
// delta of the fits, and `auto` returns eigenvalues of the accuracy that was asked for.
//
//   test_promises PROBLEMS LEAST MOST    problems with LEAST to MOST rows, spread evenly in the
//                                        logarithm; by default the sizes of `dev test`
//   test_promises hard                   spectra with ties
//
// The true eigenvalues are LAPACK's for the naive kernel matrix, accurate to (64 + n) u of f64
// times the mean of k(x, x). The bounds of projected models include their own rounding, so they are
// allowed only this error. All other numbers of data in f32 are allowed another 64 u of f32, which
// is four times the threshold of numerical rank (core/rounding.h).
#include "random_fits.h"

#include <map>
#include <nlohmann/json.hpp>

using namespace random_fits;
using Json = nlohmann::json;

namespace {

struct Asked {
    std::string method;
    Settings settings;
    std::vector<int64_t> landmarks;
    double accuracy = 0, delta = 0.001; // accuracy 0: none was asked for
    int64_t components = 0;
};

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

Asked any_recipe(const Data &data, bool by_accuracy, Draw &draw) {
    Asked out;
    out.settings = data.settings();
    out.components = draw.between(int64_t{1}, int64_t{20});
    out.settings.emplace_back("components", std::to_string(out.components));
    if (draw.in(0.7)) out.settings.emplace_back("report.delta", text_of(out.delta = 0.2));
    out.settings.emplace_back("seed", std::to_string(draw.below(1000)));
    if (by_accuracy) {
        out.method = "auto";
        out.accuracy = draw.any({0.3, 0.1, 0.1, 0.03, 0.03, 0.01, 0.01, 0.003, 0.001});
        out.settings.emplace_back("accuracy", text_of(out.accuracy));
        return out;
    }
    const int64_t n = data.x.rows, m = draw.between(int64_t{1}, std::min<int64_t>(n, 400));
    out.method = draw.any({"nystrom", "gkpca", "kpca", "kpca"});
    if (out.method == "kpca") {
        const char *reducer = draw.any({"uniform", "greedy", "rpcholesky", "given"});
        out.settings.insert(out.settings.begin(), {{"lift", "projected"}, {"reducer", reducer}});
        if (reducer == std::string("given"))
            for (int64_t k = 0; k < m; ++k) out.landmarks.push_back(k * n / m);
    }
    if (out.landmarks.empty()) out.settings.emplace_back("m", std::to_string(m));
    out.settings.emplace_back("report.certificates", draw.any({"none", "cheap", "rows", "rows", "rows"}));
    out.settings.emplace_back("report.rows", std::to_string(draw.between(int64_t{20}, int64_t{4000})));
    return out;
}

std::string said(const Data &data, const Asked &asked) {
    std::string out = asked.method + " n " + std::to_string(data.x.rows) + " d " + std::to_string(data.x.cols) +
                      " shape " + std::to_string(static_cast<int>(data.shape)) + (data.f32 ? " f32" : " f64") +
                      (data.weights.empty() ? "" : " weighted");
    for (const auto &[name, value] : asked.settings) out += " " + name + "=" + value;
    return out;
}

Model fitted(Session &session, const Data &data, const Asked &asked, int64_t threads = 0) {
    Held held(data.x, {data.f32, false});
    mercer_data *made = session.data(held);
    Matrix column(static_cast<int64_t>(data.weights.size()), 1);
    column.v = data.weights;
    Held weights(column);
    mercer_view view = weights.view();
    if (!data.weights.empty()) OK(mercer_data_attach(made, "weights", &view));
    std::vector<int64_t> rows = asked.landmarks;
    mercer_view landmarks{sizeof landmarks, MERCER_I64, 0, static_cast<int64_t>(rows.size()), 1, 1, 1, rows.data()};
    if (!rows.empty()) OK(mercer_data_attach(made, "landmarks", &landmarks));
    const mercer_run run = with_threads(threads);
    Model model = session.fit(made, asked.settings, asked.method.c_str(), threads > 0 ? &run : nullptr);
    mercer_data_destroy(made);
    return model;
}

Json report_of(const Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "", &text));
    return Json::parse(text);
}

// Returns, for i = 1 ... r, the sine of the largest angle between the span of the first i exact
// directions and that of the model's first i directions.
Vector sines_of(Session &session, const Model &model, const Data &data, const Truth &truth) {
    Matrix u = session.apply(model, data.x, "scores", {data.f32, false});
    const int64_t n = u.rows, r = u.cols;
    auto dot_of = [n](const Matrix &a, int64_t i, const Matrix &b, int64_t j) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += a(k, i) * b(k, j);
        return sum;
    };
    for (int64_t j = 0; j < r; ++j) { // Gram-Schmidt, twice
        for (int64_t i = 0; i < n; ++i) u(i, j) *= std::sqrt(truth.p[static_cast<size_t>(i)]);
        for (int64_t l = 0; l < 2 * j; ++l) {
            const double share = dot_of(u, l % j, u, j);
            for (int64_t i = 0; i < n; ++i) u(i, j) -= share * u(i, l % j);
        }
        const double length = std::sqrt(dot_of(u, j, u, j));
        for (int64_t i = 0; i < n; ++i) u(i, j) /= length;
    }
    Vector out;
    for (int64_t i = 1; i <= r; ++i) {
        Matrix left = truth.vectors, square(i, i), vectors;
        for (int64_t j = 0; j < i; ++j)
            for (int64_t l = 0; l < i; ++l) {
                const double share = dot_of(u, l, truth.vectors, j);
                for (int64_t k = 0; k < n; ++k) left(k, j) -= share * u(k, l);
            }
        for (int64_t j = 0; j < i; ++j)
            for (int64_t l = 0; l < i; ++l) square(j, l) = dot_of(left, j, left, l);
        out.push_back(std::sqrt(std::max(oracle::eigen(square, vectors)[0], 0.0)));
    }
    return out;
}

struct Tally {
    int64_t fits = 0, claims = 0, wrong = 0;
    std::vector<double> tight; // bound / true error
};

// Counts the broken promises of all fits, by strategy and by the evidence behind them. Only
// promises with probability 1 - delta may fail.
class Judge {
  public:
    explicit Judge(Session &session) : session_(session) {}

    void fit(const Data &data, const Truth &truth, const Asked &asked) {
        const Model model = fitted(session_, data, asked);
        const Json report = report_of(model);
        asked_ = &asked, data_ = &data, truth_ = &truth;
        truth_slack_ = (64 + static_cast<double>(data.x.rows)) * tolerance::u64 * truth.uncentred;
        slack_ = truth_slack_ + (data.f32 ? 64 * tolerance::u32 * truth.uncentred : 0);
        const auto &certificates = report["certificates"];
        std::string by = "no component";
        for (const Json &entry : certificates)
            if (entry["name"] == "eigenvalue") by = entry["by"];
        if (report.contains("strategy")) by = "auto, " + report["strategy"]["taken"].get<std::string>() + ": " + by;
        tally_ = &tallies_[by];
        ++tally_->fits;
        wrong_ = false;
        const int64_t r = model.summary().r;
        const Vector lambda = r > 0 ? model.vector("lambda") : Vector();
        eigenvalues(certificates, lambda);
        if (asked.accuracy > 0) accurate(lambda, report["strategy"]["taken"] == "exact");
        claim(true, truth.total - report["total_variance"]["value"].get<double>() - rough() * truth.lambda[0], "total",
              0);
        if (!truth.vectors.v.empty()) sines(certificates, model, r);
        tally_->wrong += wrong_;
        (asked.delta > 0.1 ? often_ : rarely_) += wrong_;
        fits_often_ += asked.delta > 0.1;
    }

    // Checks that models and certificates are bitwise equal for any number of threads.
    void threads(const Data &data, const Asked &asked) {
        const Model one = fitted(session_, data, asked, 1);
        const std::string proofs = report_of(one)["certificates"].dump();
        for (int64_t count : {2, 8}) {
            const Model more = fitted(session_, data, asked, count);
            for (const char *name : {"C", "A", "b", "lambda", "nu", "w"})
                if (one.has(name)) expect_same_bits(one.vector(name), more.vector(name), name);
            TEST_ASSERT_EQUAL_STRING(proofs.c_str(), report_of(more)["certificates"].dump().c_str());
        }
    }

    void verdict() {
        printf("%-28s %7s %8s %6s   bound / true error, or angle: 10 %%, median, 90 %%\n", "by", "fits", "claims",
               "wrong");
        for (auto &[name, tally] : tallies_) {
            std::vector<double> &tight = tally.tight;
            std::sort(tight.begin(), tight.end());
            printf("%-28s %7lld %8lld %6lld", name.c_str(), static_cast<long long>(tally.fits),
                   static_cast<long long>(tally.claims), static_cast<long long>(tally.wrong));
            for (double share : {0.1, 0.5, 0.9})
                if (!tight.empty())
                    printf(" %9.3g", tight[static_cast<size_t>(share * static_cast<double>(tight.size() - 1))]);
            printf("\n");
        }
        TEST_ASSERT_EQUAL_INT64_MESSAGE(0, certain_, "promises that are certain are broken");
        // Even if each fit failed with probability 0.2, five standard deviations above the mean
        // would be exceeded less than once in 10^6.
        const double n = static_cast<double>(fits_often_);
        TEST_ASSERT_TRUE(static_cast<double>(often_) <= 0.2 * n + 5 * std::sqrt(0.16 * n));
        // The bounds of all other fits have delta = 10^-3 but fail far less often, so none of them
        // may fail.
        TEST_ASSERT_EQUAL_INT64(0, rarely_);
    }

  private:
    // Returns the error that is allowed in the total variance, relative to the first eigenvalue:
    // iterations that end in f32 leave errors of a few u of f32.
    static double rough() { return 4 * tolerance::u32; }

    void claim(bool certain, double excess, const char *what, size_t component) {
        claim(certain, excess, what, component, slack_);
    }
    void claim(bool certain, double excess, const char *what, size_t component, double slack) {
        ++tally_->claims;
        if (excess <= slack) return; // NaN is wrong
        wrong_ = wrong_ || !certain;
        certain_ += certain;
        printf("%s %zu: %.3g beyond, of %.6g: %s\n", what, component, excess, truth_->lambda[component],
               said(*data_, *asked_).c_str());
    }

    void eigenvalues(const Json &certificates, const Vector &lambda) {
        double trace = -1, norm = -1, missing = 0;
        for (const Json &entry : certificates) {
            if (entry["name"] == "trace") trace = entry["value"];
            if (entry["name"] == "norm") norm = entry["value"];
            if (entry["name"] != "eigenvalue") continue;
            const size_t j = entry["component"];
            TEST_ASSERT_TRUE_MESSAGE(j < lambda.size(), said(*data_, *asked_).c_str());
            const double truth = truth_->lambda[j], theta = entry["theta"], lower = entry["lower"],
                         upper = entry["upper"], value = entry["value"];
            const bool certain = entry["kind"] != "probable", projected = trace >= 0;
            TEST_ASSERT_TRUE_MESSAGE(lower <= value && value <= upper && value == lambda[j],
                                     said(*data_, *asked_).c_str());
            claim(certain, lower - truth, "lower", j, projected ? truth_slack_ : slack_);
            if (entry["kind"] != "conditional") // accurate() checks the conditional ones
                claim(certain, truth - upper, "upper", j, projected ? truth_slack_ : slack_);
            if (!projected) continue;
            missing += truth - theta;
            claim(true, theta - truth, "theta", j);
            claim(true, missing - trace, "trace", j);
            if (norm >= 0) claim(false, truth - theta - norm, "norm", j);
            if (truth - theta > 100 * slack_) tally_->tight.push_back((upper - theta) / (truth - theta));
        }
    }

    // Checks the accuracy that was asked for. If the strategy is exact, the accuracy has no failure
    // probability, so a failure counts as a broken certain promise.
    void accurate(const Vector &lambda, bool exact) {
        for (size_t j = 0; j < lambda.size(); ++j)
            claim(exact, std::fabs(lambda[j] - truth_->lambda[j]) - asked_->accuracy * truth_->lambda[j], "accuracy",
                  j);
        // `auto` drops components below 1e-7 of the first eigenvalue and below rounding. Only
        // components well above both count as missing.
        const size_t asked = std::min(static_cast<size_t>(asked_->components), truth_->lambda.size());
        const double least = 4 * std::max(1e-7 * truth_->lambda[0], slack_);
        if (lambda.size() < asked) claim(true, truth_->lambda[lambda.size()] - least, "missing", lambda.size());
    }

    void sines(const Json &certificates, const Model &model, int64_t r) {
        bool any = false;
        for (const Json &entry : certificates) any |= entry["name"] == "subspace" && entry["value"] < 1;
        if (!any) return;
        const Vector sines = sines_of(session_, model, *data_, *truth_);
        for (const Json &entry : certificates) {
            if (entry["name"] != "subspace" || !(entry["value"] < 1)) continue;
            const size_t j = entry["component"];
            const double bound = entry["value"],
                         gap = truth_->lambda[j] - truth_->lambda[std::min(j + 1, truth_->lambda.size() - 1)];
            // A rounding error e turns a subspace by at most e / gap (Davis and Kahan). The excess
            // is therefore multiplied by the gap before it is compared with rounding.
            claim(entry["kind"] == "certain", (sines[j] - bound) * gap, "angle", j);
            if (sines[j] * gap > 100 * slack_) tallies_["angles"].tight.push_back(bound / sines[j]);
        }
        TEST_ASSERT_EQUAL_size_t(static_cast<size_t>(r), sines.size());
    }

    Session &session_;
    std::map<std::string, Tally> tallies_;
    Tally *tally_ = nullptr;
    const Asked *asked_ = nullptr;
    const Data *data_ = nullptr;
    const Truth *truth_ = nullptr;
    double slack_ = 0, truth_slack_ = 0;
    bool wrong_ = false;
    int64_t certain_ = 0, often_ = 0, rarely_ = 0, fits_often_ = 0;
};

struct Size {
    int64_t problems, least, most;
};
std::vector<Size> sizes = {{900, 2, 500}, {120, 500, 2000}};

void test_random() {
    Session session;
    Judge judge(session);
    uint64_t seed = 0;
    for (const Size &size : sizes)
        for (int64_t k = 0; k < size.problems; ++k, ++seed) {
            const Data data = make_data(seed, size.least, size.most);
            Draw draw(seed + 1'000'000);
            const bool large = data.x.rows > 500;
            const Truth truth = truth_of(data, !large || k % 4 == 0);
            for (int fit = 0; fit < (large ? 4 : 2); ++fit) { // computing the truth takes most of the time
                const Asked asked = any_recipe(data, fit % 2 == 0, draw);
                judge.fit(data, truth, asked);
                if (fit == 0 && k % 10 == 0) judge.threads(data, asked);
            }
        }
    judge.verdict();
}

Data rows_of(int64_t n, int64_t d, const char *leaves, const std::function<double(int64_t, int64_t)> &entry) {
    Data out;
    out.x = Matrix(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) out.x(i, k) = static_cast<double>(static_cast<float>(entry(i, k)));
    for (const char *name = leaves; *name; ++name) out.kernel.leaves.push_back({*name, 1, 1});
    return out;
}

// Data that are hard for sampling and for iterations: few rows, ties, equal eigenvalues, low rank.
std::vector<Data> hard() {
    auto draw = std::make_shared<Draw>(3);
    auto normal = [=](double size) { return size * draw->normal(); };
    std::vector<Data> out;
    for (int64_t n : {1, 2, 3, 4, 5}) out.push_back(rows_of(n, 2, "g", [=](int64_t, int64_t) { return normal(1); }));
    out.push_back(rows_of(900, 3, "g", [=](int64_t, int64_t) { return 1; }));         // all rows are equal
    out.push_back(rows_of(900, 1, "g", [=](int64_t i, int64_t) { return 100 * i; })); // all eigenvalues are equal
    // One eigenvalue is far above the others.
    out.push_back(rows_of(900, 2, "gd", [=](int64_t i, int64_t k) { return k == 0 ? 30 : 100 * i % 30000; }));
    out.push_back(
        rows_of(1000, 1, "g", [=](int64_t i, int64_t) { return 100 * (i % 20); }));    // 20 groups of the same size
    out.push_back(rows_of(1200, 3, "d", [=](int64_t, int64_t) { return normal(1); })); // rank 3
    return out;
}

void test_hard() {
    const struct {
        const char *accuracy, *name, *value;
    } wanted[] = {{"0.3", "components", "1"},     {"0.03", "components", "10"}, {"0.001", "components", "25"},
                  {"0.0001", "components", "10"}, {"0.03", "variance", "0.8"},  {"0.03", "threshold", "0.1"},
                  {"0.03", "components", "0"}};
    Session session;
    Judge judge(session);
    for (Data &data : hard())
        for (bool centred : {false, true}) {
            data.centred = centred;
            const Truth truth = truth_of(data, false);
            for (bool f32 : {false, true})
                for (const auto &[accuracy, name, value] : wanted) {
                    data.f32 = f32;
                    Asked asked{"auto", data.settings(), {}, std::atof(accuracy), 0.001, 0};
                    asked.settings.emplace_back("accuracy", accuracy);
                    asked.settings.emplace_back("components", "30");
                    asked.settings.emplace_back(name, value);
                    asked.components = name == std::string("components") ? std::atoll(value) : 0; // 0: the fit decides
                    judge.fit(data, truth, asked);
                }
        }
    judge.verdict();
}

// With a smooth kernel, most of the landmarks lie in the span of the others to within f32 rounding.
void test_smooth() {
    Session session;
    Judge judge(session);
    Draw draw(8);
    Data data = rows_of(600, 2, "g", [&](int64_t, int64_t) { return draw.normal(); });
    data.kernel.leaves[0].sigma = 4;
    data.f32 = true;
    const Truth truth = truth_of(data, false);
    for (int64_t seed = 0; seed < 20; ++seed) {
        Asked asked{"nystrom", data.settings(), {}, 0, 0.001, 5};
        for (const auto &[name, value] : Settings{{"m", "200"}, {"components", "5"}, {"seed", std::to_string(seed)}})
            asked.settings.emplace_back(name, value);
        judge.fit(data, truth, asked);
    }
    judge.verdict();
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int argc, char **argv) {
    if (argc == 2 && argv[1] == std::string("hard")) {
        UNITY_BEGIN();
        RUN_TEST(test_hard);
        return UNITY_END();
    }
    if (argc != 1 && argc != 4) return 2;
    if (argc == 4) sizes = {{std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3])}};
    UNITY_BEGIN();
    RUN_TEST(test_random);
    if (argc == 1) RUN_TEST(test_smooth);
    return UNITY_END();
}
