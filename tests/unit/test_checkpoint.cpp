// A fit that is stopped at any moment and then resumed must give bitwise the same model as a fit
// that is not stopped. A checkpoint that belongs to another fit, or is damaged, must be refused and
// left unchanged.
#include "io/files.h"
#include "io/safetensors_format.h"
#include "session.h"
#include "temp_files.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace mercer;
using Json = nlohmann::json;

namespace {

constexpr int64_t n = 2000, d = 3;

int32_t cancel_flag = 0;
int64_t writes_left = 0; // number of checkpoints to write before the fit is cancelled
bool disk_full = false;

// Makes writes nearly free by replacing fsync, so that nearly every cycle is written to a
// checkpoint. Counts the checkpoints, and makes writes fail if disk_full is set.
void count_writes() {
    static const auto rename = system_calls().rename;
    static const auto write = system_calls().write;
    system_calls().write = [](int fd, const void *bytes, size_t count) -> ssize_t {
        errno = ENOSPC;
        return disk_full ? -1 : write(fd, bytes, count);
    };
    system_calls().fsync = [](int) { return 0; };
    system_calls().rename = [](const char *from, const char *to) {
        if (--writes_left == 0) cancel_flag = 1;
        return rename(from, to);
    };
}

// How the library learns about the rows: it reads them, or a user kernel, a matrix or a callback
// gives it distances or kernel values of pairs.
enum class Known { rows, user_kernel, matrix, callback };
struct Case {
    const char *text;
    Settings settings;
    bool f32 = false, weighted = false;
    Known known = Known::rows;
};
const std::vector<Case> &cases() {
    static const std::vector<Case> all = {
        {"f32", {}, true},
        {"f64, iterated in f32", {{"tol", "1e-11"}}},
        {"f64, weighted", {{"tol", "1e-10"}}, false, true},
        {"uncentred, f32, weighted", {{"lift.centred", "false"}}, true, true},
        {"a share of the variance", {{"components", "40"}, {"variance", "0.9"}}},
        {"orthogonal", {{"solver", "orthogonal"}, {"tol", "1e-3"}}, true},
        {"a matrix of distances", {{"tol", "1e-10"}}, false, false, Known::matrix},
        {"distances by callback", {{"tol", "1e-10"}}, false, true, Known::callback},
        {"a user kernel", {{"tol", "1e-10"}}, false, false, Known::user_kernel},
    };
    return all;
}
const Case &case_of(Known known) {
    return *std::find_if(cases().begin(), cases().end(), [&](const Case &c) { return c.known == known; });
}

double distance(const Matrix &x, int64_t i, int64_t j) { return std::sqrt(oracle::sqdist(x.row(i), x.row(j), x.cols)); }

int32_t distances_of(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const Matrix &x = *static_cast<const Matrix *>(user);
    for (int64_t k = 0; k < count; ++k) values[k] = distance(x, i[k], j[k]);
    return 0;
}

double kernel_width = 0.3; // sigma of the user kernel, which is a Gaussian
int32_t gaussian_tile(void *, const mercer_view *a, const mercer_view *b, const mercer_view *k) {
    const oracle::Pair value = oracle::gaussian(kernel_width);
    for (int64_t i = 0; i < k->rows; ++i)
        for (int64_t j = 0; j < k->cols; ++j)
            static_cast<double *>(k->data)[i * k->row_stride + j] =
                value(static_cast<double *>(a->data) + i * a->row_stride,
                      static_cast<double *>(b->data) + j * b->row_stride, a->cols);
    return 0;
}

class Fit {
  public:
    Fit(Session &session, const Case &c, const TempFolder &folder, uint64_t seed = 5)
        : session_(session), case_(c), x_(oracle::Numbers(seed).matrix(n, d)), path_(folder.path("fit.checkpoint")) {
        settings = {{"kernel", "gaussian"}, {"sigma", "0.3"}, {"solver", "block-krylov"}, {"gram.storage", "stream"}};
        if (std::none_of(c.settings.begin(), c.settings.end(), [](auto &s) { return s.first == "variance"; }))
            settings.emplace_back("components", "6");
        for (const auto &own : c.settings) {
            std::erase_if(settings, [&](auto &s) { return s.first == own.first; });
            settings.push_back(own);
        }
        if (c.known == Known::user_kernel) {
            std::erase_if(settings, [](auto &s) { return s.first == "sigma"; });
            settings[0].second = "user";
        }
        for (int64_t i = 0; c.weighted && i < n; ++i) weights.push_back(1 + static_cast<double>(i % 3));
    }
    Settings settings;
    Vector weights;
    int64_t rows = n; // number of fitted objects, if the data are objects
    Matrix &x() { return x_; }

