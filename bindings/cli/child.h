#ifndef MERCER_CLI_CHILD_H
#define MERCER_CLI_CHILD_H

#include "arguments.h"

/* This command once more, as a child process that may crash, hang, shout and fork without harm to this one. */
namespace cli {

struct Child {
    std::vector<std::string> lines; // that it reported
    std::string printed;            // the beginning of what it wrote to standard output and error
    bool token = false;             // it returned what it can read only where nothing went wrong
    bool timed_out = false, left_processes = false;
    int status = 0; // of waitpid
};

/* Runs `mercer words...` in a process group of its own, until it ends or `seconds` are over; then nothing of it is
 * left. Its standard input is empty. */
Child run_child(const Words &words, int seconds);

/* For the child: sets limits of its own (processor time, memory beyond what it has now, files). */
void limit_child(int seconds);
/* A line for the parent. */
void report_to_parent(const std::string &line);
/* Returns the parent's token and ends the process, at once: nothing of a plugin's may run any more. */
[[noreturn]] void end_child_well();

} // namespace cli

#endif
