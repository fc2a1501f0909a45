// The only file that opens parallel regions. One team at a time in a process: a call that finds it taken, that is nested,
// or that runs in a forked child does its tasks itself. Results never depend on which.
#pragma once
#include "memory.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mercer {

class Run;

// What tasks hold together that need so many bytes each: few of them may come one after the other.
inline Bytes held_by(int64_t threads, int64_t tasks, int64_t each) {
    return {each * (tasks < 4 * threads ? std::min<int64_t>(tasks, 1) : threads), each * std::min(threads, tasks)};
}

// Cores this process may use (affinity), at least 1.
int64_t available_threads();

// Held, never for long, while threads look up or change what they share through handles: the plugins of a context, the
// texts of a model. One for the process, so that fork() can wait for it: a child finds it free, and all behind it whole.
std::mutex &handles_lock();

// body(i) for 0 <= i < count, in any order, on up to run.threads() threads; the calling thread is one of them. Between
// tasks it asks for cancel and reports done / count. The first exception (lowest i) is rethrown when all have stopped.
// serial: on the calling thread alone, in ascending order (what callbacks that are not thread-safe need).
void parallel_for(Run &run, int64_t count, const std::function<void(int64_t)> &body, bool serial = false);

// Things that tasks need one each of, such as scratch memory: handed on from task to task, so there are as many as threads.
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
                free_.reserve(++made_); // giving back must not allocate
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