    // Runs the fit. stop_after: cancels it after this number of checkpoints; 0: never. with_file:
    // if false, the fit writes no checkpoint, and its model is the reference.
    int32_t run(Model &out, int64_t stop_after = 0, bool with_file = true, int64_t memory = 0) {
        const bool matrix = case_.known == Known::matrix;
        Held held(matrix ? distances() : x_, {case_.f32, false});
        mercer_data *data = made_from(held);
        Matrix column(static_cast<int64_t>(weights.size()), 1);
        column.v = weights;
        Held attached(column);
        mercer_view view = attached.view();
        if (!weights.empty()) OK(mercer_data_attach(data, "weights", &view));
        mercer_recipe *recipe = session_.recipe("kpca", settings);
        const mercer_user_kernel user{sizeof user, MERCER_PSD | MERCER_THREAD_SAFE, 0, gaussian_tile, nullptr, nullptr};
        if (case_.known == Known::user_kernel) OK(mercer_recipe_set_kernel(recipe, &user));
        mercer_run run = with_threads(2);
        run.cancel = &cancel_flag;
        run.memory = memory;
        run.checkpoint = with_file ? path_.c_str() : nullptr;
        cancel_flag = 0;
        writes_left = stop_after;
        Model made;
        const int32_t status = mercer_model_fit(&made.handle, recipe, data, &run);
        mercer_recipe_destroy(recipe);
        mercer_data_destroy(data);
        out = std::move(made);
        return status;
    }

  private:
    Matrix distances() const {
        Matrix out(rows, rows);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < rows; ++j) out(i, j) = distance(x_, i, j);
        return out;
    }
    mercer_data *made_from(Held &held) {
        const mercer_view view = held.view();
        const mercer_objects objects{
            sizeof objects, rows, MERCER_DISTANCE, MERCER_THREAD_SAFE | MERCER_PSD, distances_of,
            nullptr,        &x_,  nullptr};
        mercer_data *data = nullptr;
        if (case_.known == Known::matrix) OK(mercer_data_from_matrix(&data, session_.context, &view, MERCER_DISTANCE));
        if (case_.known == Known::callback) OK(mercer_data_from_objects(&data, session_.context, &objects));
        return data ? data : session_.data(held);
    }

    Session &session_;
    const Case &case_;
    Matrix x_;
    std::string path_;
};

Json report(const Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "", &text));
    return Json::parse(text);
}

void expect_same(const Model &a, const Model &b, const char *what) {
    for (const char *name : {a.has("C") ? "C" : "indices", "A", "b", "lambda", "w"})
        expect_same_bits(a.vector(name), b.vector(name), what);
    const Json left = report(a), right = report(b);
    for (const char *key : {"passes", "residuals", "most_negative", "kernel_evaluations", "kernel_passes", "outcome"})
        TEST_ASSERT_TRUE_MESSAGE(left[key] == right[key], (std::string(what) + ": " + key).c_str());
}

void test_stopped_anywhere() {
    for (const Case &c : cases()) {
        TempFolder folder;
        Session session;
        Fit fit(session, c, folder);
        Model whole, model;
        OK(fit.run(whole, 0, false));
        const bool rounds = fit.settings.back().first == "variance"; // the solver is called several times
        TEST_ASSERT_TRUE(!rounds || whole.summary().r > 16);
        int64_t stops = 0;
        for (bool finished = false; !finished; ++stops) {
            const int32_t status = fit.run(model, stops + 1);
            finished = status == MERCER_OK; // the fit wrote at most `stops` checkpoints
            if (finished) break;
            TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_CANCELLED, status, c.text);
            TEST_ASSERT_EQUAL_STRING("fit.checkpoint", folder.names().c_str());
            OK(fit.run(model));
            expect_same(whole, model, c.text);
            TEST_ASSERT_EQUAL_STRING("fit.checkpoint", folder.names().c_str()); // the caller has to remove it
            TEST_ASSERT_EQUAL_INT(0, std::remove(folder.path("fit.checkpoint").c_str()));
        }
        TEST_ASSERT_TRUE_MESSAGE(stops >= 1, c.text);
        expect_same(whole, model, c.text); // the last run wrote checkpoints, but was not stopped
    }
}

// Each run is stopped at its second checkpoint, about one cycle after the point from which it
// resumed.
void test_stopped_again_and_again() {
    TempFolder folder;
    Session session;
    Fit fit(session, cases()[1], folder);
    Model whole, model;
    OK(fit.run(whole, 0, false));
    int64_t runs = 0;
    while (fit.run(model, 2) == MERCER_E_CANCELLED) TEST_ASSERT_TRUE(++runs < 100);
    TEST_ASSERT_TRUE(model.handle && runs >= 1);
    expect_same(whole, model, "stopped again and again");
}

