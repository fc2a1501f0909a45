#include "commands.h"
#include "json.h"
#include "report.h"

#include <cerrno>
#include <fcntl.h>
#include <skeletons.h>
#include <unistd.h>

namespace cli {

namespace {

struct Plugin {
    std::string kind;
    Entry entry;
    std::string refusal; // the reason why the library refuses it; "": it does not
};

// Loads every plugin, because its version, or the reason why it is refused, is known only then.
std::vector<Plugin> load_plugins(mercer_context *context) {
    std::vector<Plugin> plugins;
    for (const char *registry : {"kernels", "reducers", "solvers"})
        for (const Entry &listed : entries_of(context, registry)) {
            Plugin plugin = {singular(registry), listed, ""};
            try {
                plugin.entry = find_entry(context, registry, listed.name);
            } catch (const Failure &failure) {
                plugin.refusal = failure.what();
            }
            plugins.push_back(plugin);
        }
    return plugins;
}

void print_plugins(const std::vector<Plugin> &plugins) {
    Cells cells;
    for (const Plugin &plugin : plugins) {
        const Entry &entry = plugin.entry;
        const std::string where = entry.path.empty() ? "built in" : entry.path;
        cells.push_back(
            {plugin.kind, entry.name, entry.aliases, entry.version, plugin.refusal.empty() ? where : plugin.refusal});
    }
    print_table(stdout, cells, "lllll");
}

void print_trace(const std::vector<Entry> &folders, const std::vector<Entry> &files) {
    for (const Entry &folder : folders) {
        std::printf("\n%s: %s\n", folder.path.c_str(), folder.summary.c_str());
        Cells cells;
        for (const Entry &file : files)
            if (file.path.substr(0, file.path.rfind('/')) == folder.path)
                cells.push_back({"  " + file.path.substr(folder.path.size() + 1), file.summary});
        print_table(stdout, cells, "ll");
    }
}

std::string places_json(const std::vector<Entry> &places) {
    std::vector<std::string> items;
    for (const Entry &place : places)
        items.push_back(json::object({{"name", json::text(place.name)},
                                      {"path", json::text(place.path)},
                                      {"state", json::text(place.summary)}}));
    return json::array(items);
}

std::string plugins_json(const std::vector<Plugin> &plugins) {
    std::vector<std::string> items;
    for (const auto &[kind, entry, refusal] : plugins) {
        std::vector<std::string> aliases;
        for (const auto &alias : split(entry.aliases, ' ')) aliases.push_back(json::text(alias));
        items.push_back(json::object({{"kind", json::text(kind)},
                                      {"name", json::text(entry.name)},
                                      {"aliases", json::array(aliases)},
                                      {"version", json::text(entry.version)},
                                      {"path", json::text(entry.path)},
                                      {"refused", json::text(refusal)}}));
    }
    return json::array(items);
}

void replace_all(std::string &text, const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// Writes a plugin's name into a skeleton, whose own name is "example". In identifiers, which begin
// with "example_", each '-' of the name becomes '_'.
std::string named(std::string text, const std::string &name) {
    std::string identifier = name;
    replace_all(identifier, "-", "_");
    replace_all(text, "example_", identifier + "_");
    replace_all(text, "example", name);
    return text;
}

// Writes a new file, whole or not at all. Throws Failure if the file exists already.
void write_new(const std::string &path, const std::string &text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) throw system_failure(path, "create");
    const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const Failure failure = system_failure(path, "write");
    if (::close(fd) == 0 && written) return;
    ::unlink(path.c_str());
    throw failure;
}

void refuse_name(mercer_context *context, const std::string &kind, const std::string &name) {
    constexpr size_t most = 60;
    const bool letters = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (name.empty() || name.size() > most || !letters || name[0] < 'a')
        throw Failure(MERCER_E_NAME, "'" + name + "' is not a valid name: it must be at most " + std::to_string(most) +
                                         " lower-case letters, digits and '-', and begin with a letter");
    for (const Entry &entry : entries_of(context, kind + "s")) {
        std::vector<std::string> taken = split(entry.aliases, ' ');
        taken.push_back(entry.name);
        for (const std::string &other : taken)
            if (other == name) throw Failure(MERCER_E_NAME, "a " + kind + " '" + name + "' exists already");
    }
}

} // namespace

void plugins(mercer_context *context, const Words &words) {
    bool trace = false, as_json = false;
    Arguments line("plugins",
                   "Lists the plugins with kind, name, aliases, version, and file or the reason for its refusal.",
                   words);
    line.app().add_flag("--trace", trace, "also list the folders searched, and the result for each file in them");
    line.app().add_flag("--json", as_json, "print the list as JSON");
    line.parse();

    const std::vector<Plugin> all = load_plugins(context);
    std::vector<Entry> folders, files;
    if (trace) folders = entries_of(context, "folders"), files = entries_of(context, "files");
    if (!as_json) {
        print_plugins(all);
        print_trace(folders, files);
        return;
    }
    std::vector<std::pair<std::string, std::string>> members = {{"plugins", plugins_json(all)}};
    if (trace) {
        members.emplace_back("folders", places_json(folders));
        members.emplace_back("files", places_json(files));
    }
    std::printf("%s\n", json::object(members).c_str());
}

void plugin_new(mercer_context *context, const Words &words) {
    std::string kind, name, folder = ".";
    bool as_json = false;
    Arguments line("plugin-new", "Writes the source of a plugin that builds and conforms, as a starting point.", words);
    one_of(line.app().add_option("KIND", kind, "kind of plugin")->required(), {"kernel", "reducer", "solver"});
    line.app()
        .add_option("NAME", name, "name of the plugin: lower-case letters, digits and '-'")
        ->type_name("NAME")
        ->required();
    line.app().add_option("-C", folder, "folder to write it to")->type_name("FOLDER");
    line.app().add_flag("--json", as_json, "print a description of the output as JSON");
    line.parse();

    const auto *skeleton = kind == "kernel"    ? skeletons::kernel
                           : kind == "reducer" ? skeletons::reducer
                                               : skeletons::solver;
    refuse_name(context, kind, name);
    const std::string file = kind + "-" + name;
    write_new(folder + "/" + file + ".c", named(skeleton, name));
    if (as_json) {
        std::printf("%s\n", json::object({{"path", json::text(folder + "/" + file + ".c")}}).c_str());
        return;
    }
    const char *method = kind == "reducer" ? "subsampled" : "kpca";
    std::printf("wrote %s/%s.c. To build, check and use it there:\n\n"
                "  cc -std=c11 -Wall -Wextra -O2 -fno-math-errno -fPIC -shared %s.c -o %s.so $(pkg-config --cflags "
                "mercer) -lm\n"
                "  mercer plugin-check ./%s.so\n"
                "  MERCER_PLUGIN_PATH=$PWD mercer fit X.npy --method %s --%s %s -o M.safetensors\n",
                folder.c_str(), file.c_str(), file.c_str(), file.c_str(), file.c_str(), method, kind.c_str(),
                name.c_str());
}

} // namespace cli
