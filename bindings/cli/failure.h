#ifndef MERCER_CLI_FAILURE_H
#define MERCER_CLI_FAILURE_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cli {

/* What ends a command: one of mercer.h's status codes and one line of text. */
struct Failure : std::runtime_error {
    Failure(int32_t status, const std::string &text) : std::runtime_error(text), code(status) {}
    int32_t code;
};

/* The command was asked for its help, or how its last word may go on, and has printed that. */
struct HelpShown {};

/* Throws the library's own text unless status is MERCER_OK. */
void check(int32_t status);

/* From now on, check() writes `name` where the library's text has `path`: the user knows nothing of a temporary file. */
void call_in_messages(const std::string &path, const std::string &name);

/* A failure of the operating system, told by errno: "Z.npy: cannot write: No space left on device". */
Failure system_failure(const std::string &path, const std::string &action);

int exit_code(int32_t status);

} // namespace cli

#endif
