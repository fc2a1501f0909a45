// Files: a table of system calls, in which tests can replace each call by one that fails, and
// functions built on it, which handle EINTR and short reads and writes.
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
    // Returns the size of a regular file. Otherwise returns -1 and sets errno: to ESPIPE for a
    // pipe, to EISDIR for a folder, to 0 for another kind of file, or to the number of the error.
    int64_t (*size)(int fd);
    ssize_t (*read)(int fd, void *bytes, size_t count); // for pipes; files are read by pread
};
SystemCalls &system_calls(); // tests replace entries

// Returns a path for messages. Of a long path only the end is shown, so that the reason, which
// follows it in the message, is not cut off.
std::string shown_path(const std::string &path);

// A file open for reading. A failure is E_IO with the path and the error text of the system. A pipe
// gives its bytes only once, so the constructor with a run reads all of them into memory, counted
// in the budget of the run. It waits at most 5 s until a process opens the pipe to write, and then
// for the bytes until the run is cancelled. Devices are refused; the constructor without a run
// refuses pipes as well.
class InputFile {
  public:
    explicit InputFile(const std::string &path);
    InputFile(Run &run, const std::string &path);
    ~InputFile();
    InputFile(const InputFile &) = delete;
    int64_t size() const { return size_; }
    int64_t stored_bytes() const; // bytes held in memory
    const std::string &path() const { return path_; }
    // Reads exactly count bytes; E_IO if the file has become shorter. May be called on any thread.
    void read(int64_t offset, void *bytes, int64_t count) const;

  private:
    void open(Run *run);
    void read_pipe(Run &run);
    void copy_held(int64_t offset, void *bytes, int64_t count) const;
    std::string path_;
    int fd_ = -1;
    int64_t size_ = 0;
    std::vector<Buffer<unsigned char>> pieces_; // the bytes of a pipe
};

bool file_exists(const std::string &path); // E_IO if the system cannot tell

// Returns a function that reads the bytes of the file in order, at most `capacity` per call, and
// returns their number; 0 at the end. The file must outlive the function.
std::function<int64_t(void *bytes, int64_t capacity)> from_start(const InputFile &file);

// Replaces the file at path by what body writes. The bytes go to a new file in the same folder,
// path.tmp.PID.NUMBER, which is fsynced and renamed to path; then the folder is fsynced.
// On any failure, including an exception of body, the old file remains and the new one is removed.
// After a failure that follows the rename, the old file is restored from a hard link; on a file
// system without hard links the new file remains, complete.
// A process that is killed leaves the old file or the new one, and perhaps a temporary name in the
// same folder, which the next writer of path removes. A writer holds a lock (flock) on its new
// file, so that no other writer takes it for such a leftover.
// A new file gets mode 0666 less the umask; a replaced file keeps its mode. A symbolic link is
// kept, and its target is replaced, or created if it does not exist. Folders, devices, pipes and
// write-protected files are refused.
using Writer = std::function<void(const void *bytes, int64_t count)>;
void replace_file(const std::string &path, const std::function<void(const Writer &write)> &body);
// Fails with E_IO if replace_file could not begin to write to path. The file at path is not
// changed.
void check_replaceable(const std::string &path);

} // namespace mercer
