// The conformance suite of each kind of plugin. The suites need no test framework:
// tests/conformance runs them on every plugin, and authors of plugins can run them too
// (mercer_plugin_check). The counter-based generator makes all data, so a suite gives the same
// lines on every machine.
#pragma once
#include "../host/task.h"

#include <functional>

namespace mercer {

// Runs the suite of one plugin. name: "kernel-gaussian", or an absolute path. Logs each check; the
// first that fails is E_PLUGIN.
void check_plugin(Registry &registry, const RunSettings &settings, const std::string &name);

// ---- for the suites

// Numbers to test with, in [0, 1).
inline double check_number(int64_t a, int64_t b) { return Random(2026, Stage::gram).uniform(a, b); }

// The settings of the plugin's parameters to test: all at their defaults; then one row at a value
// inside its range (each choice in turn); then all rows at once, with at most one row of each
// group.
struct Setting {
    Params params;
    std::string text; // "defaults", "sigma = 0.7"
};
std::vector<Setting> check_settings(const Plugin &plugin);

// Thrown where a plugin breaks its contract; Suite adds the plugin, the check and the case.
class Broken : public Error {
  public:
    using Error::Error;
};
[[noreturn]] void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Formats a status: "it returned 3 (MERCER_E_VALUE): sigma = -1, must be > 0".
std::string returned(const char *what, int32_t status, const std::string &error);

class Suite {
  public:
    Suite(Run &run, std::shared_ptr<const Plugin> plugin) : run(run), plugin(std::move(plugin)) {}

    Run &run;
    std::shared_ptr<const Plugin> plugin;

    // Runs one check, and logs "check: title" before it and "pass: title" after it. Whatever the
    // check throws counts as a fault of the plugin, E_PLUGIN, unless memory ran out or the caller
    // cancelled.
    void check(const char *title, const std::function<void()> &body);
    // Names the case that the check is working on, for messages: "f32, d = 3, sigma = 0.7".
    void on(std::string what) { case_ = std::move(what); }
    void note(const std::string &text) const { run.log(1, text.c_str()); }
    // Throws Broken unless the status that an operation returned is 0.
    void need(int32_t status, const mercer_task &task, const char *operation) const;

  private:
    std::string case_;
};

void check_kernel(Suite &suite);
void check_reducer(Suite &suite);
void check_solver(Suite &suite);

} // namespace mercer
