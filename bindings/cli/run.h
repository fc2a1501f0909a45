#ifndef MERCER_CLI_RUN_H
#define MERCER_CLI_RUN_H

#include "arguments.h"
#include "handles.h"

#include <string>

namespace cli {

/* How fast a call has been lately: its share at two earlier moments, the older of which is at least ten seconds back once a call
 * lasts so long. */
struct Pace {
    double elapsed[2] = {0, 0}, share[2] = {0, 0};
    double line_at = 10; // seconds of the call when the next line of progress is due
};

/* What a long call runs with: threads, memory, the progress bar and the interrupt key. While one of these exists the
 * first SIGINT, SIGTERM, SIGHUP or SIGXCPU asks the call to stop, the second ends the process. */
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

/* The same run for the library alone, while the command itself holds so many bytes for `what`: they count too. */
mercer_run run_beside(const mercer_run &run, double bytes, const std::string &what);

/* Throws MERCER_E_CANCELLED once a signal has asked to stop. */
void check_cancelled();

/* Removes the progress bar from the terminal, before something else is written there. */
void clear_progress();

} // namespace cli

#endif
