#include "run.h"

#include "structs.h"
#include "threads.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mercer {

mercer_run read_run(const mercer_run *run) {
    if (!run) return {};
    const mercer_run full = read_struct(run, "run", sizeof run->struct_size);
    if (full.threads < 0 || full.threads > 1024)
        fail(MERCER_E_VALUE, "run: threads = %" PRId64 ", must be 0 to 1024", full.threads);
    if (full.memory < 0) fail(MERCER_E_VALUE, "run: memory = %" PRId64 ", must be >= 0", full.memory);
    return full;
}

namespace {

mercer_run merged(const mercer_run &settings, const mercer_run *given) {
    mercer_run run = read_run(given), out = settings;
    if (run.threads) out.threads = run.threads;
    if (run.memory) out.memory = run.memory;
    if (run.progress) out.progress = run.progress, out.user = run.user;
    if (run.cancel) out.cancel = run.cancel;
    if (run.checkpoint) out.checkpoint = run.checkpoint;
    return out;
}

// A resource that the system grants to this process. It is queried at most once a second, by
// whichever call comes first, because reading the affinity and the files of the control group takes
// tens of microseconds, which is longer than many calls. Any thread may ask, and so may a forked
// child.
class Lately {
  public:
    explicit constexpr Lately(int64_t (*ask)()) : ask_(ask) {}
    int64_t value() {
        constexpr int64_t second = 1'000'000'000;
        const int64_t now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
        const int64_t asked = asked_.load(std::memory_order_acquire);
        if (asked == 0 || now - asked >= second) {
            value_.store(ask_(), std::memory_order_relaxed);
            asked_.store(now, std::memory_order_release);
        }
        return value_.load(std::memory_order_relaxed);
    }

  private:
    int64_t (*ask_)();
    std::atomic<int64_t> value_{0}, asked_{0};
};
constinit Lately threads_granted(available_threads), memory_granted(default_budget);

} // namespace

Run::Run(const RunSettings &settings, const mercer_run *run)
    : run_(merged(settings.run, run)), log_(settings.log), log_user_(settings.log_user),
      threads_(run_.threads ? run_.threads : threads_granted.value()),
      budget_(std::make_shared<Budget>(run_.memory ? run_.memory : memory_granted.value())) {}

Run::Run(Run &parent, int64_t memory, int64_t threads)
    : parent_(&parent), run_{}, log_(parent.log_), log_user_(parent.log_user_), threads_(threads),
      budget_(std::make_shared<Budget>(memory, parent.budget_)) {
    run_.cancel = parent.run_.cancel;
}

void Run::expect(const Stages &stages) {
    double all = 0, sum = 0;
    for (const auto &[name, cost] : stages) all += cost;
    ends_.clear();
    for (const auto &[name, cost] : stages)
        ends_.emplace_back(name, until_ + (1 - until_) * (all > 0 ? (sum += cost) / all : 1));
}

void Run::stage(const char *name) {
    from_ = until_;
    until_ = 1;
    for (const auto &[expected, end] : ends_)
        if (std::strcmp(expected, name) == 0) until_ = end;
    span_from_ = 0, span_to_ = 1;
    stage_ = name;
    opened_.emplace_back(name, seconds());
    progress(0);
}

std::vector<std::pair<std::string, double>> Run::stage_seconds() const {
    std::vector<std::pair<std::string, double>> out;
    for (size_t s = 0; s < opened_.size(); ++s)
        out.emplace_back(opened_[s].first,
                         (s + 1 < opened_.size() ? opened_[s + 1].second : seconds()) - opened_[s].second);
    return out;
}

void Run::report(double fraction) noexcept {
    if (run_.cancel && __atomic_load_n(run_.cancel, __ATOMIC_RELAXED)) stop_ = true;
    // The parent may have been stopped by its progress callback, which the cancel flag does not
    // show.
    if (parent_ && parent_->stopped(0)) stop_ = true;
    if (!run_.progress || stop_) return;
    Clock::time_point now = Clock::now();
    const double inside = span_from_ + (span_to_ - span_from_) * std::clamp(fraction, 0.0, 1.0),
                 reached = from_ + (until_ - from_) * inside;
    // Reports are at least 100 ms apart, except the last one, which says that the call has
    // finished.
    const bool finished = reached >= 1 - 1e-9 && shown_ < 1 - 1e-9;
    if (now - reported_ < std::chrono::milliseconds(100) && !finished) return;
    reported_ = now;
    shown_ = std::max(shown_, reached);
    const double elapsed = seconds();
    if (finished) shown_ = 1;
    mercer_progress told{sizeof told, stage_, shown_, elapsed, finished ? 0 : remaining(elapsed)};
    set_callback_error("");
    const int32_t returned = run_.progress(run_.user, &told);
    if (returned == 0) return;
    if (const char *text = callback_error(); *text)
        std::snprintf(why_, sizeof why_, "%s", text);
    else
        std::snprintf(why_, sizeof why_, "progress returned %d", returned);
    stop_ = true;
}

// Estimates the remaining seconds; -1 means that it is too early to tell. The end is extrapolated
// from the fraction done so far and smoothed over several reports.
double Run::remaining(double elapsed) {
    constexpr double enough = 0.01, weight = 0.3;
    if (shown_ < enough) return -1;
    const double seen = elapsed / shown_;
    finish_ = finish_ < 0 ? seen : finish_ + weight * (seen - finish_);
    return std::max(finish_ - elapsed, 0.0);
}

void Run::progress(double fraction) {
    report(fraction);
    if (stop_) fail(MERCER_E_CANCELLED, "cancelled in stage '%s': %s", stage_, why_);
}

bool Run::stopped(double fraction) noexcept {
    if (pthread_equal(owner_, pthread_self()))
        report(fraction);
    else if ((run_.cancel && __atomic_load_n(run_.cancel, __ATOMIC_RELAXED)) || (parent_ && parent_->stop_))
        stop_ = true;
    return stop_.load(std::memory_order_relaxed);
}

void Run::log(int32_t level, const char *text) const {
    if (parent_) return parent_->log(level, text);
    if (log_ && pthread_equal(owner_, pthread_self())) log_(log_user_, level, text);
}

double Run::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

} // namespace mercer
