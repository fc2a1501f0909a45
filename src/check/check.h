// The conformance suite of each kind of plugin. The suites need no test framework:
// tests/conformance runs them on every plugin, and authors of plugins can run them too
// (mercer_plugin_check). The counter-based generator makes all data, so a suite logs the same lines
// on every machine.
#pragma once
#include "../host/task.h"

#include <functional>

namespace mercer {

// Runs the suite of one plugin, whose name is, for example, "kernel-gaussian", or an absolute path.
// Each check is logged; the first one that fails ends the suite with E_PLUGIN.
void check_plugin(Registry &registry, const RunSettings &settings, const std::string &name);

// ---- for the suites

// Returns a number in [0, 1) that depends only on a and b. All test data are made of such numbers.
inline double check_number(int64_t a, int64_t b) { return Random(2026, Stage::gram).uniform(a, b); }

// Values of the plugin's parameters. check_settings returns the settings with which a plugin is
// tested: first all parameters at their defaults; then for each parameter in turn a few values
// inside its range (or each choice), with all others at their defaults; then, three times, all
// parameters at once, but at most one of each group, whose members exclude one another.
struct Setting {
    Params params;
    std::string text; // "defaults", "sigma = 0.7"
};
std::vector<Setting> check_settings(const Plugin &plugin);

// Thrown where a plugin breaks its contract. Suite::check adds the names of the plugin, the check
// and the case to the message.
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
    // check throws is reported as a fault of the plugin (E_PLUGIN), unless memory ran out or the
    // caller cancelled.
    void check(const char *title, const std::function<void()> &body);
    // Sets the name of the case that is being checked, for messages: "f32, d = 3, sigma = 0.7".
    void on(std::string what) { case_ = std::move(what); }
    void note(const std::string &text) const { run.log(1, text.c_str()); }
    // Throws Broken unless `status`, which an operation returned, is MERCER_OK.
    void need(int32_t status, const mercer_task &task, const char *operation) const;

  private:
    std::string case_;
};

void check_kernel(Suite &suite);
void check_reducer(Suite &suite);
void check_solver(Suite &suite);

} // namespace mercer
