// Tests that any object with a state can store it in a checkpoint. A loop over blocks that is
// killed after any block and then resumed must give the same bits. The states in a file must not
// affect each other, and a state that belongs to another job or is incomplete must be refused.
#include "fit/fit_rows.h"
#include "io/files.h"
#include "model/checkpoint.h"
#include "oracle.h"
#include "temp_files.h"
#include "unity_cpp.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace mercer;
using oracle::Matrix;

namespace {

constexpr int64_t blocks = 6, block_rows = 120, columns = 3, kept = 4;

Recipe recipe() {
    static const auto registry = std::make_shared<Registry>();
    Recipe out(registry, "kpca");
    out.set("sigma", "1");
    out.set("components", std::to_string(kept));
    return out;
}

RunSettings settings() {
    RunSettings out;
    out.run.threads = 1;
    return out;
}

const Json job = {{"job", "of these tests"}, {"rows", blocks *block_rows}};

// Fits the blocks one after the other. The state is the number of finished blocks, and sums of
// their eigenvalues that depend on the order of the blocks.
class Blocks : public CheckpointState {
  public:
    explicit Blocks(Run &run) : run_(run), sums_(std::move(run.buffer<double>(kept).zero())) {}
    int64_t done = 0;
    const Buffer<double> &sums() const { return sums_; }

    void run(Checkpoint *checkpoint, const std::function<void()> &after_block) {
        const Matrix x = oracle::clusters(blocks * block_rows, columns);
        for (; done < blocks;) {
            Run child(run_, int64_t{64} << 20, 1);
            Data data;
            data.source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, block_rows, columns, columns, 1,
                                            const_cast<double *>(x.row(done * block_rows))});
            const Fitted fitted = fit_rows(child, recipe(), data);
            for (int64_t j = 0; j < kept; ++j)
                sums_[j] = sums_[j] / 3 + tensor_data<double>(fitted.lifted.tensors.at("lambda"))[j];
            ++done;
            if (checkpoint) checkpoint->save();
            after_block();
        }
    }
    Json identity() const override { return record({{"blocks", blocks}}); }
    void store(Json &values, TensorViews &tensors) const override {
        values["done"] = done;
        TensorView &view = tensors["sums"];
        view.dtype = MERCER_F64, view.rows = kept, view.vector = true, view.data = sums_.data(), view.bytes = 8 * kept;
    }
    void restore(const Json &values, std::map<std::string, Tensor> tensors) override {
        done = values.at("done").get<int64_t>();
        const Tensor &sums = tensors["sums"];
        if (sums.dtype != MERCER_F64 || sums.rows != kept) fail(MERCER_E_MODEL, "the sums are missing");
        std::copy_n(tensor_data<double>(sums), kept, sums_.data());
    }

  private:
    Run &run_;
    Buffer<double> sums_;
};

// A state that consists of a number and has no tensors.
struct Count : CheckpointState {
    int64_t value = 0;
    std::string kind = "calls";
    Json identity() const override { return record({{"kind", kind}}); }
    void store(Json &values, TensorViews &) const override { values["value"] = value; }
    void restore(const Json &values, std::map<std::string, Tensor>) override {
        value = values.at("value").get<int64_t>();
    }
};

// Runs the loop in a child process, which kills itself as soon as `last` blocks are done.
void killed_after(const std::string &path, int64_t last) {
    const pid_t child = fork();
    TEST_ASSERT_TRUE(child >= 0);
    if (child == 0) {
        Run run(settings(), nullptr);
        Checkpoint checkpoint(run, path, job);
        Blocks loop(run);
        Count calls;
        const Checkpoint::Section first = checkpoint.add("blocks", loop), second = checkpoint.add("calls", calls);
        calls.value = 100 + loop.done;
        loop.run(&checkpoint, [&] {
            calls.value = 100 + loop.done;
            if (loop.done == last) raise(SIGKILL);
        });
        _exit(1);
    }
    int status = 0;
    TEST_ASSERT_EQUAL_INT(child, waitpid(child, &status, 0));
    TEST_ASSERT_TRUE_MESSAGE(WIFSIGNALED(status), "the process ended by itself");
}

void expect_same(const Buffer<double> &a, const Buffer<double> &b) {
    TEST_ASSERT_EQUAL_MEMORY(a.data(), b.data(), static_cast<size_t>(8 * kept));
}

void test_loop_over_blocks() {
    Run run(settings(), nullptr);
    Blocks whole(run);
    whole.run(nullptr, [] {});
    for (int64_t k = 1; k <= blocks; ++k) {
        const TempFolder folder;
        const std::string path = folder.path("job");
        killed_after(path, k);
        if (k > 2 && k < blocks) killed_after(path, k + 1); // killed again, after it has resumed
        Checkpoint checkpoint(run, path, job);
        Blocks loop(run);
        const Checkpoint::Section section = checkpoint.add("blocks", loop);
        TEST_ASSERT_TRUE(loop.done >= 1 && loop.done <= std::min(k + 1, blocks)); // the first save always writes
        int64_t fitted = 0;
        const int64_t before = loop.done;
        loop.run(&checkpoint, [&] { ++fitted; });
        TEST_ASSERT_EQUAL_INT64(blocks - before, fitted);
        expect_same(whole.sums(), loop.sums());
        Count calls; // stored together with the loop, but not yet registered in this run
        const Checkpoint::Section other = checkpoint.add("calls", calls);
        TEST_ASSERT_TRUE(calls.value >= 100 && calls.value < 100 + blocks);
    }
}

