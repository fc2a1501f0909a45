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

std::mutex team;                  // held by the call whose parallel region is open
thread_local bool inside = false; // this thread is inside a parallel region of this library
// True in a forked child, which opens no parallel region, because libgomp would hang if a region
// had been opened before the fork.
std::atomic<bool> forked{false};
std::mutex handles;
const int at_fork =
    pthread_atfork([] { handles.lock(); }, [] { handles.unlock(); }, [] { handles.unlock(), forked = true; });
std::atomic<int64_t> proved{1}; // number of threads that the system is known to grant

// Returns how many of the wanted threads the system grants. libgomp ends the process if it cannot
// create a thread; therefore a team that is larger than any before is first created from plain
// threads. BLAS gets its first buffer before that, because each thread takes 8 MiB of address space
// for its stack and up to 128 MiB for its allocations. If BLAS cannot get a buffer, the call runs
// on one thread, which leaves BLAS the most address space.
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

    // The work of one thread of the team.
    void work() {
        for (;;) {
            int64_t i = next.fetch_add(1, std::memory_order_relaxed);
            // Tasks with a lower index than a failed one still run, so that the failure with the
            // lowest index is reported, whatever the number of threads is.
            if (i >= count || i > failed_at.load(std::memory_order_relaxed)) return;
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
