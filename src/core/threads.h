// The interface of threads.cpp, the only file that opens parallel regions. A process has one team
// of threads. A call that finds the team in use, that is nested, or that runs in a forked child
// performs its tasks on its own thread. Results never depend on this.
#pragma once
#include "memory.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mercer {

class Run;

// Returns the memory that parallel tasks hold at once if each of them needs `each` bytes. The upper
// bound is that of one task on every thread. If there are fewer than four tasks per thread, they
// may run one after the other, so the likely amount is that of one task.
inline Bytes held_by(int64_t threads, int64_t tasks, int64_t each) {
    return {each * (tasks < 4 * threads ? std::min<int64_t>(tasks, 1) : threads), each * std::min(threads, tasks)};
}

// The number of cores that the affinity mask allows this process to use, at least 1.
int64_t available_threads();

// This lock is held, never for long, while a thread looks up or changes what threads share through
// handles: the plugins of a context and the texts of a model. A process has only one such lock, so
// that fork() can wait for it: a child finds it free and everything behind it consistent.
std::mutex &handles_lock();

// Calls body(i) for 0 <= i < count on up to run.threads() threads, of which the calling thread is
// one. Tasks begin in ascending order (so a task may wait for one of lower index) and end in any
// order. Between tasks parallel_for checks for cancellation and reports the share of finished tasks
// as progress. If tasks throw, the exception of the lowest i is rethrown when all threads have
// stopped. If `serial` is set, all tasks run on the calling thread, in ascending order, as
// callbacks that are not thread-safe require.
void parallel_for(Run &run, int64_t count, const std::function<void(int64_t)> &body, bool serial = false);

// A pool of objects, such as scratch memory, of which each running task needs one for itself. A
// task that ends gives its object back for the next one, so there are never more objects than
// threads.
template <class Thing>
class Pool {
  public:
    using Handle = std::unique_ptr<Thing, std::function<void(Thing *)>>;
    explicit Pool(std::function<std::unique_ptr<Thing>()> make) : make_(std::move(make)) {}
    Handle take() {
        std::unique_ptr<Thing> thing;
        {
            std::lock_guard hold(lock_);
            if (!free_.empty())
                thing = std::move(free_.back()), free_.pop_back();
            else
                free_.reserve(++made_); // so that giving back does not allocate
        }
        if (!thing) thing = make_();
        auto give = [this](Thing *used) {
            std::unique_ptr<Thing> back(used);
            std::lock_guard hold(lock_);
            free_.push_back(std::move(back));
        };
        return Handle(thing.release(), give);
    }

  private:
    std::function<std::unique_ptr<Thing>()> make_;
    std::mutex lock_;
    std::vector<std::unique_ptr<Thing>> free_;
    size_t made_ = 0;
};

} // namespace mercer