// A state that an earlier run left must stay in the file until a run registers a state of this
// name. A state that is no longer registered must not be written.
void test_states_side_by_side() {
    const TempFolder folder;
    const std::string path = folder.path("job");
    Run run(settings(), nullptr);
    Count a, b;
    a.value = 7;
    {
        Checkpoint checkpoint(run, path, job);
        const Checkpoint::Section section = checkpoint.add("a", a);
        { const Checkpoint::Section gone = checkpoint.add("gone", b); }
        checkpoint.save();
    }
    {
        Checkpoint checkpoint(run, path, job);
        b.value = 9;
        const Checkpoint::Section section = checkpoint.add("b", b);
        checkpoint.save();
    }
    Checkpoint checkpoint(run, path, job);
    Count first, second, gone;
    gone.value = -1;
    const Checkpoint::Section sections[] = {checkpoint.add("a", first), checkpoint.add("b", second),
                                            checkpoint.add("gone", gone)};
    TEST_ASSERT_EQUAL_INT64(7, first.value);
    TEST_ASSERT_EQUAL_INT64(9, second.value);
    TEST_ASSERT_EQUAL_INT64(-1, gone.value);
}

template <class Body>
void refused(int32_t code, const char *part, Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(code, error.code(), error.what());
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(error.what(), part), error.what());
        return;
    }
    TEST_FAIL_MESSAGE(part);
}

void test_refusals() {
    const TempFolder folder;
    const std::string path = folder.path("job");
    Run run(settings(), nullptr);
    Count count;
    {
        Checkpoint checkpoint(run, path, job);
        const Checkpoint::Section section = checkpoint.add("blocks", count);
        checkpoint.save();
    }
    refused(MERCER_E_VALUE, "rows = 720 in the checkpoint, 719 in this fit", [&] {
        Checkpoint(run, path, record({{"job", job["job"]}, {"rows", 719}}));
    });
    refused(MERCER_E_VALUE, "kind = calls in the checkpoint, seconds in this fit", [&] {
        Checkpoint checkpoint(run, path, job);
        Count other;
        other.kind = "seconds";
        checkpoint.add("blocks", other);
    });
    struct Greedy : Count { // asks for a value that was not stored
        void restore(const Json &values, std::map<std::string, Tensor>) override {
            value = values.at("more").get<int64_t>();
        }
    } greedy;
    refused(MERCER_E_MODEL, "the state 'blocks' is incomplete",
            [&] { Checkpoint(run, path, job).add("blocks", greedy); });
    struct Wanting : Count { // asks for a tensor that was not stored
        void restore(const Json &, std::map<std::string, Tensor>) override {
            fail(MERCER_E_MODEL, "the sums are missing");
        }
    } wanting;
    refused(MERCER_E_MODEL, "job': the sums are missing", [&] { Checkpoint(run, path, job).add("blocks", wanting); });
}

// Complete files in another format must be refused: one in the format of the first version, and
// files made by hand. The last file is correct.
void test_other_formats() {
    const TempFolder folder;
    const std::string path = folder.path("job");
    Run run(settings(), nullptr);
    const double number = 1;
    TensorView view;
    view.dtype = MERCER_F64, view.rows = 1, view.vector = true, view.data = &number, view.bytes = 8;
    auto written = [&](const Json &text, const char *tensor) {
        replace_file(path, [&](const Writer &write) { write_safetensors(write, text.dump(), {{tensor, view}}); });
    };
    auto open = [&] { Checkpoint(run, path, job); };
    written(record({{"fit", job}, {"checkpoint", record({{"ask", 10}})}}), "solver.state");
    refused(MERCER_E_MODEL, "in another format: remove it", open);
    const Json none = Json::object(), empty = record({{"identity", none}, {"values", none}});
    written(record({{"checkpoint", 2}, {"fit", job}, {"sections", none}}), "solver.state");
    refused(MERCER_E_MODEL, "a tensor that belongs to no state", open);
    written(record({{"checkpoint", 2}, {"fit", job}, {"sections", record({{"solver", empty}})}}), "solver");
    refused(MERCER_E_MODEL, "a tensor that belongs to no state", open);
    written(record({{"checkpoint", 2}, {"fit", job}}), "solver.state");
    refused(MERCER_E_MODEL, "its text is incomplete", open);
    written(record({{"checkpoint", 2}, {"fit", job}, {"sections", record({{"solver", none}})}}), "solver.state");
    refused(MERCER_E_MODEL, "its text is incomplete", open);
    written(record({{"checkpoint", 2}, {"fit", job}, {"sections", record({{"solver", empty}})}}), "solver.state");
    open();
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    system_calls().fsync = [](int) { return 0; }; // makes writes fast, so that nearly every block is saved
    UNITY_BEGIN();
    RUN_TEST(test_loop_over_blocks);
    RUN_TEST(test_states_side_by_side);
    RUN_TEST(test_refusals);
    RUN_TEST(test_other_formats);
    return UNITY_END();
}
