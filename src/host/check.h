// The conformance suite of each kind of plugin, free of any test framework: tests/conformance runs it on every plugin, and
// so can whoever writes one (mercer_plugin_check).
#pragma once
#include "task.h"

namespace mercer {

// name: "kernel-gaussian", or an absolute path. Logs each check; the first that fails is E_PLUGIN.
void check_plugin(Registry &registry, const RunSettings &settings, const std::string &name);

} // namespace mercer
