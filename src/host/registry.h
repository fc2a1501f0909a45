// Finds, opens and checks plugins. The name of a file states the kind and the name of the plugin
// (kernel-gaussian.so), so plugins can be listed without opening any. A module is loaded when its
// plugin is first requested by name, and never unloaded. Its structs are converted once, here, to
// the sizes that they have in this library, so that no other code has to check their sizes.
#pragma once
#include "../core/params.h"

namespace mercer {

enum class Kind { kernel = MERCER_KIND_KERNEL, reducer = MERCER_KIND_REDUCER, solver = MERCER_KIND_SOLVER };
const char *kind_name(Kind kind);

// A checked module. Only the operations of its kind are set.
struct Plugin {
    Kind kind;
    std::string name, path; // path: "" if the plugin is built in
    std::string version, summary, reference;
    std::shared_ptr<const ParamTable> params;
    mercer_kernel_ops kernel{};
    mercer_reducer_ops reducer{};
    mercer_solver_ops solver{};
};

// Every call of an operation of a plugin goes through operate. plugin.h forbids operations to
// throw. If one throws nevertheless, operate fails with an error that names the operation, unless
// memory has run out, which is not the fault of the plugin.
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

// Converts a module to the struct sizes of this library and checks it. Fails with E_PLUGIN and a
// message that names the rule that the module breaks; path is used in messages only.
std::shared_ptr<const Plugin> check_module(const mercer_module &module, const std::string &path);

class Registry {
  public:
    void add_folder(const std::string &folder);

    struct Listing {
        std::string name, path, aliases;
        std::vector<std::string> others;      // paths of files of the same name in later folders
        std::shared_ptr<const Plugin> loaded; // nullptr if the plugin is not loaded yet
    };
    // Lists the plugins of a kind, sorted by name. If several folders contain a plugin of the same
    // name, `path` is that of the file in the first of these folders; it is "" if the plugin is
    // built in.
    std::vector<Listing> list(Kind kind);

    // A folder or file that list() considers. folders() returns the folders in the order of the
    // search, with the state "3 plugins" or "No such file ..."; files() returns the files in them
    // that end in .so, with the state "found", "the same as ...", "not the same as ...", "refused,
    // ..." or "ignored, ...". Neither function opens a module.
    struct Place {
        std::string name, path, state;
        int64_t count; // number of plugins in a folder; 0 for a file
    };
    std::vector<Place> folders();
    std::vector<Place> files();

    // Finds a plugin by name or alias, and loads it if necessary. Fails with E_NAME and the nearest
    // known name if there is no such plugin, or with E_PLUGIN and the reason if the plugin is
    // refused; one reason is that two different plugins have this name.
    std::shared_ptr<const Plugin> find(Kind kind, const std::string &name);
    // Returns "" if the plugin can be used. Otherwise it explains why not: it lists the folders,
    // none of which contains a file for the plugin, or says why its file is refused.
    std::string why_missing(Kind kind, const std::string &name);
    // Loads a plugin by its absolute path, in any folder.
    std::shared_ptr<const Plugin> load_file(const std::string &path);

  private:
    struct File {
        Kind kind;
        std::string name, path; // name: "" if the file ends in .so, but is not called KIND-NAME.so
    };
    struct Folder {
        std::string path, fault; // fault: why the folder could not be read; "" if it was read
        bool absent;             // whether the folder does not exist
        std::vector<File> files; // sorted by path
    };
    std::vector<Folder> scan() const;
    static void refuse_rivals(Kind kind, const Listing &listing);
    void explain_unknown(Kind kind, const std::string &asked);
    std::vector<std::string> added_;
    // Protected by handles_lock(): a context belongs to one thread, but models that were loaded
    // through it look up their kernels on other threads.
    std::map<std::pair<Kind, std::string>, std::shared_ptr<const Plugin>> loaded_;
};

} // namespace mercer
