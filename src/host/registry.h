// Finds, opens and checks plugins. A file's name is its manifest (kernel-gaussian.so): listing opens nothing. A module is
// loaded when it is first named, never unloaded; its structs are widened here, once, so that nobody else looks at sizes.
#pragma once
#include "../core/params.h"

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

// Every call of a plugin's operation. plugin.h forbids an operation to throw; one that does so all the same is named, except
// that memory which ran out is nobody's fault.
[[noreturn]] void fail_thrown(const Plugin &plugin, const char *operation, const char *text);
template <class F>
auto operate(const Plugin &plugin, const char *operation, F &&body) {
    try {
        return body();
    } catch (const Error &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &e) {
        fail_thrown(plugin, operation, e.what());
    } catch (...) {
        fail_thrown(plugin, operation, nullptr);
    }
}

// Widens and checks a module; fail() with E_PLUGIN says which rule it breaks. path is for messages.
std::shared_ptr<const Plugin> check_module(const mercer_module &module, const std::string &path);

class Registry {
  public:
    void add_folder(const std::string &folder);

    struct Listing {
        std::string name, path, aliases;
        std::vector<std::string> others;      // paths of files of the same name in later folders
        std::shared_ptr<const Plugin> loaded; // nullptr: not named yet
    };
    // Sorted by name. Of copies of one file the earlier folder's is listed.
    std::vector<Listing> list(Kind kind);

    // Where list() looked, in its order: the folders, each with what it holds ("3 plugins", "No such file ..."), and the
    // files in them that end in .so ("found", "the same as ...", "not the same as ...", "refused, ..."). Opens none.
    struct Place {
        std::string name, path, state;
        int64_t count; // of plugins in a folder
    };
    std::vector<Place> folders();
    std::vector<Place> files();

    // By name or alias. E_NAME with the nearest known; E_PLUGIN with the reason of a refusal: two different plugins of
    // that name are one.
    std::shared_ptr<const Plugin> find(Kind kind, const std::string &name);
    // "" or why that plugin is not to be had: where its file was looked for, or why it is refused.
    std::string why_missing(Kind kind, const std::string &name);
    // By absolute path, outside the folders.
    std::shared_ptr<const Plugin> load_file(const std::string &path);

  private:
    // A file KIND-NAME.so, or (name "") another one that ends in .so. Sorted by name within a folder.
    struct File {
        Kind kind;
        std::string name, path;
    };
    struct Folder {
        std::string path, fault; // why nothing is to be found here
        bool absent;
        std::vector<File> files;
    };
    std::vector<Folder> scan() const;
    static void refuse_rivals(Kind kind, const Listing &listing);
    void explain_unknown(Kind kind, const std::string &asked);
    std::vector<std::string> added_;
    // Behind handles_lock(): a context belongs to one thread, but models loaded through it look up their kernels on theirs.
    std::map<std::pair<Kind, std::string>, std::shared_ptr<const Plugin>> loaded_;
};

} // namespace mercer
