// Measures how tight the certificates of large projected models are: guarantees (upper - theta) and
// estimates (value - theta) are divided by the true lambda - theta, and the worst of 10 eigenvalues
// counts. The exact eigenvalues come from block-krylov, whose residuals bound their error.
//
//   test_tightness clusters N M ...   N rows in 20 clusters, 16 columns, sigma 5;
//                                     M: numbers of landmarks
//   test_tightness ijcnn1 N M ...     the first N rows of ijcnn1, from $MERCER_DATA or the folder
//                                     $MERCER_DATA_BESIDE
#include "data_files.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace {

constexpr int64_t R = 10;
std::string data_name;
int64_t n = 0;
std::vector<int64_t> ranks;

Matrix clusters() {
    oracle::Numbers numbers(1);
    auto normal = [&] {
        const double radius = std::sqrt(-2 * std::log(1 - numbers.uniform()));
        return radius * std::cos(6.283185307179586 * numbers.uniform());
    };
    Matrix centres(20, 16), x(n, 16);
    for (double &value : centres.v) value = 3 * normal();
    for (int64_t i = 0; i < n; ++i) {
        const int64_t c = static_cast<int64_t>(numbers.uniform() * 20);
        for (int64_t k = 0; k < 16; ++k) x(i, k) = centres(c, k) + normal();
    }
    return x;
}

Json info(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return Json::parse(text);
}

// `most` bounds guarantee / truth for 2000, 4000 and 10 000 sampled rows; estimates must be
// accurate to a factor of 1.3.
void test_tightness() {
    const Matrix x = data_name == "clusters" ? clusters() : rows_of_file("ijcnn1", n);
    if (x.rows == 0) {
        puts("there is no ijcnn1.X.npy: set MERCER_DATA to its folder");
        std::exit(77);
    }
    Session session;
    const Settings base = {{"sigma", data_name == "clusters" ? "5" : "1.58"}, {"components", std::to_string(R)}};
    Settings tight = base;
    tight.emplace_back("solver.tol", "1e-10");
    const Model exact = session.fit(x, tight);
    const Vector lambda = exact.vector("lambda");
    const std::vector<double> residuals = info(exact, "/residuals");
    const int64_t sizes[] = {2000, 4000, 10000};
    const double most[] = {8, 3.5, 2.2};
    for (int64_t m : ranks)
        for (size_t k = 0; k < 3; ++k) {
            Settings asked = base;
            for (const auto &[name, value] :
                 std::vector<std::pair<std::string, std::string>>{{"reducer", "rpcholesky"},
                                                                  {"m", std::to_string(m)},
                                                                  {"report.certificates", "rows"},
                                                                  {"report.rows", std::to_string(sizes[k])}})
                asked.emplace_back(name, value);
            const Model model = session.fit(x, asked, {}, {}, "nystrom");
            double guarantee = 0, low = HUGE_VAL, high = 0;
            for (const Json &entry : info(model, "/certificates")) {
                if (entry["name"] != "eigenvalue") continue;
                const size_t j = entry["component"];
                const double theta = entry["theta"], missing = lambda[j] - theta, value = entry["value"];
                TEST_ASSERT_EQUAL_STRING("rows", std::string(entry["by"]).c_str());
                // The exact eigenvalue must be known far more accurately than the difference that
                // is measured. The reported residuals are those of K, whose eigenvalues are
                // n lambda.
                TEST_ASSERT_TRUE(residuals[j] / static_cast<double>(n) < 1e-2 * missing);
                TEST_ASSERT_TRUE(double(entry["lower"]) <= lambda[j] * (1 + 1e-9) &&
                                 lambda[j] <= double(entry["upper"]) * (1 + 1e-9));
                guarantee = std::max(guarantee, (double(entry["upper"]) - theta) / missing);
                low = std::min(low, (value - theta) / missing), high = std::max(high, (value - theta) / missing);
            }
            printf("%s n %d m %d s %d: guarantee / true %.2f, estimate / true %.2f to %.2f\n", data_name.c_str(),
                   static_cast<int>(n), static_cast<int>(m), static_cast<int>(sizes[k]), guarantee, low, high);
            fflush(stdout);
            TEST_ASSERT_TRUE(guarantee >= 1 && guarantee <= most[k]);
            TEST_ASSERT_TRUE(low >= 1 / 1.3 && high <= 1.3);
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    data_name = arguments[1];
    n = std::atoll(arguments[2]);
    for (int k = 3; k < count; ++k) ranks.push_back(std::atoll(arguments[k]));
    UNITY_BEGIN();
    RUN_TEST(test_tightness);
    return UNITY_END();
}
