#include "failure.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <mercer/mercer.h>

namespace cli {

namespace {

std::map<std::string, std::string> &names_of_paths() {
    static std::map<std::string, std::string> names;
    return names;
}

} // namespace

void call_in_messages(const std::string &path, const std::string &name) { names_of_paths()[path] = name; }

void check(int32_t status) {
    // Only a signal can have cancelled the call: nothing else in this command cancels calls.
    if (status == MERCER_E_CANCELLED) throw Failure(status, "interrupted");
    if (status == MERCER_OK) return;
    std::string text = mercer_last_error();
    for (const auto &[path, name] : names_of_paths())
        if (const size_t at = text.find(path); at != std::string::npos) text.replace(at, path.size(), name);
    throw Failure(status, text);
}

Failure system_failure(const std::string &path, const std::string &action) {
    const int error = errno;
    // The path is a standard stream that was closed when the command began (see
    // hold_standard_streams).
    if (error == EBADF) return {MERCER_E_IO, path + " is closed"};
    return {MERCER_E_IO, path + ": cannot " + action + ": " + std::strerror(error)};
}

int exit_code(int32_t status) {
    switch (status) {
    case MERCER_OK: return 0;
    case MERCER_E_ARGUMENT:
    case MERCER_E_NAME:
    case MERCER_E_VALUE:
    case MERCER_E_UNSUPPORTED: return 2;
    case MERCER_E_DATA:
    case MERCER_E_SHAPE: return 3;
    case MERCER_E_MODEL:
    case MERCER_E_PLUGIN: return 4;
    case MERCER_E_NUMERICAL: return 5;
    case MERCER_E_BUDGET:
    case MERCER_E_MEMORY: return 6;
    case MERCER_E_CANCELLED: return 7;
    case MERCER_E_CALLBACK: // the command's callbacks do nothing but read and write files
    case MERCER_E_IO: return 8;
    default: return 1; // MERCER_E_INTERNAL: a defect of the library
    }
}

} // namespace cli
