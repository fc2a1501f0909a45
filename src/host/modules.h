// How a plugin's file becomes a module. All of dlfcn is here.
#pragma once
#include "elf.h"

#include <mercer/plugin.h>

#include <string>
#include <vector>

namespace mercer {

// Fails with E_PLUGIN where the file would be refused before it is opened: by its path, by who may write it, by its own
// contents. None of its code runs.
void inspect_module(const std::string &path);

// Inspects a file, opens it and returns its entry. A file that is open already is the same module.
const mercer_module &open_module(const std::string &path);

// Rules of the registry that the file alone can be held to.
void check_head(const ModuleHead &head, const std::string &path);

// The modules of a -Dplugins=builtin build; else empty.
std::vector<const mercer_module *> builtin_modules();

// Of this library, links followed; "" where it cannot be told.
std::string library_file();

} // namespace mercer
