#ifndef MERCER_CLI_CHILD_H
#define MERCER_CLI_CHILD_H

#include "arguments.h"

// Runs this command once more as a child process, which may crash, hang, print or fork without harm
// to this process.
namespace cli {

struct Child {
    std::vector<std::string> lines; // the lines that the child sent by report_to_parent()
    std::string printed;            // the beginning of what it wrote to standard output and error
    // Whether the child sent the token back, which proves that end_child_well() was reached.
    bool token = false;
    bool timed_out = false, left_processes = false;
    int status = 0; // as waitpid() gives it
};

// Runs `mercer words...` in a process group of its own until it ends or `seconds` are over, then
// kills whatever processes it has left. The standard input of the child is empty.
Child run_child(const Words &words, int seconds);

// Called in the child: limits its processor time, its files, and its memory beyond what it uses
// already.
void limit_child(int seconds);
// Called in the child: sends one line to the parent.
void report_to_parent(const std::string &line);
// Called in the child: sends the token back to the parent and ends the process at once, so that no
// code of a plugin runs any more.
[[noreturn]] void end_child_well();

} // namespace cli

#endif
