// The conformance suite of each kind of plugin, free of any test framework: tests/conformance runs it on every plugin,
// and so can whoever writes one (mercer_plugin_check). All data are made by the counter-based generator: a suite gives
// the same lines on every machine.
#pragma once
#include "../host/task.h"

#include <functional>

namespace mercer {

// name: "kernel-gaussian", or an absolute path. Logs each check; the first that fails is E_PLUGIN.
void check_plugin(Registry &registry, const RunSettings &settings, const std::string &name);

// ---- for the suites

// Numbers to test with, in [0, 1).
inline double check_number(int64_t a, int64_t b) { return Random(2026, Stage::gram).uniform(a, b); }

// The plugin's parameters: all at their defaults, then one row at a value of its interior (each choice in turn), then
// all rows at once, at most one of a group.
struct Setting {
    Params params;
    std::string text; // "defaults", "sigma = 0.7"
};
std::vector<Setting> check_settings(const Plugin &plugin);

// What a broken contract throws; Suite says which plugin and check it was, and on which case.
class Broken : public Error {
  public:
    using Error::Error;
};
[[noreturn]] void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

// "it returned 3 (MERCER_E_VALUE): sigma = -1, must be > 0"
std::string returned(const char *what, int32_t status, const std::string &error);

class Suite {
  public:
    Suite(Run &run, std::shared_ptr<const Plugin> plugin) : run(run), plugin(std::move(plugin)) {}

    Run &run;
    std::shared_ptr<const Plugin> plugin;

    // Runs one check and logs "check: title" before it, "pass: title" after. What it throws is the plugin's fault, E_PLUGIN, unless memory ran out or
    // the caller cancelled.
    void check(const char *title, const std::function<void()> &body);
    // What the check is working on, for messages: "f32, d = 3, sigma = 0.7".
    void on(std::string what) { case_ = std::move(what); }
    void note(const std::string &text) const { run.log(1, text.c_str()); }
    // An operation returned status: broken unless it is 0.
    void need(int32_t status, const mercer_task &task, const char *operation) const;

  private:
    std::string case_;
};

void check_kernel(Suite &suite);
void check_reducer(Suite &suite);
void check_solver(Suite &suite);

} // namespace mercer
