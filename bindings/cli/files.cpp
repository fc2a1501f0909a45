#include "files.h"
#include "npy.h"
#include "run.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cli {

namespace {

constexpr size_t chunk = 1 << 20;

// The path that a link, or a chain of links, leads to, whether something exists there or not.
std::string target_of(const std::string &path) {
    constexpr int most = 40; // largest number of links that are followed, as in Linux
    std::error_code error;
    if (const auto target = std::filesystem::canonical(path, error); !error) return target.string();
    std::filesystem::path at = path;
    for (int links = 0; links < most && std::filesystem::is_symlink(at, error); ++links) {
        const auto to = std::filesystem::read_symlink(at, error);
        if (error) break;
        // If `to` is absolute, operator/ drops the parent path.
        at = at.parent_path() / to;
    }
    return at.string();
}

std::string folder_of(const std::string &path) {
    const auto folder = std::filesystem::path(path).parent_path();
    return folder.empty() ? "." : folder.string();
}

void write_all(int descriptor, const std::string &name, const void *bytes, size_t count) {
    for (auto *at = static_cast<const char *>(bytes); count > 0;) {
        check_cancelled();
        const ssize_t n = ::write(descriptor, at, count);
        if (n < 0 && errno != EINTR) throw system_failure(name, "write");
        if (n > 0) {
            at += n;
            count -= static_cast<size_t>(n);
        }
    }
}

size_t read_some(int descriptor, const std::string &name, void *bytes, size_t capacity) {
    for (;;) {
        check_cancelled();
        const ssize_t n = ::read(descriptor, bytes, capacity);
        if (n >= 0) return static_cast<size_t>(n);
        if (errno != EINTR) throw system_failure(name, "read");
    }
}

// A file, a pipe or standard input, open for reading.
struct Input {
    explicit Input(const std::string &path) {
        do {
            // Opening a pipe waits until another process opens it to write. A signal ends the wait
            // with EINTR, and the next round of the loop checks whether it was a cancellation.
            check_cancelled();
            descriptor = is_stream(path) ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        } while (descriptor < 0 && errno == EINTR);
        if (descriptor < 0) throw system_failure(path, "open");
    }
    ~Input() { ::close(descriptor); }
    Input(const Input &) = delete;
    int descriptor = -1;
};

std::string temporary_folder() {
    const char *folder = std::getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

// Runs the work of a callback and returns the callback's status: 0, or 1 if the work throws. The
// text of the exception reaches the library by mercer_set_error.
template <class Work>
int32_t guarded(Work work) {
    try {
        work();
        return 0;
    } catch (const std::exception &e) {
        mercer_set_error(e.what());
        return 1;
    }
}

int32_t write_to_file(void *user, const void *bytes, int64_t count) {
    return guarded([&] { static_cast<OutputFile *>(user)->write(bytes, static_cast<size_t>(count)); });
}

int32_t read_stdin(void *, void *bytes, int64_t capacity, int64_t *count) {
    return guarded([&] {
        *count = static_cast<int64_t>(read_some(STDIN_FILENO, "standard input", bytes, static_cast<size_t>(capacity)));
    });
}

} // namespace

void check_apart(const std::string &output, const std::string &input) {
    struct stat one {
    }, other{};
    if (output.empty() || input.empty() || is_stdout(output) || is_stream(input)) return;
    std::error_code error;
    const auto place = [&](const std::string &path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    const bool exist = ::stat(output.c_str(), &one) == 0 && ::stat(input.c_str(), &other) == 0;
    // A file need not exist yet (a checkpoint, for instance); then only the names can be compared.
    const bool same = exist ? S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino
                            : place(output) == place(input) && !error;
    if (same)
        throw Failure(MERCER_E_ARGUMENT, "'" + output + "' is an input of this command, so it cannot be its output");
}

bool is_pipe(const std::string &path) {
    std::error_code error;
    return !is_stream(path) && std::filesystem::status(path, error).type() == std::filesystem::file_type::fifo;
}

int spool(const std::string &input) {
    const std::string name = is_stream(input) ? "standard input" : input;
    const Input from(input);
    std::string path = temporary_folder() + "/mercer-XXXXXX";
    const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) throw system_failure(path, "create");
    ::unlink(path.c_str());
    try {
        std::string buffer(chunk, '\0');
        // known: the input begins as an .npy file, or contains a digit.
        bool begun = false, known = false;
        for (size_t unknown = 0; const size_t n = read_some(from.descriptor, name, buffer.data(), chunk);) {
            const std::string_view bytes(buffer.data(), n);
            known |= !std::exchange(begun, true) && begins_as_npy(bytes);
            known |= bytes.find_first_of("0123456789") != bytes.npos;
            if (!known && (unknown += n) > chunk)
                throw Failure(MERCER_E_DATA, name + " is not data: neither an npy file nor text with a number");
            write_all(descriptor, temporary_folder(), buffer.data(), n);
        }
    } catch (...) {
        ::close(descriptor);
        throw;
    }
    return descriptor;
}

bool is_stream(const std::string &path) { return path == "-"; }

bool is_stdout(const std::string &path) {
    struct stat named {
    }, out{}, null{};
    if (is_stream(path)) return true;
    if (path.empty() || ::stat(path.c_str(), &named) != 0 || ::fstat(STDOUT_FILENO, &out) != 0) return false;
    const bool nowhere = ::stat("/dev/null", &null) == 0 && null.st_dev == out.st_dev && null.st_ino == out.st_ino;
    return !nowhere && named.st_dev == out.st_dev && named.st_ino == out.st_ino;
}

void hold_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        // open() takes the least free number, so /dev/null gets that of the closed stream.
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

std::string ending_of(const std::string &path) {
    if (is_stdout(path) || is_device(path)) return "";
    std::string ending = std::filesystem::path(path).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
    return ending;
}

void check_ending(const std::string &flag, const std::string &path, const std::vector<std::string> &known, bool bare,
                  const std::string &otherwise) {
    if (path.empty() || is_stdout(path) || is_device(path)) return;
    const std::string ending = ending_of(path);
    if ((bare && ending.empty()) || std::find(known.begin(), known.end(), ending) != known.end()) return;
    std::string allowed;
    for (size_t k = 0; k < known.size(); ++k)
        allowed += (k == 0 ? "" : k + 1 == known.size() ? " or " : ", ") + known[k];
    throw Failure(MERCER_E_ARGUMENT, flag + " = " + path + ", must end in " + allowed + otherwise);
}

bool is_device(const std::string &path) {
    std::error_code error;
    const auto kind = std::filesystem::status(path, error).type();
    using enum std::filesystem::file_type;
    return kind == fifo || kind == character || kind == socket || kind == block;
}

void check_writable(const std::string &path) {
    if (path.empty() || is_stdout(path)) return;
    std::error_code error;
    const std::string target = target_of(path);
    if (std::filesystem::is_directory(target, error))
        throw Failure(MERCER_E_IO, path + ": cannot write: it is a folder");
    struct stat about {};
    if (::lstat(target.c_str(), &about) != 0 && errno == ENAMETOOLONG) throw system_failure(path, "write");
    if (::access((is_device(path) ? path : folder_of(target)).c_str(), W_OK) != 0) throw system_failure(path, "write");
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    if (is_stdout(path_)) {
        descriptor_ = STDOUT_FILENO;
        path_ = "standard output";
    } else if (is_device(path_)) {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
        replaces_ = true;
        path_ = target_of(path_);
        descriptor_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (descriptor_ < 0) {
            temporary_ = path_ + ".XXXXXX";
            descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
        }
    }
    if (descriptor_ < 0) {
        temporary_.clear();
        throw system_failure(path_, "create");
    }
}

OutputFile::~OutputFile() {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void *bytes, size_t count) { write_all(descriptor_, path_, bytes, count); }

// Gives the unnamed file (O_TMPFILE) a temporary name: rename() can replace the old file but needs
// a name, and linkat() cannot replace a file.
void OutputFile::name() {
    const std::string file = "/proc/self/fd/" + std::to_string(descriptor_);
    const std::string stem = folder_of(path_) + "/.mercer-" + std::to_string(::getpid()) + "-";
    for (int number = 0; temporary_.empty(); ++number) {
        const std::string free = stem + std::to_string(number);
        if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, free.c_str(), AT_SYMLINK_FOLLOW) == 0)
            temporary_ = free;
        else if (errno != EEXIST)
            throw system_failure(path_, "write");
    }
}

