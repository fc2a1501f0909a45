// What a module's file tells before it is opened: none of its code has run yet.
#pragma once
#include <cstdint>
#include <string>

namespace mercer {

// The fields of mercer_module that no relocation fills, in its order: they stand in the file as they are.
struct ModuleHead {
    int64_t struct_size;
    int32_t abi, kind;
};

// Fails with E_PLUGIN where the file is no whole ELF shared object of this library's own kind of machine, wants an
// executable stack or writable code, or does not define the data symbol mercer_plugin.
ModuleHead read_module_file(const std::string &path, int fd);

// What the linker has made of all that is loaded: the same before and after symbols are stripped. "": it made none, or this
// is no such file.
std::string read_build_id(const std::string &path, int fd);

} // namespace mercer
