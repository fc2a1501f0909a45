// One running call: its threads, budget, progress and cancel point. Made at the C boundary from a mercer_run and passed
// down by reference.
#pragma once
#include "blas.h"
#include "memory.h"

#include <chrono>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

namespace mercer {

// What a context says where a run is silent, and where log lines go.
struct RunSettings {
    mercer_run run{};
    void (*log)(void *user, int32_t level, const char *text) = nullptr;
    void *log_user = nullptr;
};

// run as the caller compiled it, widened to ours; checks struct_size and ranges.
mercer_run read_run(const mercer_run *run);

class Run {
  public:
    Run(const RunSettings &settings, const mercer_run *run);
    // A child: of so much of the parent's budget, with the parent's cancel and log, and without progress or checkpoint of its own.
    // On the thread that runs it; the parent lives longer.
    Run(Run &parent, int64_t memory, int64_t threads);
    Run(const Run &) = delete;

    int64_t threads() const { return threads_; }
    std::string checkpoint() const { return run_.checkpoint ? run_.checkpoint : ""; } // a file; empty: none
    const std::shared_ptr<Budget> &budget() const { return budget_; }
    template <class T>
    Buffer<T> buffer(int64_t rows, int64_t cols = 1) {
        return Buffer<T>(budget_, rows, cols);
    }

    // What is left of the call, and what each stage will cost, in any unit: its progress is shared out so.
    using Stages = std::vector<std::pair<const char *, double>>;
    void expect(const Stages &stages);
    // Opens a stage; loops inside fill what was expected of it (the rest, where nothing was).
    void stage(const char *name);
    // Seconds of the stages so far, in order, the open one included.
    std::vector<std::pair<std::string, double>> stage_seconds() const;

    // While one lives, loops fill only [from, to] of what they would.
    class Span {
      public:
        Span(Run &run, double from, double to) : run_(run), from_(run.span_from_), to_(run.span_to_) {
            run.span_from_ = from_ + (to_ - from_) * from;
            run.span_to_ = from_ + (to_ - from_) * to;
        }
        ~Span() { run_.span_from_ = from_, run_.span_to_ = to_; }
        Span(const Span &) = delete;

      private:
        Run &run_;
        double from_, to_;
    };

    // On the calling thread, between steps: says how much of the span is done; throws E_CANCELLED where asked to stop.
    void progress(double fraction);
    // On any thread, inside a loop: has someone asked to stop? On the calling thread it reports progress as well.
    bool stopped(double fraction) noexcept;

    // Log lines appear on the calling thread; those of other threads are dropped.
    void log(int32_t level, const char *text) const;
    double seconds() const;

  private:
    using Clock = std::chrono::steady_clock;
    void report(double fraction) noexcept;
    double remaining(double elapsed);

    Run *parent_ = nullptr;
    mercer_run run_;
    void (*log_)(void *, int32_t, const char *);
    void *log_user_;
    int64_t threads_;
    std::shared_ptr<Budget> budget_;
    Budget::Scope counting_{budget_.get()};
    BlasScope blas_;
    pthread_t owner_ = pthread_self();
    Clock::time_point begin_ = Clock::now(), reported_{};
    const char *stage_ = "start";
    std::vector<std::pair<const char *, double>> opened_; // stages and when, in seconds
    Stages ends_;                                         // of those expected, as shares of the call
    double from_ = 0, until_ = 0, span_from_ = 0, span_to_ = 1, shown_ = 0, finish_ = -1;
    std::atomic<bool> stop_{false};
    char why_[256] = "the cancel flag is not 0"; // or what the progress callback said
};

} // namespace mercer