void OutputFile::commit() {
    if (!replaces_) return;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(descriptor_, 0666 & ~mask) != 0 || ::fsync(descriptor_) != 0) throw system_failure(path_, "write");
    if (temporary_.empty()) name();
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw system_failure(path_, "write");
    temporary_.clear();
}

std::string kind_of_file(const std::string &path) {
    // `enough` is the number of bytes that are read. A model begins with `length` bytes that hold
    // the length of its header, and then the header in JSON.
    constexpr size_t enough = 16, length = 8;
    if (is_stream(path) || is_device(path)) return "";
    std::string bytes;
    try {
        bytes = read_file(path, enough);
    } catch (const Failure &) {
        // The code that opens the file later reports the reason.
        return "";
    }
    const auto is_text = [](unsigned char c) { return c >= ' ' || c == '\t' || c == '\n' || c == '\r'; };
    if (bytes.size() < enough) return "";
    if (begins_as_npy(bytes)) return "an .npy file";
    if (bytes[length] == '{' && bytes[length - 1] == '\0') return "a model";
    return std::all_of(bytes.begin(), bytes.end(), is_text) ? "text" : "";
}

Model read_model(mercer_context *context, const std::string &path) {
    if (const std::string kind = kind_of_file(path); kind == "an .npy file" || kind == "text")
        throw Failure(MERCER_E_MODEL, "'" + path + "' is " + kind + ", not a model (model and data swapped?)");
    if (!is_stream(path)) return make<Model>(mercer_model_load, context, path.c_str());
    auto source = sized<mercer_source>();
    source.read = read_stdin;
    try {
        return make<Model>(mercer_model_read, context, &source);
    } catch (const Failure &) {
        // If a signal has cancelled the read, this throws MERCER_E_CANCELLED instead: the library
        // knows only that a callback failed.
        check_cancelled();
        throw;
    }
}

void write_model(mercer_model *model, const std::string &path) {
    if (!is_stdout(path) && !is_device(path)) {
        check(mercer_model_save(model, path.c_str()));
        return;
    }
    OutputFile file(path);
    auto sink = sized<mercer_sink>();
    sink.write = write_to_file;
    sink.user = &file;
    const int32_t status = mercer_model_write(model, &sink);
    if (status != MERCER_OK) check_cancelled();
    check(status);
    file.commit();
}

std::string read_file(const std::string &path, size_t most) {
    const Input from(path);
    std::string bytes, buffer(chunk, '\0');
    for (size_t n = 1; n > 0 && bytes.size() < most;) {
        n = read_some(from.descriptor, is_stream(path) ? "standard input" : path, buffer.data(),
                      std::min(buffer.size(), most - bytes.size()));
        bytes.append(buffer, 0, n);
    }
    return bytes;
}

} // namespace cli
