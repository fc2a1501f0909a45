#include "files.h"

#include "../core/run.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mercer {
namespace {

constexpr int not_regular = -1; // used in place of an errno

std::string system_text(int error) {
    if (error == not_regular) return "not a regular file";
    char text[256];
    return strerror_r(error, text, sizeof text);
}

[[noreturn]] void fail_io(const char *verb, const std::string &path, int error) {
    fail(MERCER_E_IO, "cannot %s '%s': %s", verb, shown_path(path).c_str(), system_text(error).c_str());
}

template <class Call>
auto retried(Call call) {
    auto result = call();
    while (result == -1 && errno == EINTR) result = call();
    return result;
}

int open_file(const std::string &path, int flags, unsigned mode = 0) {
    return retried([&] { return system_calls().open(path.c_str(), flags | O_CLOEXEC, mode); });
}

int64_t regular_size(int fd) {
    struct stat about;
    if (fstat(fd, &about) != 0) return -1;
    if (S_ISREG(about.st_mode)) return about.st_size;
    errno = S_ISDIR(about.st_mode) ? EISDIR : S_ISFIFO(about.st_mode) ? ESPIPE : 0;
    return -1;
}

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept { return std::swap(fd_, other.fd_), *this; }
    ~Descriptor() { close(); }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    // Returns 0 or an errno. Linux frees the descriptor even if close fails with EINTR, so EINTR is
    // not a failure and the call is not repeated.
    int close() noexcept {
        int fd = std::exchange(fd_, -1);
        return fd >= 0 && system_calls().close(fd) != 0 && errno != EINTR ? errno : 0;
    }

  private:
    int fd_;
};

