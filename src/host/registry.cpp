#include "registry.h"

#include "../core/threads.h"
#include "modules.h"
#include "places.h"

#include <plugin_aliases.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <dirent.h>

namespace mercer {
namespace {

// The smallest struct sizes that ABI 0 allows. Fields beyond them that a plugin does not have are
// set to zero.
constexpr size_t smallest_module = offsetof(mercer_module, ops) + sizeof(void *);
constexpr size_t smallest_kernel = offsetof(mercer_kernel_ops, facts) + sizeof(void *);
constexpr size_t smallest_reducer = offsetof(mercer_reducer_ops, reduce) + sizeof(void *);
constexpr size_t smallest_solver = offsetof(mercer_solver_ops, solve) + sizeof(void *);

template <class Ops>
Ops widen_ops(const mercer_module &module, const std::string &path, size_t smallest) {
    Ops ops{};
    int64_t size = *static_cast<const int64_t *>(module.ops);
    if (size < static_cast<int64_t>(smallest))
        fail(MERCER_E_PLUGIN, "%s: ops.struct_size = %" PRId64 ", must be at least %zu", path.c_str(), size, smallest);
    std::memcpy(&ops, module.ops, static_cast<size_t>(std::min<int64_t>(size, sizeof ops)));
    return ops;
}

void need(bool present, const std::string &path, const char *op) {
    if (!present) fail(MERCER_E_PLUGIN, "%s: the operation '%s' is missing", path.c_str(), op);
}

void check_kernel(Plugin &plugin, const mercer_module &module, const std::string &path) {
    plugin.kernel = widen_ops<mercer_kernel_ops>(module, path, smallest_kernel);
    const mercer_kernel_ops &ops = plugin.kernel;
    if (ops.form < MERCER_DOT || ops.form > MERCER_BLOCK)
        fail(MERCER_E_PLUGIN, "%s: form = %d, must be MERCER_DOT to MERCER_BLOCK", path.c_str(), ops.form);
    need(ops.facts, path, "facts");
    need(ops.form != MERCER_BLOCK || ops.block, path, "block");
}

// The rows of the generated table are {kind, alias, name}.
std::vector<std::string> aliases_of(Kind kind, const std::string &name) {
    std::vector<std::string> out;
    for (auto row = mercer_plugin_aliases; (*row)[0]; ++row)
        if (std::strcmp((*row)[0], kind_name(kind)) == 0 && name == (*row)[2]) out.push_back((*row)[1]);
    return out;
}

std::string resolve_alias(Kind kind, const std::string &asked) {
    for (auto row = mercer_plugin_aliases; (*row)[0]; ++row)
        if (std::strcmp((*row)[0], kind_name(kind)) == 0 && asked == (*row)[1]) return (*row)[2];
    return asked;
}

// Refuses names that a recipe understands in another way: the kernel "user", the reducer "all", the
// solver "auto", and aliases of other plugins.
void check_unreserved(Kind kind, const std::string &name, const std::string &path) {
    const char *own = kind == Kind::kernel ? "user" : kind == Kind::reducer ? "all" : "auto";
    if (name == own)
        fail(MERCER_E_PLUGIN, "%s: the name of the %s '%s' is reserved by the library", path.c_str(), kind_name(kind),
             own);
    if (const std::string meant = resolve_alias(kind, name); meant != name)
        fail(MERCER_E_PLUGIN, "%s: the name '%s' is an alias of '%s'", path.c_str(), name.c_str(), meant.c_str());
}

constexpr char suffix[] = ".so", bad_name[] = "a name is lower-case letters, digits and '-'";

// "kernel-gaussian.so" -> kernel, "gaussian". The name is "" if the file name is not that of a
// plugin.
std::pair<Kind, std::string> parse_file(const std::string &file) {
    for (Kind kind : {Kind::kernel, Kind::reducer, Kind::solver}) {
        const std::string prefix = std::string(kind_name(kind)) + "-";
        if (file.rfind(prefix, 0) != 0) continue;
        const std::string name = file.substr(prefix.size(), file.size() - prefix.size() - std::strlen(suffix));
        if (is_name(name)) return {kind, name};
    }
    return {Kind::kernel, ""};
}

} // namespace

const char *kind_name(Kind kind) {
    switch (kind) {
    case Kind::kernel: return "kernel";
    case Kind::reducer: return "reducer";
    default: return "solver";
    }
}

void check_head(const ModuleHead &head, const std::string &path) {
    const char *shown = path.c_str();
    if (head.abi != MERCER_PLUGIN_ABI)
        fail(MERCER_E_PLUGIN, "%s: plugin ABI %d, but this library has %d", shown, head.abi, MERCER_PLUGIN_ABI);
    if (head.struct_size < static_cast<int64_t>(smallest_module))
        fail(MERCER_E_PLUGIN, "%s: module.struct_size = %" PRId64 ", must be at least %zu", shown, head.struct_size,
             smallest_module);
    if (head.kind < MERCER_KIND_KERNEL || head.kind > MERCER_KIND_SOLVER)
        fail(MERCER_E_PLUGIN, "%s: kind = %d is unknown", shown, head.kind);
}

std::shared_ptr<const Plugin> check_module(const mercer_module &module, const std::string &path) {
    const char *shown = path.c_str();
    check_head({module.struct_size, module.abi, module.kind}, path);
    // While the ABI is 0, it may change with every version, so the versions must be equal.
    if (!module.header || std::strcmp(module.header, MERCER_VERSION) != 0)
        fail(MERCER_E_PLUGIN, "%s: built with the header of version %.40s, but this library is %s", shown,
             module.header ? module.header : "?", MERCER_VERSION);
    if (!module.name || !is_name(module.name))
        fail(MERCER_E_PLUGIN, "%s: its name must be lower-case letters, digits and '-'", shown);
    check_unreserved(static_cast<Kind>(module.kind), module.name, path);
    if (!module.ops) fail(MERCER_E_PLUGIN, "%s: ops is NULL", shown);
    if (module.param_count < 0 || module.param_count > 1000 || (module.param_count > 0 && !module.params) ||
        module.params_size < 0 || module.params_size > 1 << 20)
        fail(MERCER_E_PLUGIN, "%s: its parameter table is damaged", shown);

    auto plugin = std::make_shared<Plugin>();
    plugin->kind = static_cast<Kind>(module.kind);
    plugin->name = module.name;
    plugin->path = path;
    plugin->version = module.version ? module.version : "";
    std::replace_if(
        plugin->version.begin(), plugin->version.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    plugin->summary = module.summary ? module.summary : "";
    plugin->reference = module.reference ? module.reference : "";
    plugin->params = std::make_shared<ParamTable>(shown, module.params, module.param_count, module.params_size);
    switch (plugin->kind) {
    case Kind::kernel: check_kernel(*plugin, module, path); break;
    case Kind::reducer:
        plugin->reducer = widen_ops<mercer_reducer_ops>(module, path, smallest_reducer);
        need(plugin->reducer.forecast, path, "forecast");
        need(plugin->reducer.reduce, path, "reduce");
        break;
    case Kind::solver:
        plugin->solver = widen_ops<mercer_solver_ops>(module, path, smallest_solver);
        need(plugin->solver.forecast, path, "forecast");
        need(plugin->solver.solve, path, "solve");
        break;
    }
    return plugin;
}

void Registry::add_folder(const std::string &folder) {
    if (const std::string fault = path_fault(folder); !fault.empty())
        fail(MERCER_E_VALUE, "plugin folder '%.400s' %s", folder.c_str(), fault.c_str());
    std::lock_guard hold(handles_lock());
    added_.push_back(folder);
}

void fail_thrown(const Plugin &plugin, const char *operation, const char *text) {
    fail(MERCER_E_PLUGIN, "%s %s: %s threw an exception%s%s", kind_name(plugin.kind), plugin.name.c_str(), operation,
         text ? ": " : "", text ? text : "");
}

std::vector<Registry::Folder> Registry::scan() const {
    std::vector<Folder> out;
    for (const std::string &folder : added_) out.push_back({folder, "", false, {}});
    for (PluginFolder &folder : default_plugin_folders())
        out.push_back(
            {std::move(folder.path), folder.fault.empty() ? "" : "a plugin folder " + folder.fault, false, {}});
    for (Folder &folder : out) {
        if (!folder.fault.empty()) continue;
        std::unique_ptr<DIR, int (*)(DIR *)> opened(opendir(folder.path.c_str()), closedir);
        if (!opened && errno == ENOMEM) throw std::bad_alloc();
        if (!opened) folder.absent = errno == ENOENT, folder.fault = std::strerror(errno);
        const dirent *entry = nullptr;
        while (opened && (errno = 0, entry = readdir(opened.get()))) {
            const std::string file = entry->d_name;
            if (file.size() <= std::strlen(suffix) || file.substr(file.size() - std::strlen(suffix)) != suffix)
                continue;
            auto [kind, name] = parse_file(file);
            folder.files.push_back({kind, name, folder.path + "/" + file});
        }
        if (opened && errno) folder.fault = std::strerror(errno);
        std::sort(folder.files.begin(), folder.files.end(),
                  [](const File &a, const File &b) { return a.path < b.path; });
    }
    return out;
}

std::vector<Registry::Place> Registry::folders() {
    std::lock_guard hold(handles_lock());
    std::vector<Place> out;
    for (const Folder &folder : scan()) {
        const auto count = std::count_if(folder.files.begin(), folder.files.end(),
                                         [](const File &file) { return !file.name.empty(); });
        const std::string found = std::to_string(count) + (count == 1 ? " plugin" : " plugins");
        out.push_back({folder.path, folder.path, folder.fault.empty() ? found : folder.fault, count});
    }
    return out;
}

std::vector<Registry::Place> Registry::files() {
    std::lock_guard hold(handles_lock());
    // The path of the first file found for each plugin, with which later files are compared.
    std::map<std::pair<Kind, std::string>, std::string> first;
    for (const mercer_module *module : builtin_modules())
        first.emplace(std::pair(static_cast<Kind>(module->kind), module->name), "the one built in");
    std::vector<Place> out;
    for (const Folder &folder : scan())
        for (const File &file : folder.files) {
            if (file.name.empty()) {
                const std::string base = file.path.substr(file.path.rfind('/') + 1);
                out.push_back({base, file.path, std::string("ignored, ") + bad_name, 0});
                continue;
            }
            std::string state = "found";
            try {
                inspect_module(file.path);
            } catch (const Error &e) {
                state = std::string(e.what()).substr(std::min(file.path.size() + 2, std::strlen(e.what())));
            }
            auto [at, is_first] = first.emplace(std::pair(file.kind, file.name), file.path);
            if (!is_first)
                state = (same_file(at->second, file.path) ? "the same as " : "not the same as ") + at->second;
            out.push_back({std::string(kind_name(file.kind)) + "-" + file.name, file.path, state, 0});
        }
    return out;
}

std::vector<Registry::Listing> Registry::list(Kind kind) {
    std::lock_guard hold(handles_lock());
    std::map<std::string, std::vector<std::string>> found; // the paths of each name
    for (const mercer_module *module : builtin_modules())
        if (module->kind == static_cast<int32_t>(kind)) found[module->name] = {""};
    for (const Folder &folder : scan())
        for (const File &file : folder.files)
            if (file.kind == kind && !file.name.empty()) found[file.name].push_back(file.path);
    std::vector<Listing> out;
    for (auto &[name, paths] : found) {
        std::string aliases;
        for (const std::string &alias : aliases_of(kind, name)) aliases += (aliases.empty() ? "" : " ") + alias;
        auto loaded = loaded_.find({kind, name});
        out.push_back({name,
                       paths[0],
                       aliases,
                       {paths.begin() + 1, paths.end()},
                       loaded == loaded_.end() ? nullptr : loaded->second});
    }
    return out;
}

// Fails with an explanation if a folder could not be searched or a file was ignored that may be the
// one that the caller meant.
void Registry::explain_unknown(Kind kind, const std::string &asked) {
    std::lock_guard hold(handles_lock());
    const std::string wanted = std::string("/") + kind_name(kind) + "-" + asked + suffix;
    for (const Folder &folder : scan()) {
        if (!folder.fault.empty() && !folder.absent)
            fail(MERCER_E_NAME, "unknown %s '%.80s'; the folder '%.400s' was not searched: %s", kind_name(kind),
                 asked.c_str(), folder.path.c_str(), folder.fault.c_str());
        for (const File &file : folder.files)
            if (file.name.empty() && file.path == folder.path + wanted)
                fail(MERCER_E_NAME, "unknown %s '%.80s'; '%.600s' is ignored: %s", kind_name(kind), asked.c_str(),
                     file.path.c_str(), bad_name);
    }
}

// Refuses a name that two different plugins have, because it is unknown which of them is meant.
// Copies of one file in several folders are allowed.
void Registry::refuse_rivals(Kind kind, const Listing &listing) {
    for (const std::string &other : listing.others)
        if (!same_file(listing.path, other))
            fail(MERCER_E_PLUGIN,
                 "two different plugins are called %s '%s', %.300s and %.300s: remove or rename one, or take its "
                 "folder out of MERCER_PLUGIN_PATH",
                 kind_name(kind), listing.name.c_str(),
                 listing.path.empty() ? "the one built in" : listing.path.c_str(), other.c_str());
}

std::shared_ptr<const Plugin> Registry::find(Kind kind, const std::string &asked) {
    const std::string name = resolve_alias(kind, asked);
    {
        std::lock_guard hold(handles_lock());
        auto loaded = loaded_.find({kind, name});
        if (loaded != loaded_.end()) return loaded->second;
    }
    std::vector<std::string> known;
    for (const Listing &listing : list(kind)) {
        known.push_back(listing.name);
        for (const std::string &alias : aliases_of(kind, listing.name)) known.push_back(alias);
        if (listing.name != name) continue;
        refuse_rivals(kind, listing);
        std::shared_ptr<const Plugin> plugin;
        if (listing.path.empty()) {
            for (const mercer_module *module : builtin_modules())
                if (module->kind == static_cast<int32_t>(kind) && name == module->name)
                    plugin = check_module(*module, "");
        } else {
            plugin = load_file(listing.path);
        }
        std::lock_guard hold(handles_lock());
        return loaded_.emplace(std::pair(kind, name), plugin).first->second;
    }
    explain_unknown(kind, asked);
    fail_unknown(kind_name(kind), asked, known);
}

std::string Registry::why_missing(Kind kind, const std::string &name) {
    const std::string what = std::string("the ") + kind_name(kind) + " '" + name + "' ";
    try {
        find(kind, name);
        return "";
    } catch (const Error &e) {
        if (e.code() == MERCER_E_PLUGIN) return what + "cannot be used: " + e.what();
        if (e.code() != MERCER_E_NAME) throw;
    }
    std::string folders;
    std::lock_guard hold(handles_lock());
    for (const Folder &folder : scan()) {
        folders += (folders.empty() ? "" : ", ") + folder.path;
        if (!folder.fault.empty() && !folder.absent) folders += " (" + folder.fault + ")";
    }
    return what + "is not installed: there is no " + kind_name(kind) + "-" + resolve_alias(kind, name) + suffix +
           " in " + (folders.empty() ? "any folder" : folders);
}

std::shared_ptr<const Plugin> Registry::load_file(const std::string &path) {
    std::shared_ptr<const Plugin> plugin = check_module(open_module(path), path);
    std::string file = path.substr(path.rfind('/') + 1);
    std::string expected = std::string(kind_name(plugin->kind)) + "-" + plugin->name + ".so";
    if (file != expected)
        fail(MERCER_E_PLUGIN, "%s: its name is '%s', so its file must be named %s", path.c_str(), plugin->name.c_str(),
             expected.c_str());
    return plugin;
}

} // namespace mercer
