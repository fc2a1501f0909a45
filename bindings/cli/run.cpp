#include "run.h"
#include "report.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>

namespace cli {

namespace {

std::sig_atomic_t cancel_flag; // the library reads it atomically, as an int32_t
static_assert(sizeof cancel_flag == sizeof(int32_t));

constexpr int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};

// Sets the handler of all signals in `stops`. SIGHUP stays ignored if it was, as under nohup.
void on_stop(void (*handler)(int)) {
    struct sigaction action = {}, before = {};
    action.sa_handler = handler;
    const bool deaf = ::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    for (const int signal : stops)
        if (signal != SIGHUP || !deaf) ::sigaction(signal, &action, nullptr);
}

extern "C" void ask_to_stop(int) {
    __atomic_store_n(&cancel_flag, 1, __ATOMIC_RELAXED);
    on_stop(SIG_DFL);
}

std::string minutes(double seconds) {
    const auto whole = static_cast<long long>(std::ceil(seconds));
    char text[48];
    if (whole >= 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
    return text;
}

// Seconds between two lines of progress; also the shortest time between the two moments of a Pace.
constexpr double every = 10;

// The share of the work that the bar shows. It stays below 1, so that the bar is not full before
// the call ends.
double shown_share(const mercer_progress &progress) { return std::clamp(progress.fraction, 0.0, 0.99); }

// The time left as a text, such as ", 0:05 left", which begins with `before`. It is the library's
// estimate, or a longer one if the recent speed suggests that. "" if there is no estimate, or if
// nothing has moved lately.
std::string time_left(Pace &pace, const mercer_progress &progress, const char *before) {
    const double share = shown_share(progress), now = progress.elapsed;
    if (now < pace.elapsed[1]) pace = Pace(); // the time has gone back: this is another call
    if (now >= pace.elapsed[1] + every) {
        pace.elapsed[0] = pace.elapsed[1], pace.share[0] = pace.share[1];
        pace.elapsed[1] = now, pace.share[1] = share;
    }
    double left = progress.remaining;
    if (const double window = now - pace.elapsed[0]; left >= 0 && window >= every) {
        const double moved = share - pace.share[0];
        left = moved > 0 ? std::max(left, (1 - share) / moved * window) : -1;
    }
    return left < 0 ? "" : before + minutes(left) + " left";
}

int32_t show_progress(void *user, const mercer_progress *progress) {
    constexpr int width = 30;
    const double share = shown_share(*progress);
    const auto filled = static_cast<size_t>(std::lround(share * width));
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    const std::string left = time_left(*static_cast<Pace *>(user), *progress, "  ");
    std::fprintf(stderr, "\r\033[K%-8.16s [%s] %3.0f %%%s", progress->stage ? progress->stage : "", bar.c_str(),
                 100 * share, left.c_str());
    return 0;
}

// Progress for log files, where there is no terminal: one line every ten seconds.
int32_t write_progress(void *user, const mercer_progress *progress) {
    Pace &pace = *static_cast<Pace *>(user);
    // time_left() is called for each report, although few lines are written, because it updates the
    // pace.
    const std::string left = time_left(pace, *progress, ", ");
    if (progress->elapsed < pace.line_at) return 0;
    pace.line_at = every * (std::floor(progress->elapsed / every) + 1);
    std::fprintf(stderr, "mercer: %.16s: %.0f %% after %s%s\n", progress->stage ? progress->stage : "",
                 100 * shown_share(*progress), minutes(progress->elapsed).c_str(), left.c_str());
    return 0;
}

} // namespace

Run::Run(const RunOptions &options, const char *checkpoint) : run_(sized<mercer_run>()) {
    run_.threads = options.threads;
    run_.memory = static_cast<int64_t>(options.memory);
    run_.checkpoint = checkpoint;
    run_.user = &pace_;
    run_.progress = options.quiet ? nullptr : ::isatty(STDERR_FILENO) ? show_progress : write_progress;
    run_.cancel = &cancel_flag;
    on_stop(ask_to_stop);
}

Run::~Run() {
    clear_progress();
    on_stop(SIG_DFL);
}

mercer_run run_beside(const mercer_run &run, double bytes, const std::string &what) {
    mercer_run left = run;
    // A budget of 0 means a share of the memory that is available when the call begins. The command
    // has allocated these bytes by then, so they are not part of it.
    if (run.memory == 0) return left;
    if (bytes >= static_cast<double>(run.memory))
        throw Failure(MERCER_E_BUDGET, what + " need " + human_bytes(bytes) + ", the budget is " +
                                           human_bytes(static_cast<double>(run.memory)));
    left.memory -= static_cast<int64_t>(bytes);
    return left;
}

void check_cancelled() {
    if (__atomic_load_n(&cancel_flag, __ATOMIC_RELAXED)) throw Failure(MERCER_E_CANCELLED, "interrupted");
}

void clear_progress() {
    if (::isatty(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
}

} // namespace cli