// Locks the file until its descriptor is closed, which also happens when the process is killed.
// Every other attempt to lock it, also one by this process, fails meanwhile.
bool lock(const Descriptor &file) { return flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

// A Replacement of the file F uses the names F.tmp.PID.NUMBER and F.tmp.PID.NUMBER.old. Returns
// true if text can be the part of such a name that follows "F.tmp.".
bool is_ours(std::string_view text) {
    constexpr std::string_view digits = "0123456789", old = ".old";
    if (text.ends_with(old)) text.remove_suffix(old.size());
    const size_t dot = text.find_first_not_of(digits);
    return dot != text.npos && dot > 0 && text[dot] == '.' && dot + 1 < text.size() &&
           text.find_first_not_of(digits, dot + 1) == text.npos;
}

// Writes a new file in the folder of the old one, and holds a lock on it until it is closed. The
// destructor removes the new file unless commit() has succeeded. Files that a killed process has
// left are removed by the next Replacement of the same file.
class Replacement {
  public:
    explicit Replacement(const std::string &path);
    ~Replacement() { remove(temporary_); }
    void write(const void *bytes, int64_t count);
    void commit();

  private:
    void find_target();
    void clear();
    bool create(std::string name);
    int sync(const Descriptor &descriptor);
    void remove(std::string &path) noexcept;
    void keep_old();
    [[noreturn]] void undo(int error);

    std::string path_;             // as the caller gave it, for messages
    std::string target_, folder_;  // the file that is replaced (links followed) and its folder
    std::string stem_;             // common beginning of the temporary names
    std::string temporary_, kept_; // the new file, and the second name of the old one; "": none
    bool exists_ = false;
    mode_t mode_ = 0666;
    // The errno of the first write that failed. It prevents the commit even if the function that
    // writes the contents ignores the error.
    int error_ = 0;
    Descriptor in_folder_, file_;
};

Replacement::Replacement(const std::string &path) : path_(path), target_(path) {
    if (path.empty()) fail(MERCER_E_IO, "cannot write '': the path is empty");
    find_target();
    const size_t name = target_.rfind('/') + 1; // without a '/', npos + 1 is 0
    folder_ = name == 0 ? "." : target_.substr(0, std::max<size_t>(name - 1, 1));
    // A long name is cut, so that the temporary name, numbers included, is not longer than
    // NAME_MAX.
    stem_ = target_.substr(0, std::min(target_.size(), name + NAME_MAX - 40)) + ".tmp.";
    // The folder will have to be synced; if it cannot be opened for that, the file is refused now.
    in_folder_ = Descriptor(open_file(folder_, O_RDONLY | O_DIRECTORY));
    if (in_folder_.get() < 0) fail_io("write", path_, errno);
    clear();
    int number = 0;
    while (!create(stem_ + format("%ld.%d", static_cast<long>(getpid()), number++))) {
    }
}

// Returns the path at the end of a chain of links. The file there need not exist: it will be
// created, and the link will then lead to it.
std::string end_of_links(const std::string &path) {
    constexpr int most = 40; // the same limit as that of Linux
    std::string at = path;
    for (int links = 0;; ++links) {
        std::string to(PATH_MAX, '\0');
        const ssize_t length = ::readlink(at.c_str(), to.data(), to.size());
        if (length < 0 && errno != EINVAL && errno != ENOENT) fail_io("write", path, errno);
        if (length < 0) return at;
        if (links == most) fail_io("write", path, ELOOP);
        to.resize(static_cast<size_t>(length));
        at = to.starts_with('/') ? to : at.substr(0, at.rfind('/') + 1) + to; // without a '/', npos + 1 is 0
    }
}

// Follows links, so that the file at their end is replaced and the links remain. Refuses what is
// not a regular file, and also a write-protected file, which a rename would replace in spite of the
// protection.
void Replacement::find_target() {
    struct stat about;
    target_ = end_of_links(path_);
    if (lstat(target_.c_str(), &about) != 0) {
        if (errno == ENOENT) return;
        fail_io("write", path_, errno);
    }
    if (!S_ISREG(about.st_mode)) fail_io("write", path_, S_ISDIR(about.st_mode) ? EISDIR : not_regular);
    if (access(target_.c_str(), W_OK) != 0) fail_io("write", path_, errno);
    exists_ = true;
    mode_ = about.st_mode & 0777;
}

// Removes what killed processes have left: new files that no process has locked, and second names
// of old files (.old). A second name belongs to the new file that replaces the old one, and is kept
// while that new file is locked. Before the rename the new file has its temporary name, afterwards
// it is the target; both are probed.
void Replacement::clear() {
    struct Probe {
        explicit Probe(const std::string &path)
            : file(open_file(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)),
              free(file.get() >= 0 ? lock(file) : errno == ENOENT) {}
        const Descriptor file;
        const bool free;
    };
    const size_t before = stem_.rfind('/') + 1;
    // std::filesystem, which may abort, is not used here.
    const std::unique_ptr<DIR, int (*)(DIR *)> opened(opendir(folder_.c_str()), closedir);
    while (const dirent *entry = opened ? readdir(opened.get()) : nullptr) {
        const std::string name = stem_.substr(0, before) + entry->d_name;
        struct stat about;
        if (!name.starts_with(stem_) || !is_ours(std::string_view(name).substr(stem_.size()))) continue;
        if (lstat(name.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
        const bool old = name.ends_with(".old");
        // The probes hold their locks until the name has been removed.
        const Probe made(old ? name.substr(0, name.size() - 4) : name), placed(target_);
        if (made.free && (!old || placed.free)) retried([&] { return system_calls().unlink(name.c_str()); });
    }
}

// Creates and locks the file. O_EXCL guarantees that this process has created it. Before it is
// locked, however, clear() in another process may take it for a file that was left behind, and lock
// or remove it. The function then returns false, as it does if the name is taken. On a file system
// without locks, the file is used without a lock.
bool Replacement::create(std::string name) {
    Descriptor file(open_file(name, O_WRONLY | O_CREAT | O_EXCL, mode_));
    if (file.get() < 0 && errno == EEXIST) return false;
    if (file.get() < 0) fail_io("write", path_, errno);
    if (!lock(file) && errno == EWOULDBLOCK) return false;
    struct stat about;
    if (fstat(file.get(), &about) == 0 && about.st_nlink == 0) return false;
    temporary_ = std::move(name); // moved, because a copy could fail and leave the file behind
    file_ = std::move(file);
    // Restores the mode bits of the old file that the umask removed. A failure is ignored, because
    // some file systems have no modes.
    if (exists_) (void)!fchmod(file_.get(), mode_);
    return true;
}

void Replacement::write(const void *bytes, int64_t count) {
    auto from = static_cast<const char *>(bytes);
    while (count > 0 && !error_) {
        ssize_t done = retried([&] { return system_calls().write(file_.get(), from, static_cast<size_t>(count)); });
        if (done <= 0) error_ = done < 0 ? errno : EIO;
        from += std::max<ssize_t>(done, 0);
        count -= std::max<ssize_t>(done, 0);
    }
    if (error_) fail_io("write", path_, error_);
}

int Replacement::sync(const Descriptor &descriptor) {
    bool failed = retried([&] { return system_calls().fsync(descriptor.get()); }) != 0;
    // Some file systems cannot sync a folder, which is not an error.
    return failed && errno != EINVAL && errno != ENOTSUP ? errno : 0;
}

void Replacement::remove(std::string &path) noexcept {
    if (!path.empty()) retried([&] { return system_calls().unlink(path.c_str()); });
    path.clear();
}

// Gives the old file a second name, so that even a failure after the rename can be undone. A file
// system without hard links does not allow this; kept_ is then empty.
void Replacement::keep_old() {
    kept_ = temporary_ + ".old";
    if (!exists_ || ::link(target_.c_str(), kept_.c_str()) != 0) kept_.clear();
}

void Replacement::undo(int error) {
    if (!kept_.empty() && system_calls().rename(kept_.c_str(), target_.c_str()) == 0) kept_.clear();
    remove(kept_);
    if (!exists_) remove(target_);
    fail_io("write", path_, error);
}

void Replacement::commit() {
    if (!error_) error_ = sync(file_);
    if (error_) fail_io("write", path_, error_);
    keep_old();
    if (retried([&] { return system_calls().rename(temporary_.c_str(), target_.c_str()); }) != 0) {
        error_ = errno;
        remove(kept_);
        fail_io("write", path_, error_);
    }
    temporary_.clear();
    if (int error = sync(in_folder_)) undo(error);
    if (int error = file_.close()) undo(error);
    remove(kept_);
}

} // namespace

std::string shown_path(const std::string &path) {
    constexpr size_t most = 600;
    return path.size() <= most ? path : "..." + path.substr(path.size() - most);
}

SystemCalls &system_calls() {
    static SystemCalls calls = {[](const char *path, int flags, unsigned mode) { return ::open(path, flags, mode); },
                                ::pread,
                                ::write,
                                ::fsync,
                                ::close,
                                ::rename,
                                ::unlink,
                                regular_size,
                                ::read};
    return calls;
}

InputFile::InputFile(const std::string &path) : path_(path) { open(nullptr); }
InputFile::InputFile(Run &run, const std::string &path) : path_(path) { open(&run); }

// O_NONBLOCK prevents open from waiting for a pipe that has no writer.
void InputFile::open(Run *run) {
    if (path_.empty()) fail(MERCER_E_IO, "cannot read '': the path is empty");
    Descriptor file(open_file(path_, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) fail_io("read", path_, errno);
    errno = 0;
    size_ = system_calls().size(file.get());
    const bool pipe = size_ < 0 && errno == ESPIPE;
    if (size_ < 0 && !(pipe && run)) fail_io("read", path_, errno && !pipe ? errno : not_regular);
    if (pipe) {
        fd_ = file.get(); // `file` still owns the descriptor and closes it if read_pipe() fails
        read_pipe(*run);
    }
    fd_ = file.release();
}

namespace {
constexpr int64_t piece_bytes = 1 << 20;
} // namespace

// read() returns 0 if no process has the pipe open to write: either no writer has come yet, or the
// last writer has closed the pipe, and the data have ended. `written`, which is set once a writer
// has existed, tells these two cases apart.
void InputFile::read_pipe(Run &run) {
    constexpr int turn = 50, patience = 5000; // ms
    bool written = false;
    size_ = 0;
    for (int waited = 0;;) {
        run.progress(0);
        const int64_t used = size_ % piece_bytes;
        if (size_ == static_cast<int64_t>(pieces_.size()) * piece_bytes)
            pieces_.push_back(run.buffer<unsigned char>(piece_bytes));
        const ssize_t got = retried([&] {
            return system_calls().read(fd_, pieces_.back().data() + used, static_cast<size_t>(piece_bytes - used));
        });
        if (got < 0 && errno != EAGAIN) fail_io("read", path_, errno);
        written |= got != 0;
        if (got > 0) size_ += got;
        if (got > 0) continue;
        if (got == 0 && written) return;
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, turn) > 0) written |= (waiting.revents & POLLHUP) != 0;
        if (!written && (waited += turn) >= patience)
            fail(MERCER_E_IO, "cannot read '%s': a pipe without a writer", shown_path(path_).c_str());
    }
}

int64_t InputFile::stored_bytes() const { return static_cast<int64_t>(pieces_.size()) * piece_bytes; }

void InputFile::copy_held(int64_t offset, void *bytes, int64_t count) const {
    auto to = static_cast<unsigned char *>(bytes);
    for (int64_t done = 0; done < count;) {
        const int64_t at = offset + done, within = at % piece_bytes,
                      take = std::min(count - done, piece_bytes - within);
        std::copy_n(pieces_[static_cast<size_t>(at / piece_bytes)].data() + within, take, to + done);
        done += take;
    }
}

bool file_exists(const std::string &path) {
    const Descriptor file(open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0 && errno != ENOENT) fail_io("read", path, errno);
    return file.get() >= 0;
}

InputFile::~InputFile() { system_calls().close(fd_); }

void InputFile::read(int64_t offset, void *bytes, int64_t count) const {
    if (!pieces_.empty() && offset + count <= size_) return copy_held(offset, bytes, count);
    auto to = static_cast<char *>(bytes);
    while (count > 0) {
        ssize_t got = retried([&] { return system_calls().pread(fd_, to, static_cast<size_t>(count), offset); });
        if (got < 0) fail_io("read", path_, errno);
        if (got == 0) fail(MERCER_E_IO, "cannot read '%s': the file became shorter", shown_path(path_).c_str());
        to += got;
        offset += got;
        count -= got;
    }
}

std::function<int64_t(void *bytes, int64_t capacity)> from_start(const InputFile &file) {
    return [&file, at = int64_t{0}](void *bytes, int64_t capacity) mutable {
        const int64_t count = std::min(capacity, file.size() - at);
        file.read(at, bytes, count);
        at += count;
        return count;
    };
}

void check_replaceable(const std::string &path) { Replacement file(path); }

void replace_file(const std::string &path, const std::function<void(const Writer &write)> &body) {
    Replacement file(path);
    body([&](const void *bytes, int64_t count) { file.write(bytes, count); });
    file.commit();
}

} // namespace mercer
