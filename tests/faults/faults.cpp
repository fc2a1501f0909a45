// faults SCENARIO: plays the scenario again and again, with one fault each time. Allocations are
// grouped into places by their callers. At each place the first and the second allocation fail, and
// also the first together with all that follow until the library's function returns. Every system
// call fails with each error, or transfers fewer bytes than requested. Each time, a call that
// fails must report the fault by the right status and text, the scenario must end with the same
// result as without a fault, and no block or descriptor may be lost. A process that ends at its
// fault counts as a defect as well; the next process continues after this fault.
// faults SCENARIO first: each system call fails in a process that has made no call yet, when
// modules are opened and threads are tested for the first time.
#include "scene.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <filesystem>
#include <map>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Phase {
    const char *name;
    int kind, lasting, error;
};
constexpr Phase phases[] = {
    {"alone", ALLOCATION, 0, 0},     {"lasting", ALLOCATION, 1, 0}, {"EIO", CALL, 0, EIO},
    {"ENOSPC", CALL, 0, ENOSPC},     {"EINTR", CALL, 0, EINTR},     {"EACCES", CALL, 0, EACCES},
    {"short", CALL, 0, SHORT_COUNT},
};
constexpr int64_t most_defects = 20;

// Memory that parent and child share.
struct Shared {
    size_t phase;
    int64_t nth;
    int64_t struck[std::size(phases)], refused[std::size(phases)], allocations, places, defects;
    bool done;
    int64_t opened, started; // failed attempts to open a module, and to start a thread
    char calls[400];
};

struct Played {
    int64_t allocations = 0, calls = 0, lost = 0;
    int descriptor = 0; // the lowest free number
    uint64_t digest = 0;
    int32_t answered = MERCER_OK;
    std::string defect;
    bool met = false;
};

