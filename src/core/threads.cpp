#include "threads.h"

#include "run.h"

#include <atomic>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace mercer {
namespace {

std::mutex team;                  // held by the one call whose region is open
thread_local bool inside = false; // this thread is in a region of ours
std::atomic<bool> forked{false};  // libgomp hangs in a forked child, whoever opened regions before the fork
std::mutex handles;
const int at_fork =
    pthread_atfork([] { handles.lock(); }, [] { handles.unlock(); }, [] { handles.unlock(), forked = true; });
std::atomic<int64_t> proved{1}; // how many threads the system has been seen to give us

// libgomp ends the process when it cannot create a thread, so plain ones are tried first, once per larger team. BLAS has its
// first buffer before that: each thread takes 8 MiB of addresses for its stack and up to 128 MiB for its allocations, and where
// these leave nothing for BLAS, one thread alone gets further.
int64_t prove(int64_t wanted) {
    int64_t have = proved.load();
    if (wanted <= have) return wanted;
    if (!blas_has_room()) return 1;
    std::vector<std::thread> probes;
    std::atomic<bool> go{false};
    try {
        for (int64_t t = 1; t < wanted; ++t)
            probes.emplace_back([&go] {
                while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
            });
    } catch (...) {
    }
    go.store(true, std::memory_order_release);
    for (std::thread &probe : probes) probe.join();
    int64_t got = static_cast<int64_t>(probes.size()) + 1;
    if (got == wanted) proved.store(wanted);
    return got;
}

class Loop {
  public:
    Loop(Run &run, int64_t count, const std::function<void(int64_t)> &body) : run(run), count(count), body(body) {}

    // What one thread of the team does.
    void work() {
        for (;;) {
            int64_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= count || i > failed_at.load(std::memory_order_relaxed))
                return; // lower ones still run: the first failure is told
            if (run.stopped(static_cast<double>(done.load(std::memory_order_relaxed)) / static_cast<double>(count))) {
                cancelled = true;
                return;
            }
            try {
                body(i);
            } catch (...) {
                std::lock_guard hold(lock);
                if (i < failed_at) failed_at = i, failure = std::current_exception();
            }
            done.fetch_add(1, std::memory_order_relaxed);
        }
    }

    void finish() {
        if (failure) std::rethrow_exception(failure);
        if (cancelled) run.progress(1);
    }

  private:
    Run &run;
    int64_t count;
    const std::function<void(int64_t)> &body;
    std::atomic<int64_t> next{0}, done{0};
    std::mutex lock;
    std::atomic<int64_t> failed_at{INT64_MAX};
    std::exception_ptr failure;
    std::atomic<bool> cancelled{false};
};

} // namespace

std::mutex &handles_lock() { return handles; }

int64_t available_threads() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
}

void parallel_for(Run &run, int64_t count, const std::function<void(int64_t)> &body, bool serial) {
    if (count <= 0) return;
    Loop loop(run, count, body);
    int64_t threads = serial ? 1 : std::min(run.threads(), count);
    std::unique_lock<std::mutex> hold;
    if (threads > 1 && !inside && !forked) hold = std::unique_lock(team, std::try_to_lock);
    if (hold.owns_lock()) {
#pragma omp parallel num_threads(static_cast <int>(prove(threads)))
        {
            const Budget::Scope counting(run.budget().get());
            inside = true;
            loop.work();
            inside = false;
        }
    } else {
        loop.work();
    }
    loop.finish();
}

} // namespace mercer
