// One running call: its threads, budget, progress and cancellation. A Run is created at the C
// boundary from a mercer_run and passed down by reference.
#pragma once
#include "blas.h"
#include "memory.h"

#include <chrono>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

namespace mercer {

// The settings of a context, which apply where a field of the caller's mercer_run is 0, and the
// function that receives log lines.
struct RunSettings {
    mercer_run run{};
    void (*log)(void *user, int32_t level, const char *text) = nullptr;
    void *log_user = nullptr;
};

// Copies the caller's mercer_run, whatever its size was when the caller was compiled, and checks
// struct_size and the ranges of its fields.
mercer_run read_run(const mercer_run *run);

class Run {
  public:
    Run(const RunSettings &settings, const mercer_run *run);
    // Makes a child: a run with a share of the parent's budget and with its cancel flag and log,
    // but without progress and checkpoint. The child must be constructed on the thread that runs
    // it, and the parent must outlive it.
    Run(Run &parent, int64_t memory, int64_t threads);
    Run(const Run &) = delete;

    int64_t threads() const { return threads_; }
    std::string checkpoint() const { return run_.checkpoint ? run_.checkpoint : ""; } // empty: none
    const std::shared_ptr<Budget> &budget() const { return budget_; }
    template <class T>
    Buffer<T> buffer(int64_t rows, int64_t cols = 1) {
        return Buffer<T>(budget_, rows, cols);
    }

    // Declares the stages that remain of the call and the cost of each, all in the same unit. The
    // progress that remains is divided among the stages in proportion to their costs.
    using Stages = std::vector<std::pair<const char *, double>>;
    void expect(const Stages &stages);
    // Opens a stage. Loops inside it fill its share of the progress or, if the stage was not
    // declared, all that remains.
    void stage(const char *name);
    // Returns the name of each stage so far and the seconds spent in it, in order; the last one may
    // still be open.
    std::vector<std::pair<std::string, double>> stage_seconds() const;

    // While a Span lives, loops fill only the part [from, to] of the progress that they would fill
    // otherwise.
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

    // Reports which fraction of the span is done, and throws E_CANCELLED if the call was asked to
    // stop. Only the calling thread may call it, between steps.
    void progress(double fraction);
    // Returns true if the call was asked to stop. Any thread may call it inside a loop; on the
    // calling thread it reports progress as well.
    bool stopped(double fraction) noexcept;

    // Log lines are written on the calling thread only; those of other threads are dropped.
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
    std::vector<std::pair<const char *, double>> opened_; // name and start (seconds) of each stage
    Stages ends_; // name of each declared stage and the progress of the call, 0 to 1, at its end
    // The open stage fills the progress of the call from from_ to until_; the current span fills
    // the shares from span_from_ to span_to_ of this stage. shown_ is the progress last reported,
    // and finish_ the estimated duration of the whole call in seconds (-1: not estimated yet).
    double from_ = 0, until_ = 0, span_from_ = 0, span_to_ = 1, shown_ = 0, finish_ = -1;
    std::atomic<bool> stop_{false};
    // The reason that the message of a stopped call gives. It is overwritten if the progress
    // callback asks to stop.
    char why_[256] = "the cancel flag is not 0";
};

} // namespace mercer