Played play(const Scenario &scenario, const std::string &folder, const fault &armed) {
    Played out;
    const int64_t before = faults_live();
    faults_arm(&armed);
    {
        Scene scene(folder, armed);
        try {
            scenario.play(scene);
        } catch (const Defect &defect) {
            out.defect = defect.text;
        }
        faults_watch(0);
        out.digest = scene.digest();
        out.answered = scene.answered();
    }
    out.met = faults_met();
    out.allocations = faults_seen(ALLOCATION);
    out.calls = faults_seen(CALL);
    for (const auto &entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove_all(entry.path());
    out.descriptor = dup(STDERR_FILENO);
    close(out.descriptor);
    out.lost = faults_live() - before - (out.defect.capacity() > 15);
    return out;
}

std::string describe(const Scenario &scenario, const Shared &shared) {
    return std::string(scenario.name) + ", " + phases[shared.phase].name + " " + std::to_string(shared.nth);
}

class Child {
  public:
    Child(const Scenario &scenario, std::string folder, Shared &shared)
        : scenario_(scenario), folder_(std::move(folder)), shared_(shared) {}

    void run() {
        // The first plays create the tables that live as long as the process.
        for (int k = 0; k < 3; ++k) usual_ = play(scenario_, folder_, {});
        if (!usual_.defect.empty()) return tell("without a fault", usual_);
        if (usual_.lost != 0) return tell("without a fault, blocks are lost", usual_);
        note_places();
        for (; shared_.phase < std::size(phases); ++shared_.phase, shared_.nth = 1)
            for (; shared_.defects < most_defects && (is_known() || strike()); ++shared_.nth) {
            }
        std::string list;
        for (const auto &[name, count] : by_call_) list += " " + name + " " + std::to_string(count);
        std::snprintf(shared_.calls, sizeof shared_.calls, "%s", list.c_str());
        shared_.done = true;
    }

    // Runs in a new process for each system call: the scenario is played with this call failing and
    // then without a fault, and both plays must give the same result.
    void run_first() {
        ++shared_.nth;
        const Played played = play(scenario_, folder_, {CALL, 0, shared_.nth, EIO, 0});
        const std::string name = played.met ? faults_name() : "";
        const bool hid = faults_hid_a_folder();
        shared_.done = !played.met;
        if (!played.met) return;
        shared_.opened += name == "dlopen";
        shared_.started += name == "pthread_create";
        usual_ = play(scenario_, folder_, {});
        if (!played.defect.empty() || !usual_.defect.empty())
            tell((name + " fails the first time").c_str(), played.defect.empty() ? usual_ : played);
        else if (played.digest != usual_.digest && !hid)
            tell((name + " fails the first time, another result").c_str(), played);
    }

  private:
    void note_places() {
        std::vector<uint64_t> places(static_cast<size_t>(usual_.allocations));
        faults_note_places(places.data(), usual_.allocations);
        play(scenario_, folder_, {});
        faults_note_places(nullptr, 0);
        std::map<uint64_t, int64_t> before;
        for (uint64_t place : places) times_.push_back(++before[place]);
        shared_.allocations = usual_.allocations;
        shared_.places = static_cast<int64_t>(before.size());
    }
    // True for an allocation at a place where enough allocations have failed already.
    bool is_known() const {
        const Phase &phase = phases[shared_.phase];
        const auto at = static_cast<size_t>(shared_.nth - 1);
        return phase.kind == ALLOCATION && at < times_.size() && times_[at] > (phase.lasting ? 1 : 2);
    }
    // Returns false if there is no allocation or call of this number.
    bool strike() {
        const Phase &phase = phases[shared_.phase];
        const fault armed = {phase.kind, phase.lasting, shared_.nth, phase.error, 0};
        Played played = play(scenario_, folder_, armed);
        if (!played.met) return false;
        ++shared_.struck[shared_.phase];
        shared_.refused[shared_.phase] += played.answered != MERCER_OK;
        if (phase.error == EIO) ++by_call_[faults_name()];
        // Blocks that live as long as the process may seem lost the first time, so the fault is
        // played again.
        if (played.lost != 0 || played.descriptor != usual_.descriptor) played = again(armed);
        if (!played.defect.empty())
            tell("", played);
        else if (played.digest != usual_.digest && !faults_hid_a_folder())
            tell("another result", played);
        else if (played.lost != 0)
            tell("blocks are lost", played);
        else if (played.descriptor != usual_.descriptor)
            tell("a descriptor is lost", played);
        usual_.descriptor = played.descriptor;
        return true;
    }

    Played again(const fault &armed) {
        usual_.descriptor = play(scenario_, folder_, {}).descriptor;
        faults_trace(1);
        Played played = play(scenario_, folder_, armed);
        if (played.lost != 0) faults_print_lost();
        faults_trace(0);
        return played;
    }

    void tell(const char *what, const Played &played) {
        std::fprintf(stderr, "DEFECT %s (%s): %s %s, %ld blocks more\n", describe(scenario_, shared_).c_str(),
                     played.met ? faults_name() : "", what, played.defect.c_str(), static_cast<long>(played.lost));
        void *const *stack;
        const int depth = faults_stack(&stack);
        if (played.met) backtrace_symbols_fd(stack, depth, STDERR_FILENO);
        ++shared_.defects;
    }

    const Scenario &scenario_;
    const std::string folder_;
    Shared &shared_;
    Played usual_;
    std::vector<int64_t> times_; // the number of each allocation among those at its place
    std::map<std::string, int64_t> by_call_;
};

void report(const Scenario &scenario, const Shared &shared) {
    std::printf("%s: %ld allocations at %ld places", scenario.name, static_cast<long>(shared.allocations),
                static_cast<long>(shared.places));
    for (size_t k = 0; k < std::size(phases); ++k)
        std::printf(", %s %ld (refused %ld)", phases[k].name, static_cast<long>(shared.struck[k]),
                    static_cast<long>(shared.refused[k]));
    std::printf("; calls:%s; %ld defects\n", shared.calls, static_cast<long>(shared.defects));
}

Shared &shared_from(int file) {
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return *static_cast<Shared *>(memory);
}

// Runs the child by fork and exec: without exec the library would open no parallel region in it.
int in_child(const Scenario &scenario, int file, const std::string &folder, const char *first) {
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "faults", scenario.name, std::to_string(file).c_str(), folder.c_str(), first, nullptr);
        std::_Exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// Prints the stack before the signal ends the process.
void last_words(int number) {
    void *stack[DEPTH];
    backtrace_symbols_fd(stack, backtrace(stack, DEPTH), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

// Creates a folder, in memory if possible, where fsync is fast. Returns "" if it cannot.
std::string new_folder() {
    std::string folder = "/dev/shm/mercer-faults-XXXXXX";
    return mkdtemp(folder.data()) || mkdtemp((folder = "/tmp/mercer-faults-XXXXXX").data()) ? folder : "";
}

bool has_met_enough(const Scenario &scenario, const Shared &shared, bool first) {
#ifdef MERCER_BUILTIN_PLUGINS
    const int64_t modules = 0;
#else
    const int64_t modules = 1;
#endif
    if (first) return shared.opened >= modules && shared.started >= 1;
    return std::min(shared.places, shared.struck[1]) >= scenario.places && shared.struck[2] >= scenario.calls;
}

bool run(const Scenario &scenario, bool first) {
    const int file = memfd_create("faults", 0);
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return std::perror("memfd_create"), false;
    Shared &shared = shared_from(file);
    shared.nth = first ? 0 : 1;
    const std::string folder = new_folder();
    if (folder.empty()) return std::perror("mkdtemp"), false;
    while (!shared.done && shared.defects < most_defects) {
        const int status = in_child(scenario, file, folder, first ? "first" : nullptr);
        if (status == 0 && first) continue;
        if (status == 0) break;
        std::fprintf(stderr, "DEFECT %s: the process ends with status %d\n", describe(scenario, shared).c_str(),
                     status);
        ++shared.defects;
        if (!first) ++shared.nth;
    }
    std::filesystem::remove_all(folder);
    if (first)
        std::printf("%s: %ld first calls, %ld modules, %ld threads in vain; %ld defects\n", scenario.name,
                    static_cast<long>(shared.nth - 1), static_cast<long>(shared.opened),
                    static_cast<long>(shared.started), static_cast<long>(shared.defects));
    else
        report(scenario, shared);
    if (shared.defects == 0 && !has_met_enough(scenario, shared, first))
        return std::printf("too few: %s has lost its way\n", scenario.name), false;
    return shared.done && shared.defects == 0;
}

} // namespace

// The parent is called as faults SCENARIO [first], the child as faults SCENARIO FILE FOLDER
// [first], where FILE is the descriptor of the shared memory.
int main(int argc, char **argv) {
    faults_begin();
    for (const Scenario &scenario : scenarios) {
        if (argc < 2 || std::strcmp(argv[1], scenario.name) != 0) continue;
        const bool first = std::strcmp(argv[argc - 1], "first") == 0;
        if (argc == (first ? 3 : 2)) return !run(scenario, first);
        for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) signal(number, last_words);
        Child child(scenario, argv[3], shared_from(std::atoi(argv[2])));
        first ? child.run_first() : child.run();
        std::_Exit(0);
    }
    std::fprintf(stderr, "there is no such scenario\n");
    return 2;
}
