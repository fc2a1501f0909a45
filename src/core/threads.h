// The only file that opens parallel regions. One team at a time in a process: a call that finds it taken, that is nested,
// or that runs in a forked child does its tasks itself. Results never depend on which.
#pragma once
#include "error.h"

#include <functional>

namespace mercer {

class Run;

// Cores this process may use (affinity), at least 1.
int64_t available_threads();

// body(i) for 0 <= i < count, in any order, on up to run.threads() threads; the calling thread is one of them. Between
// tasks it asks for cancel and reports done / count. The first exception (lowest i) is rethrown when all have stopped.
void parallel_for(Run &run, int64_t count, const std::function<void(int64_t)> &body);

} // namespace mercer