void refused(Fit &fit, const TempFolder &folder, int32_t code, const char *part) {
    const std::string before = folder.read("fit.checkpoint");
    Model model;
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, fit.run(model), part);
    const std::string text = std::string(mercer_last_error()) + " must say " + part;
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), part), text.c_str());
    TEST_ASSERT_TRUE_MESSAGE(folder.read("fit.checkpoint") == before, part);
}

void test_refusals() {
    TempFolder folder;
    Session session;
    Fit fit(session, cases()[2], folder);
    Model whole, model;
    OK(fit.run(whole, 0, false));
    TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, fit.run(model, 1));

    const Settings settings = fit.settings;
    fit.settings[1].second = "0.31";
    refused(fit, folder, MERCER_E_VALUE, "sigma = 0.3 in the checkpoint, 0.31 in this fit");
    fit.settings = settings;
    fit.settings.emplace_back("seed", "2");
    refused(fit, folder, MERCER_E_VALUE, "seed");
    fit.settings = settings;
    fit.settings[2].second = "orthogonal"; // a solver with other parameters
    refused(fit, folder, MERCER_E_VALUE, "solver = block-krylov in the checkpoint, orthogonal in this fit");
    TEST_ASSERT_NULL(std::strstr(mercer_last_error(), "null"));
    fit.settings = settings;
    fit.weights[7] += 1, fit.weights[8] -= 1;
    refused(fit, folder, MERCER_E_VALUE, "weights");
    fit.weights[7] -= 1, fit.weights[8] += 1;
    const double value = fit.x()(1234, 1);
    fit.x()(1234, 1) = value * (1 + 0x1p-50);
    refused(fit, folder, MERCER_E_VALUE, "the data differ (rows)");
    fit.x()(n - 1, d - 1) = NAN;
    refused(fit, folder, MERCER_E_DATA, "NaN");
    fit.x() = oracle::Numbers(5).matrix(n, d);

    const std::string file = folder.read("fit.checkpoint");
    for (size_t length : {size_t{0}, size_t{5}, size_t{100}, file.size() / 2, file.size() - 1}) {
        folder.write("fit.checkpoint", file.substr(0, length));
        refused(fit, folder, MERCER_E_MODEL, "fit.checkpoint");
    }
    oracle::Numbers random(3);
    for (int flip = 0; flip < 40; ++flip) {
        std::string bad = file;
        const size_t at = flip < 20 ? static_cast<size_t>(random.uniform() * 1500)
                                    : static_cast<size_t>(random.uniform() * static_cast<double>(file.size()));
        bad[at] = static_cast<char>(bad[at] ^ (1 << flip % 8));
        folder.write("fit.checkpoint", bad);
        refused(fit, folder, MERCER_E_MODEL, "fit.checkpoint");
    }
    folder.write("fit.checkpoint", file);
    OK(fit.run(model));
    expect_same(whole, model, "after refusals");
}

// Objects and user kernels can be identified only by their values. A checkpoint must be refused if
// any one object has moved, or if the kernel has changed.
void test_refused_answers() {
    Session session;
    for (Known known : {Known::matrix, Known::callback}) {
        TempFolder folder;
        Fit fit(session, case_of(known), folder);
        Model model;
        TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, fit.run(model, 1));
        for (int64_t moved : {int64_t{0}, int64_t{1}, n / 2, n / 2 + 1, int64_t{1234}, n - 1}) {
            const double value = fit.x()(moved, 1);
            fit.x()(moved, 1) = value + 1e-6;
            refused(fit, folder, MERCER_E_VALUE, "the data differ (sampled pairs)");
            fit.x()(moved, 1) = value;
        }
        fit.rows = n - 2, fit.weights.resize(fit.weights.empty() ? 0 : n - 2);
        refused(fit, folder, MERCER_E_VALUE, "n = 2000 in the checkpoint, 1998 in this fit");
    }
    TempFolder folder;
    Fit fit(session, case_of(Known::user_kernel), folder);
    Model model;
    TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, fit.run(model, 1));
    kernel_width = 0.31;
    refused(fit, folder, MERCER_E_VALUE, "the data differ (values of the user kernel)");
    kernel_width = 0.3;
}

