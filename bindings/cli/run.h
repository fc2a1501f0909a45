#ifndef MERCER_CLI_RUN_H
#define MERCER_CLI_RUN_H

#include "arguments.h"
#include "handles.h"

#include <string>

namespace cli {

// The recent speed of a call: the time and the share of the work done at two earlier moments. The
// older one is at least ten seconds back, once the call has lasted that long.
struct Pace {
    double elapsed[2] = {0, 0}, share[2] = {0, 0};
    // The time of the call, in seconds, at which the next line of progress is due.
    double line_at = 10;
};

// What a long call runs with: threads, memory budget, progress and cancellation. While a Run
// exists, the first SIGINT, SIGTERM, SIGHUP or SIGXCPU asks the call to stop, and the second ends
// the process.
class Run {
  public:
    explicit Run(const RunOptions &options, const char *checkpoint = nullptr);
    ~Run();
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    const mercer_run *get() const { return &run_; }

  private:
    mercer_run run_;
    Pace pace_;
};

// The same run, for a call of the library while the command itself holds `bytes` of memory for
// `what`: they are subtracted from the budget. Throws Failure if they exceed it.
mercer_run run_beside(const mercer_run &run, double bytes, const std::string &what);

// Throws MERCER_E_CANCELLED once a signal has asked to stop.
void check_cancelled();

// Removes the progress bar from the terminal before other text is written there.
void clear_progress();

} // namespace cli

#endif
