#include "core/run.h"
#include "io/files.h"
#include "temp_files.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mercer;

namespace {

enum Site { at_open, at_pread, at_write, at_fsync, at_close, at_rename, at_unlink, at_size, at_read, sites };
const char *const site_names[] = {"open", "pread", "write", "fsync", "close", "rename", "unlink", "size", "read"};
constexpr int short_count = -1; // used in place of an errno: the call transfers half of the bytes

struct Fault {
    SystemCalls real;
    int site, nth, error;
    int calls[sites];
} fault;

bool fails(Site site) {
    if (++fault.calls[site] != fault.nth || site != fault.site || fault.error == short_count) return false;
    errno = fault.error;
    return true;
}
bool is_short(Site site) { return site == fault.site && fault.calls[site] == fault.nth && fault.error == short_count; }

// Replaces the table of system calls by one in which the nth call from now at `site` fails with
// `error`, or transfers half of the bytes.
void inject(int site, int nth, int error) {
    fault = {fault.real, site, nth, error, {}};
    system_calls() = {
        [](const char *path, int flags, unsigned mode) {
            return fails(at_open) ? -1 : fault.real.open(path, flags, mode);
        },
        [](int fd, void *bytes, size_t count, off_t offset) -> ssize_t {
            if (fails(at_pread)) return -1;
            return fault.real.pread(fd, bytes, is_short(at_pread) ? (count + 1) / 2 : count, offset);
        },
        [](int fd, const void *bytes, size_t count) -> ssize_t {
            if (fails(at_write)) return -1;
            return fault.real.write(fd, bytes, is_short(at_write) ? (count + 1) / 2 : count);
        },
        [](int fd) { return fails(at_fsync) ? -1 : fault.real.fsync(fd); },
        [](int fd) {
            int result = fault.real.close(fd); // the descriptor is freed even if close fails
            return fails(at_close) ? -1 : result;
        },
        [](const char *from, const char *to) { return fails(at_rename) ? -1 : fault.real.rename(from, to); },
        [](const char *path) { return fails(at_unlink) ? -1 : fault.real.unlink(path); },
        [](int fd) { return fails(at_size) ? int64_t{-1} : fault.real.size(fd); },
        [](int fd, void *bytes, size_t count) -> ssize_t {
            if (fails(at_read)) return -1;
            return fault.real.read(fd, bytes, is_short(at_read) ? (count + 1) / 2 : count);
        },
    };
}

void put(const std::string &path, const std::string &text) {
    replace_file(path, [&](const Writer &write) {
        write(text.data(), 3);
        write(text.data() + 3, static_cast<int64_t>(text.size()) - 3);
    });
}

int open_descriptors() {
    int count = 0;
    for (auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
    return count;
}

mode_t mode_of(const std::string &path) {
    struct stat about;
    return stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

void test_replace() {
    TempFolder folder;
    std::string path = folder.path("model");
    mode_t before = umask(027);
    put(path, "first text");
    TEST_ASSERT_EQUAL_STRING("first text", folder.read("model").c_str());
    TEST_ASSERT_EQUAL_HEX32(0640, mode_of(path));
    chmod(path.c_str(), 0666);
    put(path, "second text");
    umask(before);
    TEST_ASSERT_EQUAL_STRING("second text", folder.read("model").c_str());
    TEST_ASSERT_EQUAL_HEX32(0666, mode_of(path));
    replace_file(path, [](const Writer &) {});
    TEST_ASSERT_EQUAL_STRING("", folder.read("model").c_str());
    TEST_ASSERT_EQUAL_STRING("model", folder.names().c_str());

    std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    put("plain", "without a folder");
    std::filesystem::current_path(here);
    TEST_ASSERT_EQUAL_STRING("without a folder", folder.read("plain").c_str());
}

void test_replace_long_name() {
    TempFolder folder;
    std::string name(NAME_MAX, 'n');
    put(folder.path(name), "long");
    TEST_ASSERT_EQUAL_STRING(name.c_str(), folder.names().c_str());
}

// Checks that temporary files of killed processes are removed, whatever the numbers in their names.
// Files that are locked, have other names or are not regular must remain.
void test_left_over() {
    TempFolder folder;
    const std::string own = "m.tmp." + std::to_string(getpid()), path = folder.path("m");
    for (const std::string &name : {own + ".0", own + ".1.old", std::string("m.tmp.1.0"), std::string("m.tmp.1.0.old"),
                                    std::string("m.tmp.2.17.old"), std::string("m.tmp.99999999999999999999.3")})
        folder.write(name, "left over");
    const char *others[] = {"m.tmp",      "m.tmp.1",     "m.tmp.1.x",  "m.tmp..1",  "m.tmp.1.",
                            "m.tmp.-1.0", "m.tmp.1.0.b", "mm.tmp.1.0", "n.tmp.1.0", "m.tmp.1.0.old.old"};
    for (const char *name : others) folder.write(name, "not ours");
    std::filesystem::create_directory(folder.path("m.tmp.3.0"));
    std::filesystem::create_symlink("m.tmp", folder.path("m.tmp.3.1"));
    TEST_ASSERT_EQUAL_INT(0, mkfifo(folder.path("m.tmp.3.2").c_str(), 0600));
    const std::string busy = folder.write("m.tmp.4.0", "being written");
    folder.write("m.tmp.4.0.old", "a second name");
    const int fd = open(busy.c_str(), O_RDONLY);
    TEST_ASSERT_EQUAL_INT(0, flock(fd, LOCK_EX));
    put(path, "fresh");
    TEST_ASSERT_EQUAL_STRING("m m.tmp m.tmp.-1.0 m.tmp..1 m.tmp.1 m.tmp.1. m.tmp.1.0.b m.tmp.1.0.old.old m.tmp.1.x "
                             "m.tmp.3.0 m.tmp.3.1 m.tmp.3.2 m.tmp.4.0 m.tmp.4.0.old mm.tmp.1.0 n.tmp.1.0",
                             folder.names().c_str());
    // A writer renames its file to `path` but keeps its lock and the .old file until the folder is
    // synced. The .old file must remain until the lock is released.
    std::filesystem::rename(busy, path);
    TempFolder other;
    std::filesystem::rename(folder.path("m.tmp.4.0.old"), other.path("m.tmp.4.0.old"));
    std::filesystem::rename(path, other.path("m"));
    put(other.path("m"), "newer");
    TEST_ASSERT_EQUAL_STRING("m m.tmp.4.0.old", other.names().c_str());
    close(fd);
    put(other.path("m"), "newest");
    TEST_ASSERT_EQUAL_STRING("m", other.names().c_str());
}

// Two writers of one file at a time must not remove each other's temporary files. The file of the
// writer that finishes last remains.
void test_writers_at_once() {
    TempFolder folder;
    const std::string path = folder.path("m");
    replace_file(path, [&](const Writer &write) {
        write("first", 5);
        put(path, "second");
        TEST_ASSERT_EQUAL_STRING("second", folder.read("m").c_str());
        check_replaceable(path);
    });
    TEST_ASSERT_EQUAL_STRING("first", folder.read("m").c_str());
    TEST_ASSERT_EQUAL_STRING("m", folder.names().c_str());
}

void test_replace_links() {
    TempFolder folder;
    folder.write("target", "old");
    std::filesystem::create_symlink("target", folder.path("link"));
    std::filesystem::create_directory(folder.path("below"));
    std::filesystem::create_symlink("nowhere", folder.path("dangling"));
    std::filesystem::create_symlink("below/made", folder.path("nowhere"));
    std::filesystem::create_symlink("no folder/made", folder.path("astray"));
    std::filesystem::create_symlink("loop", folder.path("loop"));
    put(folder.path("link"), "through the link");
    TEST_ASSERT_TRUE(std::filesystem::is_symlink(folder.path("link")));
    TEST_ASSERT_EQUAL_STRING("through the link", folder.read("target").c_str());
    put(folder.path("dangling"), "made through two links");
    TEST_ASSERT_TRUE(std::filesystem::is_symlink(folder.path("dangling")));
    TEST_ASSERT_TRUE(std::filesystem::is_symlink(folder.path("nowhere")));
    TEST_ASSERT_EQUAL_STRING("made through two links", folder.read("below/made").c_str());
    expect_error(MERCER_E_IO, "No such file or directory", [&] { put(folder.path("astray"), "text"); });
    expect_error(MERCER_E_IO, "Too many levels of symbolic links", [&] { put(folder.path("loop"), "text"); });
}

void test_replace_refusals() {
    TempFolder folder;
    std::string pipe = folder.path("pipe"), file = folder.write("file", "x");
    TEST_ASSERT_EQUAL_INT(0, mkfifo(pipe.c_str(), 0600));
    struct {
        std::string path;
        const char *part;
    } cases[] = {
        {"", "cannot write '': the path is empty"},
        {folder.path(), "Is a directory"},
        {folder.path("."), "Is a directory"},
        {"/", "cannot write '/': Is a directory"},
        {folder.path("missing/model"), "missing/model': No such file or directory"},
        {folder.path("missing/"), "No such file or directory"},
        {file + "/model", "Not a directory"},
        {file + "/", "Not a directory"},
        {pipe, "pipe': not a regular file"},
        {"/dev/null", "cannot write '/dev/null': not a regular file"},
        {folder.path(std::string(NAME_MAX + 1, 'n')), "File name too long"},
        {folder.path(std::string(PATH_MAX, 'n')), "File name too long"},
    };
    for (auto &c : cases) {
        bool called = false;
        expect_error(MERCER_E_IO, c.part, [&] { replace_file(c.path, [&](const Writer &) { called = true; }); });
        expect_error(MERCER_E_IO, c.part, [&] { check_replaceable(c.path); });
        TEST_ASSERT_FALSE(called);
    }
    TEST_ASSERT_EQUAL_STRING("file pipe", folder.names().c_str());
    chmod(file.c_str(), 0444);
    if (access(file.c_str(), W_OK) != 0) // root may write to any file
        expect_error(MERCER_E_IO, "Permission denied", [&] { put(file, "text"); });
}

void test_body_that_throws_or_swallows() {
    TempFolder folder;
    std::string path = folder.write("model", "old");
    expect_error(MERCER_E_CANCELLED, "stopped", [&] {
        replace_file(path, [](const Writer &write) {
            write("new", 3);
            fail(MERCER_E_CANCELLED, "stopped");
        });
    });
    inject(at_write, 1, ENOSPC);
    expect_error(MERCER_E_IO, "No space left on device", [&] {
        replace_file(path, [](const Writer &write) {
            try {
                write("new", 3);
            } catch (const Error &) {
            }
        });
    });
    TEST_ASSERT_EQUAL_STRING("old", folder.read("model").c_str());
    TEST_ASSERT_EQUAL_STRING("model", folder.names().c_str());
}

// After a failure, the old file must exist unchanged, or no file must exist if there was none.
// After a success, the new file must exist. No temporary file may remain unless unlink failed.
void replace_with_fault(int site, int nth, int error, bool exists) {
    TempFolder folder;
    std::string path = exists ? folder.write("model", "old file") : folder.path("model");
    inject(site, nth, error);
    int32_t code = MERCER_OK;
    std::string text;
    try {
        put(path, "the new file");
    } catch (const Error &e) {
        code = e.code();
        text = e.what();
    }
    std::string what = format("%s %d, errno %d: %s", site_names[site], nth, error, text.c_str());
    bool reached = fault.calls[site] >= nth, harmless = error == EINTR || error == short_count;
    bool must_fail = reached && !harmless && site != at_unlink && !(site == at_close && nth > 1);
    TEST_ASSERT_EQUAL_INT_MESSAGE(must_fail ? MERCER_E_IO : MERCER_OK, code, what.c_str());
    if (must_fail) {
        std::string wanted = "cannot write '" + path + "': " + strerror(error);
        TEST_ASSERT_EQUAL_STRING(wanted.c_str(), text.c_str());
    }
    const char *content = !must_fail ? "the new file" : exists ? "old file" : "";
    TEST_ASSERT_EQUAL_STRING_MESSAGE(content, folder.read("model").c_str(), what.c_str());
    if (site == at_unlink && !harmless) return; // a file that cannot be removed remains
    TEST_ASSERT_EQUAL_STRING_MESSAGE(must_fail && !exists ? "" : "model", folder.names().c_str(), what.c_str());
}

void test_every_fault_of_replace() {
    int before = open_descriptors();
    for (int site : {at_open, at_write, at_fsync, at_close, at_rename, at_unlink})
        for (int nth = 1; nth <= 3; ++nth)
            for (int error : {EIO, ENOSPC, EACCES, EINTR, short_count})
                for (bool exists : {false, true}) replace_with_fault(site, nth, error, exists);
    system_calls() = fault.real;
    TEST_ASSERT_EQUAL_INT(before, open_descriptors());
    TempFolder folder; // a file is also replaced in a folder that cannot be synced
    inject(at_fsync, 2, EINVAL);
    put(folder.path("model"), "text");
    TEST_ASSERT_EQUAL_STRING("text", folder.read("model").c_str());
}

void test_input() {
    TempFolder folder;
    std::string path = folder.write("in", "0123456789"), pipe = folder.path("pipe");
    InputFile file(path);
    char bytes[11] = "";
    file.read(0, bytes, 10);
    TEST_ASSERT_EQUAL_STRING("0123456789", bytes);
    TEST_ASSERT_EQUAL_INT64(10, file.size());
    for (int error : {EINTR, short_count}) {
        inject(at_pread, 1, error);
        file.read(2, bytes, 5);
        TEST_ASSERT_EQUAL_STRING_LEN("23456", bytes, 5);
        TEST_ASSERT_EQUAL_INT(2, fault.calls[at_pread]);
    }
    inject(at_pread, 1, EIO);
    expect_error(MERCER_E_IO, "in': Input/output error", [&] { file.read(0, bytes, 1); });
    std::filesystem::resize_file(path, 4);
    expect_error(MERCER_E_IO, "cannot read '" + path + "': the file became shorter", [&] { file.read(0, bytes, 10); });

    int before = open_descriptors();
    TEST_ASSERT_EQUAL_INT(0, mkfifo(pipe.c_str(), 0600));
    expect_error(MERCER_E_IO, "the path is empty", [] { InputFile(""); });
    expect_error(MERCER_E_IO, "No such file or directory", [&] { InputFile(folder.path("missing")); });
    expect_error(MERCER_E_IO, "Is a directory", [&] { InputFile(folder.path()); });
    expect_error(MERCER_E_IO, "not a regular file", [&] { InputFile file2(pipe); });
    inject(at_size, 1, EIO);
    expect_error(MERCER_E_IO, "Input/output error", [&] { InputFile file2(path); });
    inject(at_open, 1, EACCES);
    expect_error(MERCER_E_IO, "cannot read '" + path + "': Permission denied", [&] { InputFile file2(path); });
    inject(at_open, 1, EINTR);
    InputFile(path).read(0, bytes, 4);
    TEST_ASSERT_EQUAL_INT(before, open_descriptors());
    TEST_ASSERT_EQUAL_size_t(603, shown_path(std::string(5000, 'p')).size());
}

// ---- pipes

// Writes the text into the pipe from a thread, in two halves, and waits before each of them.
class Written {
  public:
    Written(const std::string &pipe, const std::string &text, int wait_ms)
        : thread_([=] {
              std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
              const int fd = ::open(pipe.c_str(), O_WRONLY);
              const size_t half = text.size() / 2;
              for (size_t at = 0; at < text.size();) {
                  const ssize_t done = ::write(fd, text.data() + at, at < half ? half - at : text.size() - at);
                  if (done <= 0) break;
                  at += static_cast<size_t>(done);
                  if (at == half) std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
              }
              ::close(fd);
          }) {}
    ~Written() { thread_.join(); }

  private:
    std::thread thread_;
};

std::string read_all(const InputFile &file) {
    std::string out(static_cast<size_t>(file.size()), '\0');
    file.read(0, out.data(), file.size());
    return out;
}

void test_pipes() {
    TempFolder folder;
    const std::string pipe = folder.path("pipe");
    TEST_ASSERT_EQUAL_INT(0, mkfifo(pipe.c_str(), 0600));
    std::string text;
    while (text.size() < 5'000'000) text += std::to_string(text.size()) + ",";
    RunSettings settings;
    settings.run.memory = 20'000'000;
    Run run(settings, nullptr);
    for (const std::string &sent : {std::string("1,2\n"), std::string(), text, text.substr(0, 1 << 20)}) {
        const Written written(pipe, sent, 100);
        const InputFile file(run, pipe);
        TEST_ASSERT_TRUE(read_all(file) == sent);
        TEST_ASSERT_TRUE(read_all(file) == sent); // a second read gives the same
        TEST_ASSERT_TRUE(file.stored_bytes() >= file.size());
        if (sent.size() > 3000000) {
            char part[10];
            file.read((1 << 20) - 5, part, 10);
            TEST_ASSERT_TRUE(std::string(part, 10) == text.substr((1 << 20) - 5, 10));
        }
    }
    TEST_ASSERT_EQUAL_INT64(0, run.budget()->used());
    for (int error : {EINTR, short_count, EIO}) {
        // After EIO the library closes the pipe; without another reader, the writer would then wait
        // in open.
        const int reader = error == EIO ? ::open(pipe.c_str(), O_RDWR) : -1;
        {
            const Written written(pipe, "1,2\n3,4\n", 50);
            inject(at_read, 1, error);
            if (error == EIO)
                expect_error(MERCER_E_IO, "pipe': Input/output error", [&] { InputFile file(run, pipe); });
            else
                TEST_ASSERT_EQUAL_STRING("1,2\n3,4\n", read_all(InputFile(run, pipe)).c_str());
        }
        if (reader >= 0) ::close(reader);
    }
    const int before = open_descriptors();
    RunSettings little;
    little.run.memory = 3'000'000;
    {
        Run small(little, nullptr);
        const int reader = ::open(pipe.c_str(), O_RDWR); // with a reader, the writer can write all of its text
        std::thread drain;
        {
            const Written written(pipe, text, 0);
            expect_error(MERCER_E_BUDGET, "budget", [&] { InputFile file(small, pipe); });
            drain = std::thread([&] {
                std::vector<char> rest(1 << 20);
                for (size_t left = text.size(); left > 0;) {
                    pollfd waiting{reader, POLLIN, 0};
                    if (::poll(&waiting, 1, 500) <= 0) break;
                    const ssize_t got = ::read(reader, rest.data(), rest.size());
                    if (got <= 0) break;
                    left -= std::min(left, static_cast<size_t>(got));
                }
            });
        }
        drain.join();
        ::close(reader);
    }
    mercer_run stopped{};
    stopped.struct_size = sizeof stopped;
    int32_t cancel = 1;
    stopped.cancel = &cancel;
    {
        Run cancelled({}, &stopped);
        expect_error(MERCER_E_CANCELLED, "cancel", [&] { InputFile file(cancelled, pipe); });
    }
    expect_error(MERCER_E_IO, "a pipe without a writer", [&] { InputFile file(run, pipe); });
    expect_error(MERCER_E_IO, "not a regular file", [&] { InputFile file(run, "/dev/null"); });
    TEST_ASSERT_EQUAL_INT(before, open_descriptors());
}

} // namespace

void setUp() { fault.real = fault.real.open ? fault.real : system_calls(); }
void tearDown() { system_calls() = fault.real; }

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_replace);
    RUN_TEST(test_replace_long_name);
    RUN_TEST(test_left_over);
    RUN_TEST(test_writers_at_once);
    RUN_TEST(test_replace_links);
    RUN_TEST(test_replace_refusals);
    RUN_TEST(test_body_that_throws_or_swallows);
    RUN_TEST(test_every_fault_of_replace);
    RUN_TEST(test_input);
    RUN_TEST(test_pipes);
    return UNITY_END();
}
