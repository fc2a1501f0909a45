// The operating system's side of plugins: where they may lie, and how a file becomes a module. All of dlfcn is here.
#pragma once
#include <mercer/plugin.h>

#include <string>
#include <vector>

namespace mercer {

// MERCER_PLUGIN_PATH (ignored when setuid), the user's data folder, and the folder "mercer" beside this library.
std::vector<std::string> default_plugin_folders();

// The first relative entry of MERCER_PLUGIN_PATH, which is not looked at; "" = none.
std::string ignored_plugin_folder();

// Opens a file and returns its entry. Refused with E_PLUGIN, before any of its code runs: a relative path, a symbolic
// link, no regular file, a file or folder that others may write.
const mercer_module &open_module(const std::string &path);

// The modules of a -Dplugins=builtin build; else empty.
std::vector<const mercer_module *> builtin_modules();

} // namespace mercer
