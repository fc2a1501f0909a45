// Compares the counted peak with the memory that was really touched. Then tests budgets, beginning
// with one that is refused: a fit must either be refused before its work, as the forecast is, or
// stay within its budget.
#include "session.h"

#include <fstream>
#include <malloc.h>

namespace {

double number(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return std::strtod(text, nullptr);
}

// Measures the peak of the resident memory since the constructor, minus the resident memory at that
// time. Each block of 64 KiB or more is mapped separately, so that it leaves the resident memory
// when it is freed.
class Growth {
  public:
    Growth() {
        mallopt(M_MMAP_THRESHOLD, 64 << 10);
        malloc_trim(0);
        std::ofstream("/proc/self/clear_refs") << "5"; // resets VmHWM, the peak of the resident memory
        start_ = kibibytes("VmRSS:");
    }
    double bytes() const { return (kibibytes("VmHWM:") - start_) * 1024; }

  private:
    static double kibibytes(const std::string &field) {
        std::ifstream status("/proc/self/status");
        for (std::string line; std::getline(status, line);)
            if (line.rfind(field, 0) == 0) return std::stod(line.substr(field.size()));
        return NAN;
    }
    double start_;
};

struct Case {
    const char *method;
    int64_t n;
    Settings settings;
};

// Memory that is not counted: texts, lists of slabs and panels, the JSON of the report, threads,
// and the unused rest of huge pages in which an array begins.
constexpr double uncounted = 8 * 0x1p20;
constexpr double untouched = 0x1p20; // counted ends of arrays that a small fit does not use

void test_counted_is_held() {
    const Case cases[] = {{"kpca", 20000, {{"gram.storage", "stream"}}},
                          {"kpca", 3000, {{"gram.storage", "f64"}}},
                          {"kpca", 900, {{"solver", "dense"}}},
                          {"nystrom", 50000, {{"reducer.m", "300"}}},
                          {"auto", 30000, {}}};
    for (const Case &c : cases) {
        Session session;
        Held held(oracle::clusters(c.n, 8));
        mercer_data *data = session.data(held);
        Settings settings = {{"kernel.sigma", "4"}};
        settings.insert(settings.end(), c.settings.begin(), c.settings.end());
        const mercer_run two = with_threads(2);
        session.fit(data, settings, c.method, &two); // creates what a process needs only once: modules, tables, threads
        const Growth growth;
        const Model model = session.fit(data, settings, c.method, &two);
        const double real = growth.bytes(), counted = number(model, "/peak_bytes");
        char text[160];
        std::snprintf(text, sizeof text, "%s, n = %lld: counted %.2f MiB, held %.2f", c.method,
                      static_cast<long long>(c.n), counted / 0x1p20, real / 0x1p20);
        std::printf("%s\n", text);
        TEST_ASSERT_TRUE_MESSAGE(counted >= 0.95 * real - uncounted && counted <= 1.1 * real + untouched, text);
        mercer_data_destroy(data);
    }
}

int32_t note_stage(void *user, const mercer_progress *progress) {
    *static_cast<std::string *>(user) = progress->stage;
    return 0;
}

void climb(const Case &c) {
    Session session;
    Held held(oracle::clusters(c.n, 6));
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe(c.method, c.settings);
    int64_t refused = 0, accepted = 0;
    for (double budget = 0x1p17; accepted < 12; budget *= accepted ? 1.25 : 1.1) {
        std::string stage;
        mercer_run run = with_threads(2);
        run.memory = static_cast<int64_t>(budget);
        run.progress = note_stage, run.user = &stage;
        mercer_forecast forecast{};
        forecast.struct_size = sizeof forecast;
        Model model;
        const int32_t foreseen = mercer_recipe_forecast(recipe, data, &run, &forecast),
                      status = mercer_model_fit(&model.handle, recipe, data, &run);
        const std::string text =
            std::string(c.method) + ", budget " + std::to_string(run.memory) + ": " + mercer_last_error();
        TEST_ASSERT_EQUAL_INT_MESSAGE(foreseen, status, text.c_str());
        if (status == MERCER_E_BUDGET) {
            TEST_ASSERT_TRUE_MESSAGE(stage.empty() || stage == "read", stage.c_str());
            ++refused;
            continue;
        }
        OK(status);
        ++accepted;
        TEST_ASSERT_TRUE_MESSAGE(number(model, "/peak_bytes") <= budget, text.c_str());
        TEST_ASSERT_TRUE_MESSAGE(number(model, "/peak_bytes") <= forecast.bytes.most, text.c_str());
    }
    std::printf("%s: %d refused, %d accepted\n", c.method, static_cast<int>(refused), static_cast<int>(accepted));
    TEST_ASSERT_TRUE(refused > 0);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

void test_budgets() {
    climb({"kpca", 700, {{"kernel.sigma", "3"}}});
    climb({"kpca", 3000, {{"kernel.sigma", "3"}}});
    climb({"kpca", 2500, {{"kernel", "laplacian"}, {"kernel.sigma", "3"}, {"gram.storage", "f32"}}});
    climb({"kpca", 2000, {{"kernel", "laplacian"}, {"solver", "orthogonal"}}}); // sigma follows from the data
    climb({"subsampled", 3000, {{"kernel.sigma", "3"}, {"reducer.m", "400"}}});
    climb({"nystrom", 3000, {{"kernel.sigma", "3"}, {"reducer.m", "300"}, {"data.dtype", "f32"}}});
    climb({"nystrom", 3000, {{"kernel.sigma", "3"}, {"reducer", "uniform"}, {"reducer.m", "300"}}});
    climb({"kpca", 3000, {{"kernel.sigma", "3"}, {"report.bootstrap", "50"}}});
    climb({"nystrom", 3000, {{"kernel.sigma", "3"}, {"reducer.m", "200"}, {"report.bootstrap", "50"}}});
    climb({"gkpca", 3000, {{"kernel.sigma", "3"}, {"reducer.m", "900"}, {"reducer.mse", "0.05"}}});
    climb({"auto", 4000, {{"kernel.sigma", "3"}}});
    // Only projections are possible here: the matrix that exact passes would store fits in none of
    // these budgets.
    climb({"auto", 4000, {{"kernel.sigma", "3"}, {"gram.storage", "f64"}, {"accuracy", "0.05"}}});
    climb({"auto", 3000, {{"kernel.sigma", "3"}, {"variance", "0.95"}, {"components", "0"}, {"data.dtype", "f32"}}});
    climb({"auto", 6000, {{"kernel.sigma", "1"}, {"data.dtype", "f32"}, {"accuracy", "1e-4"}}});
}

// If the number of components is open, it may grow as far as memory suffices, but not beyond.
void test_open_components() {
    const Settings slow = {{"kernel", "laplacian"}, {"kernel.sigma", "1"}},
                   few = {{"solver.max_passes", "2"}, {"components", "0"}};
    auto with = [&](Settings more, const Settings &others) {
        for (const Settings &settings : {slow, others}) more.insert(more.end(), settings.begin(), settings.end());
        return more;
    };
    climb({"kpca", 1050, with({{"variance", "0.5"}}, few)});
    climb({"kpca", 600, with({{"variance", "0.9"}}, few)});
    climb({"kpca", 1100, with({{"threshold", "0.001"}, {"solver", "orthogonal"}}, few)});
    climb({"kpca", 1100, with({{"threshold", "0.001"}, {"report.bootstrap", "4"}, {"components", "70"}}, {few[0]})});
    climb({"nystrom", 1500, with({{"variance", "0.9"}, {"m", "150"}, {"report.bootstrap", "4"}}, {few[1]})});
    climb({"nystrom", 1500, with({{"variance", "0.9"}, {"m", "150"}, {"report.certificates", "rows"}}, {few[1]})});
}

// Tests eigenpairs that are computed by passes over k(X, B), and the fallback to the dense problem
// if passes in f32 do not converge.
void test_passes() {
    for (const char *sigma : {"1", "30"})
        climb({"nystrom",
               3000,
               {{"kernel.sigma", sigma},
                {"m", "150"},
                {"components", "3"},
                {"report.certificates", "none"},
                {"data.dtype", "f32"}}});
}

// If eigenvalues are equal, another factorisation is used, which needs more workspace.
void test_equal_eigenvalues() {
    climb({"kpca", 900, {{"kernel.sigma", "1e-3"}, {"solver", "dense"}}});
    climb({"nystrom", 2000, {{"kernel.sigma", "1e-3"}, {"m", "600"}}});
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_counted_is_held);
    RUN_TEST(test_budgets);
    RUN_TEST(test_open_components);
    RUN_TEST(test_passes);
    RUN_TEST(test_equal_eigenvalues);
    return UNITY_END();
}
