// Checks certificates of models whose centres represent rows, beyond the many small problems of
// test_quantised: the radius that a reducer reports, sampled rows, centres without an assignment,
// real data.
//
//   test_standing           60 seeds, and the real data sets that are found
//   test_standing SEEDS
#include "data_files.h"
#include "standing_problem.h"
#include "tolerances.h"

using namespace standing;

namespace {

int64_t seeds = 60; // 1000 in suite `full`

Settings with(Settings settings, const Settings &more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

Centres centres_of(const Model &model) {
    Centres out{model.tensor("C"), model.vector("w")};
    const double sum = std::accumulate(out.w.begin(), out.w.end(), 0.0);
    for (double &value : out.w) value /= sum;
    return out;
}

// The bound by radius must follow from the radius that `farthest` reports, and the more expensive
// bound by distances must not be larger.
void test_radius() {
    Session session;
    for (bool f32 : {false, true}) {
        const Model model = session.fit(oracle::clusters(400, 3, 0.3),
                                        {{"sigma", "2"}, {"components", "3"}, {"reducer", "farthest"}, {"m", "60"}}, {},
                                        {f32, false}, "subsampled");
        std::map<std::string, double> radius;
        for (const Json &entry : certificates(model)) {
            const std::string name = entry["name"];
            if (entry.value("by", "") == "radius") radius[name] = entry["value"];
            if (entry.value("by", "") == "distances" && radius.count(name))
                TEST_ASSERT_TRUE(entry["value"].get<double>() <= radius[name]);
        }
        TEST_ASSERT_EQUAL_size_t(3, radius.size());
        const char *text = nullptr;
        OK(mercer_model_info(model.handle, "/reported/reducer.radius", &text));
        const double r = std::strtod(text, nullptr), expected = std::sqrt(-2 * std::expm1(-r * r / 8));
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, expected, radius["mmd"]);
    }
}

// Each seed draws 150 of the 1200 rows; the centres stay the same. Certificates must be wrong in at
// most a share delta of the fits.
void test_rows() {
    Session session;
    const Matrix x = oracle::clusters(1200, 3, 0.7);
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < x.rows; i += 17) rows.push_back(i);
    for (const char *ritz : {"0", "20"}) {
        Truth truth;
        int64_t wrong = 0, claims = 0;
        for (int64_t seed = 0; seed < seeds; ++seed) {
            const Model model = session.fit_given(x, rows, {},
                                                  {{"sigma", "1.5"},
                                                   {"components", "5"},
                                                   {"reducer", "given"},
                                                   {"lift.ritz", ritz},
                                                   {"report.certificates", "rows"},
                                                   {"report.rows", "150"},
                                                   {"report.delta", "0.2"},
                                                   {"seed", std::to_string(seed)}},
                                                  {}, "subsampled");
            if (seed == 0)
                truth =
                    truth_of(oracle::gaussian(1.5), x, shares({}, x.rows), centres_of(model), true, model.tensor("A"));
            Count count;
            wrong += check(certificates(model), truth, tolerance::u64, count) > 0;
            claims += count.by["eigenvalue rows"] + count.by["projection rows"];
        }
        TEST_ASSERT_GREATER_THAN_INT64(4 * seeds, claims);
        TEST_ASSERT_TRUE(wrong <= seeds / 5);
    }
}

// Reducers that assign no rows to their centres must give certificates, too, if these are
// requested.
void test_without_assignment() {
    Session session;
    const Matrix x = oracle::clusters(2100, 3, 0.7);
    for (const char *reducer : {"uniform", "herding", "leverage", "thinning"}) {
        const Settings base = {{"sigma", "2"}, {"components", "3"}, {"reducer", reducer}, {"m", "64"}};
        TEST_ASSERT_EQUAL_size_t(0, certificates(session.fit(x, base, {}, {}, "subsampled")).size());
        const Model model =
            session.fit(x, with(base, {{"report.certificates", "rows"}, {"report.rows", "600"}}), {}, {}, "subsampled");
        Count count;
        check(certificates(model),
              truth_of(oracle::gaussian(2), x, shares({}, 2100), centres_of(model), true, model.tensor("A")),
              tolerance::u64, count);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(3, count.by["eigenvalue rows"], reducer);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(3, count.by["excess rows"], reducer);
    }
}

// If the budget is too small for a factor of the centres, the other certificates must remain, and
// the report must say what is missing.
void test_budget() {
    Session session;
    const Matrix x = oracle::clusters(6000, 2, 1);
    const Settings asked = {{"sigma", "1"},
                            {"components", "3"},
                            {"m", "1200"},
                            {"reducer.weights", "voronoi"},
                            {"report.certificates", "rows"}};
    mercer_run run = with_threads(2);
    run.memory = int64_t{24} << 20;
    const Model model = session.fit(x, asked, {}, {}, "subsampled", &run);
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/uncertified", &text));
    TEST_ASSERT_NOT_NULL(std::strstr(text, "budget"));
    bool quantised = false;
    for (const Json &entry : certificates(model)) quantised |= is(entry, "covariance", "pairs");
    TEST_ASSERT_TRUE(quantised);
}

void test_real() {
    Session session;
    const struct {
        const char *name, *sigma;
        double half; // sigma as a number, for the oracle
    } sets[] = {{"german", "30", 30}, {"pendigits", "85", 85}};
    int64_t seen = 0;
    for (const auto &set : sets) {
        const Matrix x = rows_of_file(set.name, 800);
        if (x.rows == 0) continue;
        ++seen;
        for (const char *method : {"rskpca", "rskpca-kmeans", "subsampled"})
            for (const char *ritz : {"0", "20"})
                for (const char *price : {"cheap", "exact"}) {
                    Settings asked = {
                        {"sigma", set.sigma}, {"components", "5"}, {"lift.ritz", ritz}, {"report.certificates", price}};
                    asked.push_back(std::string(method) == "rskpca" ? std::pair<std::string, std::string>{"ell", "4"}
                                                                    : std::pair<std::string, std::string>{"m", "200"});
                    const Model model = session.fit(x, asked, {}, {}, method);
                    Count count;
                    check(certificates(model),
                          truth_of(oracle::gaussian(set.half), x, shares({}, x.rows), centres_of(model), true,
                                   model.tensor("A")),
                          tolerance::u64, count);
                    if (std::string(price) == "exact") TEST_ASSERT_GREATER_THAN_INT64(15, count.measured);
                    if (!std::getenv("MERCER_SHOW")) continue;
                    for (const Json &entry : certificates(model))
                        printf("%s %s ritz %s %s: %s\n", set.name, method, ritz, price, entry.dump().c_str());
                }
    }
    if (seen == 0) TEST_IGNORE_MESSAGE("there is no german.X.npy nor pendigits.X.npy: set MERCER_DATA to their folder");
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int argc, char **argv) {
    if (argc > 1) seeds = std::stoll(argv[1]);
    UNITY_BEGIN();
    RUN_TEST(test_radius);
    RUN_TEST(test_rows);
    RUN_TEST(test_without_assignment);
    RUN_TEST(test_budget);
    RUN_TEST(test_real);
    return UNITY_END();
}
