// Kills processes while they write models and checkpoints. After a kill, the file must be one that
// was written completely, and a checkpoint must be at least as new as the last one before the kill.
// The next write must leave no other file in the folder. Only a file that did not exist before may
// be missing.
//
// Usage: test_kills [COUNT], where COUNT is the number of kills for each kind of file.
#include "io/files.h"
#include "lift/solver_state.h"
#include "session.h"
#include "temp_files.h"

#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace mercer;
using oracle::Numbers;

namespace {

using Model = ::Model; // the session's

int64_t kills = 250; // of each kind of file

// Starts a child that calls body(1), body(2), ... and kills it after at most 3 ms. In every other
// child fsync does nothing, so that many of the kills hit other calls.
void kill_child(Numbers &random, int64_t round, const std::function<void(int64_t)> &body) {
    int began[2];
    char byte = 0;
    TEST_ASSERT_EQUAL_INT(0, pipe(began));
    const pid_t child = fork();
    if (child == 0) {
        if (round % 2) system_calls().fsync = [](int) { return 0; };
        if (write(began[1], &byte, 1) != 1) _exit(1);
        for (int64_t turn = 1;; ++turn) body(turn);
    }
    TEST_ASSERT_TRUE(child > 0);
    TEST_ASSERT_EQUAL_INT(1, read(began[0], &byte, 1));
    usleep(static_cast<useconds_t>(3000 * random.uniform()));
    kill(child, SIGKILL);
    int status = 0;
    TEST_ASSERT_EQUAL_INT(child, waitpid(child, &status, 0));
    TEST_ASSERT_TRUE_MESSAGE(WIFSIGNALED(status), "the child ended by itself");
    close(began[0]), close(began[1]);
}

std::string saved(const Model &model, const TempFolder &folder) {
    OK(mercer_model_save(model.handle, folder.path("model").c_str()));
    return folder.read("model");
}

void test_models() {
    TempFolder folder;
    Session session;
    const Settings settings = {{"kernel", "gaussian"}, {"sigma", "1"}, {"components", "5"}, {"gram.storage", "stream"}};
    const Model small = session.fit(Numbers(1).matrix(100, 4), settings);
    const Model large = session.fit(Numbers(2).matrix(3000, 40), settings); // 1 MB
    const std::string a = saved(small, folder), b = saved(large, folder);
    Numbers random(3);
    int64_t met = 0;
    for (int64_t round = 0; round < kills; ++round) {
        // Two of eight rounds begin without a file: one calls fsync, the other does not.
        const bool none = round / 2 % 4 == 3;
        if (none) TEST_ASSERT_EQUAL_INT(0, std::remove(folder.path("model").c_str()));
        kill_child(random, round, [&](int64_t turn) {
            mercer_model_save((turn % 2 ? small : large).handle, folder.path("model").c_str());
        });
        met += folder.names() != "model";
        const std::string file = folder.read("model");
        TEST_ASSERT_TRUE(file == a || file == b || (none && !std::filesystem::exists(folder.path("model"))));
        const std::string next = saved(round % 3 ? small : large, folder);
        TEST_ASSERT_TRUE(next == (round % 3 ? a : b));
        TEST_ASSERT_EQUAL_STRING("model", folder.names().c_str());
    }
    TEST_ASSERT_TRUE_MESSAGE(met > 0, "no kill met a write");
}

// Writes checkpoints whose numbers are all equal, so that a mixture of two checkpoints would be
// noticed.
class Kept {
  public:
    explicit Kept(const TempFolder &folder)
        : path_(folder.path("fit")), run_({}, nullptr), block_(run_, rows, 3, true) {}
    void write(double value) {
        const Vector column(rows, value), numbers(10, value);
        const Columns all = columns(block_);
        for (int64_t j = 0; j < 3; ++j) block_.write(j, 0, rows, column.data());
        Checkpoint checkpoint(run_, path_, identity_);
        SolverState(checkpoint).save(numbers.data(), 10, &all, 1);
    }
    double read() {
        Vector column(rows), numbers(10);
        const Columns all = columns(block_);
        Checkpoint checkpoint(run_, path_, identity_);
        TEST_ASSERT_TRUE(SolverState(checkpoint).resume(numbers.data(), 10, &all, 1));
        for (double value : numbers) TEST_ASSERT_EQUAL_DOUBLE(numbers[0], value);
        for (int64_t j = 0; j < 3; ++j) {
            block_.read(j, 0, rows, column.data());
            for (double value : column) TEST_ASSERT_EQUAL_DOUBLE(numbers[0], value);
        }
        return numbers[0];
    }

  private:
    static constexpr int64_t rows = 5000;
    std::string path_;
    Run run_;
    Block block_;
    Json identity_ = {{"fit", "of these tests"}};
};

void test_checkpoints() {
    TempFolder folder;
    Kept kept(folder);
    Numbers random(4);
    double last = 0;
    int64_t met = 0;
    kept.write(last);
    for (int64_t round = 0; round < kills; ++round) {
        kill_child(random, round, [&](int64_t turn) { kept.write(last + static_cast<double>(turn)); });
        met += folder.names() != "fit";
        const double now = kept.read();
        TEST_ASSERT_TRUE(now >= last);
        kept.write(last = now + 1);
        TEST_ASSERT_EQUAL_STRING("fit", folder.names().c_str());
    }
    TEST_ASSERT_TRUE_MESSAGE(met > 0, "no kill met a write");
}

} // namespace

void setUp() {}
void tearDown() {}

int main(int argc, char **argv) {
    if (argc == 2) kills = std::strtoll(argv[1], nullptr, 10);
    UNITY_BEGIN();
    RUN_TEST(test_models);
    RUN_TEST(test_checkpoints);
    return UNITY_END();
}
