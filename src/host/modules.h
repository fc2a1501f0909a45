// Opens the file of a plugin as a module. dlfcn is used only in modules.cpp.
#pragma once
#include "elf.h"

#include <mercer/plugin.h>

#include <string>
#include <vector>

namespace mercer {

// Fails with E_PLUGIN if the file would be refused before it is opened: because of its path, of who
// may write to it, or of its contents. None of its code runs.
void inspect_module(const std::string &path);

// Inspects a file, opens it and returns its entry. A file that is already open gives the same
// module.
const mercer_module &open_module(const std::string &path);

// Checks the rules of the registry that need only the file.
void check_head(const ModuleHead &head, const std::string &path);

// The modules that a build with -Dplugins=builtin contains; otherwise none.
std::vector<const mercer_module *> builtin_modules();

// The path of this library with links resolved; "" if it is unknown.
std::string library_file();

} // namespace mercer
