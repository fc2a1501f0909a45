// Files: the one table of system calls, so that tests can fail each of them, and what is built on it. EINTR and short
// reads and writes are dealt with here.
#pragma once
#include "../core/memory.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mercer {

class Run;

struct SystemCalls {
    int (*open)(const char *path, int flags, unsigned mode);
    ssize_t (*pread)(int fd, void *bytes, size_t count, off_t offset);
    ssize_t (*write)(int fd, const void *bytes, size_t count);
    int (*fsync)(int fd);
    int (*close)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int64_t (*size)(int fd); // -1: an error, or no regular file (errno 0, ESPIPE of a pipe, or EISDIR)
    ssize_t (*read)(int fd, void *bytes, size_t count); // of a pipe
};
SystemCalls &system_calls(); // tests replace entries

// A path for messages: the end of a long one, so that the reason behind it is not cut off.
std::string shown_path(const std::string &path);

// A file open for reading; E_IO names the path and what the system said. A pipe gives its bytes only once: whoever has a run
// gets them all into memory, counted on its budget, and waits for them as long as nobody cancels; at most 5 s for somebody to write
// at all. Devices are refused, and pipes without a run.
class InputFile {
  public:
    explicit InputFile(const std::string &path);
    InputFile(Run &run, const std::string &path);
    ~InputFile();
    InputFile(const InputFile &) = delete;
    int64_t size() const { return size_; }
    int64_t held_bytes() const; // in memory
    const std::string &path() const { return path_; }
    // Exactly count bytes; E_IO where the file has become shorter. Any thread.
    void read(int64_t offset, void *bytes, int64_t count) const;

  private:
    void open(Run *run);
    void read_pipe(Run &run);
    void copy_held(int64_t offset, void *bytes, int64_t count) const;
    std::string path_;
    int fd_ = -1;
    int64_t size_ = 0;
    std::vector<Buffer<unsigned char>> pieces_; // of a pipe
};

bool file_exists(const std::string &path); // E_IO where the system does not tell

// The file's bytes one after another, up to capacity a call; 0 at the end. The file must outlive it.
std::function<int64_t(void *bytes, int64_t capacity)> from_start(const InputFile &file);

// Replaces path by what body writes: into a new file beside it, path.tmp.PID.NUMBER, fsynced, renamed over it, the folder
// fsynced. On any failure, an exception of body included, the old file stands and the new one is gone (after a failure behind
// the rename by means of a hard link to the old file; a file system without them keeps the new file, whole). A process that is
// killed leaves the old file or the new one, and perhaps a name beside it, which the next writer of path removes: a writer
// holds a lock (flock) on its new file, so that nobody takes it for left over. A new file gets mode 0666 less the umask, a
// replaced one keeps its mode; a symbolic link stays and what it points to is replaced, or made where nothing is there yet. A folder, a device, a pipe and a
// write-protected file are refused.
using Writer = std::function<void(const void *bytes, int64_t count)>;
void replace_file(const std::string &path, const std::function<void(const Writer &write)> &body);
// E_IO where that could not even begin: nothing is written.
void check_replaceable(const std::string &path);

} // namespace mercer
