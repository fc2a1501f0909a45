#ifndef MERCER_CLI_FAILURE_H
#define MERCER_CLI_FAILURE_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cli {

// The exception that ends a command, with a status code of mercer.h and one line of text.
struct Failure : std::runtime_error {
    Failure(int32_t status, const std::string &text) : std::runtime_error(text), code(status) {}
    int32_t code;
};

// Thrown after the command has printed what it was asked for: its help, or the words to which its
// last word can be completed.
struct HelpShown {};

// Throws a Failure with the library's text unless status is MERCER_OK.
void check(int32_t status);

// From now on, check() replaces `path` by `name` in the library's texts, because the user knows
// nothing of a temporary file.
void call_in_messages(const std::string &path, const std::string &name);

// The failure of a system call, described by errno: "Z.npy: cannot write: No space left on device".
Failure system_failure(const std::string &path, const std::string &action);

int exit_code(int32_t status);

} // namespace cli

#endif
