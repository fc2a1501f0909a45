#include "places.h"

#include "../core/text.h"
#include "elf.h"
#include "modules.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <unistd.h>

namespace mercer {
namespace {

std::string folder_of(const std::string &path) { return path.substr(0, std::max<size_t>(path.rfind('/'), 1)); }

struct stat status_of(const std::string &folder, const std::string &plugin) {
    struct stat status;
    if (stat(folder.c_str(), &status) == 0) return status;
    fail(MERCER_E_PLUGIN, "%s: %s: %s", plugin.c_str(), folder.c_str(), std::strerror(errno));
}

void refuse_writable(const std::string &path, const struct stat &status, const char *what) {
    if (status.st_mode & S_IWOTH) fail(MERCER_E_PLUGIN, "%s: refused, everyone can write to %s", path.c_str(), what);
    if ((status.st_mode & S_IWGRP) && status.st_gid != 0 && status.st_gid != getegid())
        fail(MERCER_E_PLUGIN, "%s: refused, group %u can write to %s", path.c_str(), status.st_gid, what);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        fail(MERCER_E_PLUGIN, "%s: refused, %s belongs to neither root nor you", path.c_str(), what);
}

// Refuses the plugin if everyone may write to a folder above `folder` that is not sticky: whoever
// may write to such a folder may replace the folders in it.
void refuse_replaceable(const std::string &path, std::string folder) {
    while (folder != "/") {
        folder = folder_of(folder);
        const mode_t mode = status_of(folder, path).st_mode;
        if ((mode & S_IWOTH) && !(mode & S_ISVTX))
            fail(MERCER_E_PLUGIN, "%s: refused, everyone can write to %s, a folder above it", path.c_str(),
                 folder.c_str());
    }
}

std::string build_id_of(const std::string &path) {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "re"), std::fclose);
    return file ? read_build_id(path, fileno(file.get())) : "";
}

} // namespace

std::string path_fault(const std::string &path) {
    if (path.empty() || path[0] != '/') return "must be absolute";
    if (path.size() >= PATH_MAX) return "must be shorter than " + std::to_string(PATH_MAX) + " bytes";
    if ((path + "/").find("/../") != std::string::npos) return "must not contain '..'";
    if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < ' ' || c == 127; }))
        return "must not contain control characters";
    return "";
}

std::string real_path(const std::string &path) {
    const std::unique_ptr<char, void (*)(void *)> real(realpath(path.c_str(), nullptr), std::free);
    if (!real && errno == ENOMEM) throw std::bad_alloc();
    return real ? real.get() : "";
}

bool same_file(const std::string &a, const std::string &b) {
    struct stat first, second;
    if (stat(a.c_str(), &first) != 0 || stat(b.c_str(), &second) != 0) return false;
    if (first.st_dev == second.st_dev && first.st_ino == second.st_ino) return true;
    if (!S_ISREG(first.st_mode) || !S_ISREG(second.st_mode)) return false;
    if (const std::string id = build_id_of(a); !id.empty()) return id == build_id_of(b);
    std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
    const std::istreambuf_iterator<char> end;
    return one && other &&
           std::equal(std::istreambuf_iterator<char>(one), end, std::istreambuf_iterator<char>(other), end);
}

std::vector<PluginFolder> default_plugin_folders() {
    std::vector<PluginFolder> folders;
    if (const char *listed = secure_getenv("MERCER_PLUGIN_PATH"))
        for (std::string &folder : split(listed, ':'))
            if (!folder.empty()) folders.push_back({folder, path_fault(folder)});
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    std::string own;
    if (data && data[0] == '/')
        own = std::string(data) + "/mercer/plugins";
    else if (home && home[0] == '/')
        own = std::string(home) + "/.local/share/mercer/plugins";
    if (!own.empty()) folders.push_back({own, path_fault(own)});
    if (const std::string library = library_file(); !library.empty())
        folders.push_back({folder_of(library) + "/mercer", path_fault(library)});
    return folders;
}

void refuse_strangers(const std::string &path, const struct stat &file) {
    const std::string folder = folder_of(path);
    refuse_writable(path, file, "the file");
    refuse_writable(path, status_of(folder, path), "its folder");
    refuse_replaceable(path, folder);
    // If the path contains links, the folders above the real folder matter as well.
    const std::string target = real_path(folder);
    if (target.empty()) fail(MERCER_E_PLUGIN, "%s: %s: %s", path.c_str(), folder.c_str(), std::strerror(errno));
    if (target != folder) refuse_replaceable(path, target);
}

} // namespace mercer
