#include "registry.h"

#include "modules.h"

#include <plugin_aliases.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <dirent.h>

namespace mercer {
namespace {

// What a struct of ABI 0 must at least hold; later fields are widened with zeros.
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

// Rows of the generated table: {kind, alias, name}.
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

} // namespace

const char *kind_name(Kind kind) {
    switch (kind) {
    case Kind::kernel: return "kernel";
    case Kind::reducer: return "reducer";
    default: return "solver";
    }
}

std::shared_ptr<const Plugin> check_module(const mercer_module &module, const std::string &path) {
    const char *shown = path.c_str();
    if (module.abi != MERCER_PLUGIN_ABI)
        fail(MERCER_E_PLUGIN, "%s: plugin ABI %d, this library has %d", shown, module.abi, MERCER_PLUGIN_ABI);
    if (module.struct_size < static_cast<int64_t>(smallest_module))
        fail(MERCER_E_PLUGIN, "%s: module.struct_size = %" PRId64 ", must be at least %zu", shown, module.struct_size,
             smallest_module);
    if (!module.header || std::strcmp(module.header, MERCER_VERSION) != 0) // while the ABI is 0
        fail(MERCER_E_PLUGIN, "%s: built with the header of version %.40s, this library is %s", shown,
             module.header ? module.header : "?", MERCER_VERSION);
    if (module.kind < MERCER_KIND_KERNEL || module.kind > MERCER_KIND_SOLVER)
        fail(MERCER_E_PLUGIN, "%s: kind = %d is unknown", shown, module.kind);
    if (!module.name || !is_name(module.name))
        fail(MERCER_E_PLUGIN, "%s: its name must be lower-case letters, digits and '-'", shown);
    if (!module.ops) fail(MERCER_E_PLUGIN, "%s: ops is NULL", shown);
    if (module.param_count < 0 || module.param_count > 1000 || (module.param_count > 0 && !module.params) ||
        module.params_size < 0 || module.params_size > 1 << 20)
        fail(MERCER_E_PLUGIN, "%s: its parameter table is damaged", shown);

    auto plugin = std::make_shared<Plugin>();
    plugin->kind = static_cast<Kind>(module.kind);
    plugin->name = module.name;
    plugin->path = path;
    plugin->version = module.version ? module.version : "";
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
    if (folder.empty() || folder[0] != '/')
        fail(MERCER_E_VALUE, "plugin folder '%s', must be an absolute path", folder.c_str());
    std::lock_guard hold(lock_);
    added_.push_back(folder);
}

std::vector<std::string> Registry::folders() const {
    std::vector<std::string> all = added_;
    for (std::string &folder : default_plugin_folders()) all.push_back(std::move(folder));
    return all;
}

std::vector<Registry::Listing> Registry::list(Kind kind) {
    std::lock_guard hold(lock_);
    std::map<std::string, std::string> found; // name -> path
    const std::string prefix = std::string(kind_name(kind)) + "-", suffix = ".so";
    for (const mercer_module *module : builtin_modules())
        if (module->kind == static_cast<int32_t>(kind)) found.emplace(module->name, "");
    for (const std::string &folder : folders()) {
        DIR *dir = opendir(folder.c_str());
        if (!dir) continue;
        while (const dirent *entry = readdir(dir)) {
            std::string file = entry->d_name;
            if (file.size() <= prefix.size() + suffix.size() || file.compare(0, prefix.size(), prefix) != 0 ||
                file.compare(file.size() - suffix.size(), suffix.size(), suffix) != 0)
                continue;
            std::string name = file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
            if (is_name(name)) found.emplace(name, folder + "/" + file);
        }
        closedir(dir);
    }
    std::vector<Listing> out;
    for (auto &[name, path] : found) {
        std::string aliases;
        for (const std::string &alias : aliases_of(kind, name)) aliases += (aliases.empty() ? "" : " ") + alias;
        auto loaded = loaded_.find({kind, name});
        out.push_back({name, path, aliases, loaded == loaded_.end() ? nullptr : loaded->second});
    }
    return out;
}

std::shared_ptr<const Plugin> Registry::find(Kind kind, const std::string &asked) {
    const std::string name = resolve_alias(kind, asked);
    {
        std::lock_guard hold(lock_);
        auto loaded = loaded_.find({kind, name});
        if (loaded != loaded_.end()) return loaded->second;
    }
    std::vector<std::string> known;
    for (const Listing &listing : list(kind)) {
        known.push_back(listing.name);
        for (const std::string &alias : aliases_of(kind, listing.name)) known.push_back(alias);
        if (listing.name != name) continue;
        std::shared_ptr<const Plugin> plugin;
        if (listing.path.empty()) {
            for (const mercer_module *module : builtin_modules())
                if (module->kind == static_cast<int32_t>(kind) && name == module->name)
                    plugin = check_module(*module, "");
        } else {
            plugin = load_file(listing.path);
        }
        std::lock_guard hold(lock_);
        return loaded_.emplace(std::pair(kind, name), plugin).first->second;
    }
    if (std::string ignored = ignored_plugin_folder(); !ignored.empty())
        fail(MERCER_E_NAME, "unknown %s '%.80s'; of MERCER_PLUGIN_PATH '%.200s' is ignored, folders must be absolute",
             kind_name(kind), asked.c_str(), ignored.c_str());
    fail_unknown(kind_name(kind), asked, known);
}

std::shared_ptr<const Plugin> Registry::load_file(const std::string &path) {
    std::shared_ptr<const Plugin> plugin = check_module(open_module(path), path);
    std::string file = path.substr(path.rfind('/') + 1);
    std::string expected = std::string(kind_name(plugin->kind)) + "-" + plugin->name + ".so";
    if (file != expected)
        fail(MERCER_E_PLUGIN, "%s: it says it is '%s', so its file must be %s", path.c_str(), plugin->name.c_str(),
             expected.c_str());
    return plugin;
}

} // namespace mercer
