#include "modules.h"

#include "../core/text.h"

#include <cerrno>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MERCER_BUILTIN_PLUGINS
extern "C" const mercer_module *const mercer_builtin_plugins[];
#endif

namespace mercer {
namespace {

// Loaded modules are a matter of the process: they are never closed, and neither is the descriptor each was opened
// through (dlopen knows a module by its path; a second file behind the same /proc/self/fd number would be taken for it).
struct Opened {
    dev_t device;
    ino_t inode;
    const mercer_module *module;
};
std::mutex opened_lock;
std::vector<Opened> &opened_modules() {
    static auto *modules = new std::vector<Opened>; // never destroyed: used until the process ends
    return *modules;
}

void refuse_writable(const std::string &path, const struct stat &status, const char *what) {
    if (status.st_mode & S_IWOTH) fail(MERCER_E_PLUGIN, "%s: refused, everyone may write %s", path.c_str(), what);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        fail(MERCER_E_PLUGIN, "%s: refused, %s belongs to neither root nor you", path.c_str(), what);
}

// dlopen maps what the program headers promise: of a truncated file, touching that ends the process with SIGBUS.
void check_elf(const std::string &path, int fd, int64_t size) {
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        fail(MERCER_E_PLUGIN, "%s: refused, it is no ELF file", path.c_str());
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr))
        fail(MERCER_E_PLUGIN, "%s: refused, it is no 64-bit shared object", path.c_str());
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part;
        const off_t at = static_cast<off_t>(header.e_phoff) + static_cast<off_t>(i) * static_cast<off_t>(sizeof part);
        const bool read = pread(fd, &part, sizeof part, at) == static_cast<ssize_t>(sizeof part);
        uint64_t end = 0;
        if (!read || __builtin_add_overflow(part.p_offset, part.p_filesz, &end) || end > static_cast<uint64_t>(size))
            fail(MERCER_E_PLUGIN, "%s: refused, the file is shorter than its program headers say", path.c_str());
    }
}

// Checks the file behind fd; fails before any of its code runs. Returns the row of a file that is loaded already.
const Opened *inspect(const std::string &path, int fd, Opened *identity) {
    struct stat file, folder;
    std::string parent = path.substr(0, path.rfind('/') + 1);
    if (fstat(fd, &file) != 0 || stat(parent.c_str(), &folder) != 0)
        fail(MERCER_E_PLUGIN, "%s: %s", path.c_str(), std::strerror(errno));
    if (!S_ISREG(file.st_mode)) fail(MERCER_E_PLUGIN, "%s: refused, it is no regular file", path.c_str());
    refuse_writable(path, file, "the file");
    refuse_writable(path, folder, "its folder");
    for (const Opened &known : opened_modules())
        if (known.device == file.st_dev && known.inode == file.st_ino) return &known;
    check_elf(path, fd, file.st_size);
    *identity = {file.st_dev, file.st_ino, nullptr};
    return nullptr;
}

void *load(const std::string &path, int fd) {
    std::string through = "/proc/self/fd/" + std::to_string(fd);
    fenv_t mode; // a module built with -ffast-math changes it
    fegetenv(&mode);
    void *handle = dlopen(through.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    fesetenv(&mode);
    if (handle) return handle;
    const char *why = dlerror();
    fail(MERCER_E_PLUGIN, "%s: %s", path.c_str(), why ? why : "cannot be loaded");
}

} // namespace

std::vector<std::string> default_plugin_folders() {
    std::vector<std::string> folders;
    if (const char *listed = secure_getenv("MERCER_PLUGIN_PATH"))
        for (std::string &folder : split(listed, ':')) {
            if (!folder.empty() && folder[0] == '/') folders.push_back(std::move(folder));
        }
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    if (data && data[0] == '/')
        folders.push_back(std::string(data) + "/mercer/plugins");
    else if (home && home[0] == '/')
        folders.push_back(std::string(home) + "/.local/share/mercer/plugins");
    Dl_info self;
    if (dladdr(reinterpret_cast<const void *>(&default_plugin_folders), &self) && self.dli_fname) {
        char *real = realpath(self.dli_fname, nullptr);
        std::string file = real ? real : self.dli_fname;
        std::free(real);
        folders.push_back(file.substr(0, file.rfind('/')) + "/mercer");
    }
    return folders;
}

std::string ignored_plugin_folder() {
    if (const char *listed = secure_getenv("MERCER_PLUGIN_PATH"))
        for (const std::string &folder : split(listed, ':'))
            if (!folder.empty() && folder[0] != '/') return folder;
    return "";
}

const mercer_module &open_module(const std::string &path) {
    if (path.empty() || path[0] != '/')
        fail(MERCER_E_PLUGIN, "'%s': refused, a plugin's path must be absolute", path.c_str());
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        fail(MERCER_E_PLUGIN, "%s: %s", path.c_str(),
             errno == ELOOP ? "refused, it is a symbolic link" : std::strerror(errno));
    std::lock_guard hold(opened_lock);
    Opened opened{};
    try {
        if (const Opened *known = inspect(path, fd, &opened)) {
            opened = *known;
            close(fd);
        } else {
            void *handle = load(path, fd);
            opened.module = static_cast<const mercer_module *>(dlsym(handle, "mercer_plugin"));
            opened_modules().push_back(opened);
        }
    } catch (...) {
        close(fd);
        throw;
    }
    if (!opened.module) fail(MERCER_E_PLUGIN, "%s: it exports no 'mercer_plugin'", path.c_str());
    return *opened.module;
}

std::vector<const mercer_module *> builtin_modules() {
    std::vector<const mercer_module *> modules;
#ifdef MERCER_BUILTIN_PLUGINS
    for (const mercer_module *const *at = mercer_builtin_plugins; *at; ++at) modules.push_back(*at);
#endif
    return modules;
}

} // namespace mercer
