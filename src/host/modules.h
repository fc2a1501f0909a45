// Opens the file of a plugin as a module. dlfcn is used only in modules.cpp.
#pragma once
#include "elf.h"

#include <mercer/plugin.h>

#include <string>
#include <vector>

namespace mercer {

// Runs the checks that precede opening a module, without running any of its code. Fails with
// E_PLUGIN if the file is refused because of its path, of who may write to it, or of its contents.
void inspect_module(const std::string &path);

// Inspects a file, opens it and returns its symbol mercer_plugin. For a file that was opened
// before, it returns the same module.
const mercer_module &open_module(const std::string &path);

// Checks the ABI, the struct size and the kind of a module. These numbers can be read from its
// file, before the module is opened. registry.cpp defines this function, because it also applies
// the check to modules that are open or built in.
void check_head(const ModuleHead &head, const std::string &path);

// Returns the modules that are built in with -Dplugins=builtin; in any other build there are none.
std::vector<const mercer_module *> builtin_modules();

// Returns the path of this library with links resolved, or "" if it is unknown.
std::string library_file();

} // namespace mercer
