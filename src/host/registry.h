// Finds, opens and checks plugins. A file's name is its manifest (kernel-gaussian.so): listing opens nothing. A module is
// loaded when it is first named, never unloaded; its structs are widened here, once, so that nobody else looks at sizes.
#pragma once
#include "../core/params.h"

#include <mutex>

namespace mercer {

enum class Kind { kernel = MERCER_KIND_KERNEL, reducer = MERCER_KIND_REDUCER, solver = MERCER_KIND_SOLVER };
const char *kind_name(Kind kind);

// A checked module. Only the ops of its kind are filled.
struct Plugin {
    Kind kind;
    std::string name, path; // path "" = built in
    std::string version, summary, reference;
    std::shared_ptr<const ParamTable> params;
    mercer_kernel_ops kernel{};
    mercer_reducer_ops reducer{};
    mercer_solver_ops solver{};
};

// Widens and checks a module; fail() with E_PLUGIN says which rule it breaks. path is for messages.
std::shared_ptr<const Plugin> check_module(const mercer_module &module, const std::string &path);

class Registry {
  public:
    void add_folder(const std::string &folder);

    struct Listing {
        std::string name, path, aliases;
        std::shared_ptr<const Plugin> loaded; // nullptr: not named yet
    };
    // Sorted by name; a name found twice is the earlier folder's.
    std::vector<Listing> list(Kind kind);

    // By name or alias. E_NAME with the nearest known; E_PLUGIN with the reason of a refusal.
    std::shared_ptr<const Plugin> find(Kind kind, const std::string &name);
    // By absolute path, outside the folders.
    std::shared_ptr<const Plugin> load_file(const std::string &path);

  private:
    std::vector<std::string> folders() const;
    std::vector<std::string> added_;
    std::map<std::pair<Kind, std::string>, std::shared_ptr<const Plugin>> loaded_;
    std::mutex lock_; // a context belongs to one thread, but models loaded through it look up their kernels on theirs
};

} // namespace mercer
