#include "child.h"
#include "commands.h"
#include "json.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace cli {

namespace {

constexpr char child_flag[] = "--in-this-process", checking[] = "check: ", passed[] = "pass: ", absent[] = "not ",
               failed[] = "fail ";

// The absolute path of a file, with the links in its folder resolved, because the library takes no
// other path. A word that does not look like a file is the name of a plugin, and is returned as it
// is.
std::string plugin_name(const std::string &given) {
    const size_t slash = given.rfind('/');
    if (slash == std::string::npos && !given.ends_with(".so")) {
        for (const char *kind : {"kernel-", "reducer-", "solver-"})
            if (given.starts_with(kind)) return given;
        throw Failure(MERCER_E_NAME, "PLUGIN = " + given +
                                         ", must be a file such as ./kernel-own.so, or a name such as kernel-gaussian");
    }
    const std::string folder = slash == std::string::npos ? "." : given.substr(0, slash + 1);
    char real[PATH_MAX];
    if (!::realpath(folder.c_str(), real)) throw system_failure(folder, "find");
    return (std::strcmp(real, "/") == 0 ? "" : std::string(real)) + "/" + given.substr(slash + 1);
}

void report_log(void *, int32_t, const char *text) { report_to_parent(text); }

[[noreturn]] void check_in_this_process(mercer_context *context, const std::string &name, int seconds) {
    limit_child(seconds);
    auto run = sized<mercer_run>();
    run.threads = 2; // some faults show only with several threads
    check(mercer_context_set_run(context, &run));
    check(mercer_context_set_log(context, report_log, nullptr));
    const int32_t status = mercer_plugin_check(context, name.c_str());
    if (status == MERCER_OK) end_child_well();
    report_to_parent(failed + std::to_string(status) + " " + mercer_last_error());
    ::_exit(1);
}

// What went wrong in a child that did not report a failure itself; "" if nothing did.
std::string fault_of(const Child &child, int seconds) {
    if (child.timed_out) return "it did not finish within " + std::to_string(seconds) + " s (--timeout)";
    if (WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGXCPU) return "it used too much processor time";
    if (WIFSIGNALED(child.status)) return std::string("it crashed: ") + ::strsignal(WTERMSIG(child.status));
    if (!child.token || WEXITSTATUS(child.status) != 0)
        return "it ended the process, with exit status " + std::to_string(WEXITSTATUS(child.status));
    if (!child.printed.empty()) return "it wrote to standard output or error";
    if (child.left_processes) return "it left processes behind";
    return "";
}

// Throws unless the plugin that the child checked conforms. Returns the checks that it passed, and
// prints them unless `quiet`.
std::vector<std::string> judge(const std::string &name, const Child &child, int seconds, bool quiet) {
    std::vector<std::string> checks;
    std::string at = "before the first check";
    for (const std::string &line : child.lines) {
        if (line.starts_with(checking)) at = "in the check '" + line.substr(std::strlen(checking)) + "'";
        if (line.starts_with(passed)) {
            checks.push_back(line.substr(std::strlen(passed)));
            at = "after the check '" + checks.back() + "'";
            if (!quiet) std::printf("%s\n", line.c_str());
        }
        if (line.starts_with(absent) && !quiet) std::printf("%s\n", line.c_str());
        if (line.starts_with(failed)) {
            const int32_t code = std::atoi(line.c_str() + std::strlen(failed));
            const std::string text = line.substr(std::min(line.size(), line.find(' ', std::strlen(failed)) + 1));
            throw Failure(code, code == MERCER_E_PLUGIN ? "does not conform: " + text : text);
        }
    }
    const std::string fault = fault_of(child, seconds);
    if (fault.empty()) return checks;
    std::string said = child.printed.substr(0, std::min<size_t>(child.printed.find('\n'), 200));
    if (!said.empty()) said = " (it printed: " + said + ")";
    throw Failure(MERCER_E_PLUGIN, "does not conform: " + name + ": " + at + ": " + fault + said);
}

} // namespace

void plugin_check(mercer_context *context, const Words &words) {
    std::string given;
    int seconds = 60;
    bool as_json = false, in_this_process = false;
    Arguments line("plugin-check", "Runs the conformance suite on a plugin, in a separate process.", words);
    line.app()
        .add_option("PLUGIN", given, "a file, or a name such as kernel-gaussian")
        ->type_name("FILE|PLUGIN")
        ->required();
    within(line.app().add_option("--timeout", seconds, "time limit in seconds"), MERCER_INT, 1, 100000)
        ->capture_default_str();
    line.app().add_flag("--json", as_json, "print the verdict as JSON");
    line.app().add_flag(child_flag, in_this_process)->group(""); // help does not show it
    line.parse();
    if (in_this_process) check_in_this_process(context, given, seconds);

    const std::string name = plugin_name(given);
    const Child child = run_child({"plugin-check", name, "--timeout", std::to_string(seconds), child_flag}, seconds);
    std::vector<std::string> checks = judge(name, child, seconds, as_json);
    if (!as_json) {
        std::printf("conforms\n");
        return;
    }
    for (std::string &title : checks) title = json::text(title);
    std::printf(
        "%s\n",
        json::object({{"plugin", json::text(name)}, {"conforms", json::boolean(true)}, {"checks", json::array(checks)}})
            .c_str());
}

} // namespace cli