// The checkpoint belongs to this fit, and its header is consistent, but it claims to contain a
// terabyte of columns. (The file is sparse and takes no space on the disk.)
void test_hostile_sizes() {
    TempFolder folder;
    Session session;
    Fit fit(session, cases()[0], folder);
    Model model;
    TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, fit.run(model, 1));
    const std::string file = folder.read("fit.checkpoint");
    uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    auto header = nlohmann::ordered_json::parse(file.substr(8, length));
    const int64_t rows = int64_t{1} << 20, cols = int64_t{1} << 18;
    for (auto &[name, entry] : header.items()) { // all other tensors become empty
        if (name == "__metadata__") continue;
        entry["shape"] = {0}, entry["data_offsets"] = {0, 0};
        header["__metadata__"]["crc32." + name] = "00000000";
    }
    header["solver.columns.0"] = {
        {"dtype", "F32"}, {"shape", {rows, cols}}, {"data_offsets", {int64_t{0}, 4 * rows * cols}}};
    std::string text = header.dump();
    text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
    text.replace(safetensors::opening.size(), 8, safetensors::crc_of_header(text));
    length = text.size();
    folder.write("fit.checkpoint", std::string(reinterpret_cast<const char *>(&length), 8) + text);
    std::filesystem::resize_file(folder.path("fit.checkpoint"), 8 + length + static_cast<uint64_t>(4 * rows * cols));

    auto says = [&](int32_t code, const char *part, int64_t memory) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(code, fit.run(model, 0, true, memory), mercer_last_error());
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), part), mercer_last_error());
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "fit.checkpoint'"), mercer_last_error());
    };
    says(MERCER_E_BUDGET, "1099511627776 more bytes", int64_t{1} << 30);
    fit.settings[1].second = "0.31"; // the columns in another fit's file are not read
    says(MERCER_E_VALUE, "sigma = 0.3 in the checkpoint", int64_t{1} << 30);
}

// If the path cannot be written to, the fit must fail before it computes anything. If the disk
// becomes full later, the fit must continue and lose no work.
void test_nowhere_to_write() {
    static std::string warnings;
    TempFolder folder;
    Session session;
    OK(mercer_context_set_log(
        session.context, [](void *, int32_t level, const char *text) { warnings += level == 2 ? text : ""; }, nullptr));
    const Case exact = {"f64", {{"tol", "1e-11"}}};
    Model whole, model;
    std::filesystem::create_directory(folder.path("fit.checkpoint"));
    Fit fit(session, exact, folder);
    TEST_ASSERT_EQUAL_INT(MERCER_E_IO, fit.run(model));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "fit.checkpoint': Is a directory"),
                                 mercer_last_error());
    std::filesystem::remove(folder.path("fit.checkpoint"));

    OK(fit.run(whole, 0, false));
    for (int64_t stopped : {0, 1}) { // without a checkpoint, and with one to resume from
        if (stopped) TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, fit.run(model, stopped));
        const std::string before = folder.read("fit.checkpoint");
        warnings.clear();
        disk_full = true;
        const int32_t status = fit.run(model);
        disk_full = false;
        OK(status);
        expect_same(whole, model, "with a full disk");
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(warnings.c_str(), "fit.checkpoint': No space left"), warnings.c_str());
        TEST_ASSERT_TRUE(warnings.find("fit continues") == warnings.rfind("fit continues")); // only one warning
        TEST_ASSERT_TRUE(before == folder.read("fit.checkpoint"));
        TEST_ASSERT_EQUAL_STRING(stopped ? "fit.checkpoint" : "", folder.names().c_str());
    }
}

// A process that is killed at some moment must leave no checkpoint, or a complete one from which
// the fit can be resumed.
void test_killed() {
    TempFolder folder;
    Session session;
    Fit fit(session, cases()[1], folder);
    Model whole, model;
    OK(fit.run(whole, 0, false));
    for (int kill_at = 0; kill_at < 20; ++kill_at) {
        const pid_t child = fork();
        TEST_ASSERT_TRUE(child >= 0);
        if (child == 0) {
            Model lost;
            fit.run(lost);
            _exit(0);
        }
        usleep(static_cast<useconds_t>(4000 * (1 + kill_at)));
        kill(child, SIGKILL);
        int ended = 0;
        TEST_ASSERT_EQUAL_INT(child, waitpid(child, &ended, 0));
        if (kill_at % 4 == 3) {
            OK(fit.run(model));
            expect_same(whole, model, "after a kill");
            TEST_ASSERT_EQUAL_STRING("fit.checkpoint", folder.names().c_str());
        }
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    count_writes();
    UNITY_BEGIN();
    RUN_TEST(test_stopped_anywhere);
    RUN_TEST(test_stopped_again_and_again);
    RUN_TEST(test_refusals);
    RUN_TEST(test_refused_answers);
    RUN_TEST(test_hostile_sizes);
    RUN_TEST(test_nowhere_to_write);
    RUN_TEST(test_killed);
    return UNITY_END();
}
