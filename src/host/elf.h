// Reads what the file of a module shows before dlopen opens it, that is, before any of its code
// runs.
#pragma once
#include <cstdint>
#include <string>

namespace mercer {

// The first fields of mercer_module, in the same order. They hold no addresses, which would be
// filled in only when the module is loaded, so the file contains their values.
struct ModuleHead {
    int64_t struct_size;
    int32_t abi, kind;
};

// Reads the head of a module from its file. Fails with E_PLUGIN if the file is not a complete ELF
// shared object for the same kind of machine as this library, requires an executable stack or
// writable code, or does not define the data symbol mercer_plugin.
ModuleHead read_module_file(const std::string &path, int fd);

// Returns the build ID, which the linker computes from all parts that are loaded; stripping symbols
// does not change it. Returns "" if the file has no build ID or is not an ELF file of this kind.
std::string read_build_id(const std::string &path, int fd);

} // namespace mercer
