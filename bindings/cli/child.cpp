#include "child.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <random>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
// If SANITIZED is 1, address space is not limited: a sanitizer reserves terabytes of it.
#define SANITIZED 0
#endif

namespace cli {

namespace {

// Descriptors in the child. The token proves to the parent that the child came to its end without a
// fault. It waits in a pipe that is read only at the very end, not in memory or on the command
// line, so no plugin can send it to the parent by accident.
constexpr int report_fd = 3, token_fd = 4;
constexpr size_t token_size = 32, most_printed = 4096, most_lines = 10000, most_of_a_line = 65536;

struct Pipe {
    int in = -1, out = -1;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw system_failure("a pipe", "create");
        in = ends[0], out = ends[1];
    }
    ~Pipe() { close_in(), close_out(); }
    Pipe(const Pipe &) = delete;
    void close_in() { close_end(in); }
    void close_out() { close_end(out); }

  private:
    static void close_end(int &end) {
        if (end >= 0) ::close(end);
        end = -1;
    }
};

std::string make_token() {
    std::random_device random;
    std::string token;
    while (token.size() < token_size) token += "0123456789abcdef"[random() % 16];
    return token;
}

// Runs in the child between fork and exec, where only system calls are safe.
[[noreturn]] void become_child(char *const *argv, pid_t parent, int report, int token, int output) {
    ::setpgid(0, 0);
    // In a process group of its own, the child does not receive SIGINT from the terminal. It is
    // therefore killed when its parent ends.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int null = ::open("/dev/null", O_RDONLY);
    const int from[] = {null, output, output, report, token};
    // Copies of the descriptors, with numbers above all those that dup2 replaces below.
    int high[5];
    for (int i = 0; i < 5; ++i) high[i] = ::fcntl(from[i], F_DUPFD_CLOEXEC, 16);
    for (int i = 0; i < 5; ++i)
        if (::dup2(high[i], i) < 0) ::_exit(127);
    ::execv("/proc/self/exe", argv);
    ::_exit(127);
}

// Passes on what can be read without waiting, at most a megabyte. Returns false at the end of the
// stream.
template <class Take>
bool drain(int fd, Take &&take) {
    char bytes[65536];
    for (int i = 0; i < 16; ++i) {
        const ssize_t got = ::read(fd, bytes, sizeof bytes);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (got == 0) return false;
        take(std::string(bytes, static_cast<size_t>(got)));
    }
    return true;
}

bool has_ended(pid_t pid, int options) {
    siginfo_t about = {};
    while (::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOWAIT | options) != 0)
        if (errno != EINTR) return true;
    return about.si_pid == pid;
}

// Kills and reaps the processes that the child left, which are children of this process by now,
// because it is their subreaper. Returns whether there were any.
bool kill_orphans() {
    bool any = false;
    for (;;) {
        std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
        bool listed = false;
        for (pid_t orphan; children >> orphan; listed = true) ::kill(orphan, SIGKILL);
        const pid_t got = ::waitpid(-1, nullptr, listed ? 0 : WNOHANG);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return any;
        any = true;
    }
}

class Watch {
  public:
    Watch(pid_t pid, int report, int output) : pid_(pid), fds_{{report, POLLIN, 0}, {output, POLLIN, 0}} {
        for (const pollfd &fd : fds_) ::fcntl(fd.fd, F_SETFL, O_NONBLOCK);
    }

    Child run(int seconds, const std::string &token) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
        for (bool ended = false; !ended;) {
            ended = has_ended(pid_, WNOHANG);
            if (!ended && std::chrono::steady_clock::now() > deadline) {
                child_.timed_out = true;
                ::kill(pid_, SIGKILL);
                ended = has_ended(pid_, 0);
            }
            read_all();
            if (!ended) ::poll(fds_, 2, 20);
        }
        while (::waitpid(pid_, &child_.status, 0) < 0 && errno == EINTR) {
        }
        ::kill(-pid_, SIGKILL);
        child_.left_processes = kill_orphans();
        child_.token = !child_.lines.empty() && child_.lines.back() == token;
        return std::move(child_);
    }

  private:
    void read_all() {
        // The first lines are stored, and always the last one, which may be the token.
        auto lines = [this](const std::string &bytes) {
            for (const char c : bytes) {
                if (c != '\n') {
                    if (line_.size() < most_of_a_line) line_ += c;
                    continue;
                }
                if (child_.lines.size() == most_lines) child_.lines.pop_back();
                child_.lines.push_back(std::exchange(line_, ""));
            }
        };
        auto printed = [this](const std::string &bytes) {
            child_.printed += bytes.substr(0, most_printed - std::min(child_.printed.size(), most_printed));
        };
        if (fds_[0].fd >= 0 && !drain(fds_[0].fd, lines)) fds_[0].fd = -1;
        if (fds_[1].fd >= 0 && !drain(fds_[1].fd, printed)) fds_[1].fd = -1;
    }

    pid_t pid_;
    pollfd fds_[2];
    Child child_;
    std::string line_;
};

} // namespace

Child run_child(const Words &words, int seconds) {
    const std::string token = make_token();
    Pipe report, secret, output;
    if (::write(secret.out, token.data(), token.size()) != static_cast<ssize_t>(token.size()))
        throw system_failure("a pipe", "write");
    secret.close_out();
    Words own = {"mercer"};
    own.insert(own.end(), words.begin(), words.end());
    std::vector<char *> argv;
    for (std::string &word : own) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::fflush(nullptr);
    // Processes that the child leaves behind become children of this process.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t parent = ::getpid(), pid = ::fork();
    if (pid < 0) throw system_failure("a child process", "start");
    if (pid == 0) become_child(argv.data(), parent, report.out, secret.in, output.out);
    ::setpgid(pid, pid);
    report.close_out(), output.close_out(), secret.close_in();
    return Watch(pid, report.in, output.in).run(seconds, token);
}

void limit_child(int seconds) {
    auto limit = [](__rlimit_resource what, rlim_t most) {
        rlimit now = {};
        ::getrlimit(what, &now);
        now.rlim_cur = std::min(now.rlim_max, most);
        now.rlim_max = now.rlim_cur;
        ::setrlimit(what, &now);
    };
    constexpr rlim_t mebibyte = 1 << 20, threads = 2;
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, threads * static_cast<rlim_t>(seconds) + 1);
    limit(RLIMIT_FSIZE, 64 * mebibyte);
    limit(RLIMIT_NOFILE, 256);
    if (SANITIZED) return;
    // The pages of address space that are in use already, to which the limit is added. OpenBLAS's
    // buffers are among them, and their size depends on the number of processors.
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    if (pages > 0)
        limit(RLIMIT_AS, static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + 1024 * mebibyte);
}

void report_to_parent(const std::string &line) {
    const std::string text = line + "\n";
    // The write fails if a plugin has closed the pipe. The parent will then miss the token.
    if (::write(report_fd, text.data(), text.size()) < 0) return;
}

void end_child_well() {
    char token[token_size];
    const ssize_t got = ::read(token_fd, token, sizeof token);
    if (got > 0) report_to_parent(std::string(token, static_cast<size_t>(got)));
    ::_exit(0);
}

} // namespace cli
