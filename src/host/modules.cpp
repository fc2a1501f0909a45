#include "modules.h"

#include "../core/error.h"
#include "places.h"

#include <cerrno>
#include <cfenv>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

#ifdef MERCER_BUILTIN_PLUGINS
extern "C" const mercer_module *const mercer_builtin_plugins[];
#endif

namespace mercer {
namespace {

// Loaded modules belong to the process. They are never closed, and neither is the descriptor
// through which each was opened: dlopen identifies a module by its path, so if the number of the
// descriptor were used again, dlopen would take another file at the same /proc/self/fd path for the
// first one.
struct Opened {
    dev_t device;
    ino_t inode;
    const mercer_module *module;
};
std::mutex opened_lock;
std::vector<Opened> &opened_modules() {
    static auto *modules = new std::vector<Opened>; // never destroyed: it is used until the process ends
    return *modules;
}

// True while the constructors of a module run on this thread. The thread holds opened_lock then, so
// a constructor that opened another plugin would wait for ever; it is refused instead.
thread_local bool loading;

class Descriptor {
  public:
    explicit Descriptor(const std::string &path) {
        if (const std::string fault = path_fault(path); !fault.empty())
            fail(MERCER_E_PLUGIN, "%.400s: refused, the path of a plugin %s", path.c_str(), fault.c_str());
        do fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        while (fd_ < 0 && errno == EINTR);
        if (fd_ < 0)
            fail(MERCER_E_PLUGIN, "%s: refused, %s", path.c_str(),
                 errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    Descriptor(const Descriptor &) = delete;
    int get() const { return fd_; }
    void keep() { fd_ = -1; }

  private:
    int fd_;
};

struct stat inspect(const std::string &path, int fd) {
    struct stat file;
    if (fstat(fd, &file) != 0) fail(MERCER_E_PLUGIN, "%s: %s", path.c_str(), std::strerror(errno));
    if (!S_ISREG(file.st_mode)) fail(MERCER_E_PLUGIN, "%s: refused, it is not a regular file", path.c_str());
    refuse_strangers(path, file);
    check_head(read_module_file(path, fd), path);
    return file;
}

const mercer_module *load(const std::string &path, int fd) {
    std::string through = "/proc/self/fd/" + std::to_string(fd);
    // Loading a module that was built with -ffast-math changes the floating-point mode.
    fenv_t mode;
    fegetenv(&mode);
    loading = true;
    void *handle = dlopen(through.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    loading = false;
    fesetenv(&mode);
    const void *entry = handle ? dlsym(handle, "mercer_plugin") : nullptr;
    if (entry) return static_cast<const mercer_module *>(entry);
    const char *said = dlerror();
    std::string why = said ? said : "cannot be loaded";
    // dlerror names the file by its path in /proc, which the message replaces by the real one.
    if (why.rfind(through + ": ", 0) == 0) why.erase(0, through.size() + 2);
    fail(MERCER_E_PLUGIN, "%s: %s", path.c_str(), why.c_str());
}

} // namespace

void inspect_module(const std::string &path) {
    Descriptor file(path);
    inspect(path, file.get());
}

const mercer_module &open_module(const std::string &path) {
    if (loading) fail(MERCER_E_PLUGIN, "%s: refused while this thread is opening another plugin", path.c_str());
    Descriptor file(path);
    const struct stat about = inspect(path, file.get());
    std::lock_guard hold(opened_lock);
    for (const Opened &known : opened_modules())
        if (known.device == about.st_dev && known.inode == about.st_ino) return *known.module;
    // Memory is reserved before the module is loaded, because nothing may fail afterwards: the
    // descriptor of a loaded module must stay open.
    opened_modules().reserve(opened_modules().size() + 1);
    opened_modules().push_back({about.st_dev, about.st_ino, load(path, file.get())});
    file.keep();
    return *opened_modules().back().module;
}

std::vector<const mercer_module *> builtin_modules() {
    std::vector<const mercer_module *> modules;
#ifdef MERCER_BUILTIN_PLUGINS
    for (const mercer_module *const *at = mercer_builtin_plugins; *at; ++at) modules.push_back(*at);
#endif
    return modules;
}

std::string library_file() {
    Dl_info self;
    if (!dladdr(reinterpret_cast<const void *>(&library_file), &self) || !self.dli_fname) return "";
    const std::string real = real_path(self.dli_fname);
    return real.empty() ? self.dli_fname : real;
}

} // namespace mercer
