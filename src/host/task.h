// What a running operation of a plugin may use, and host_table(), the table of services that gives
// the operation access to it.
#pragma once
#include "../core/rng.h"
#include "problem.h"
#include "registry.h"

#include <list>
#include <map>
#include <mutex>
#include <optional>

// The state of one operation of a plugin. plugin.h declares this struct without its contents.
struct mercer_task {
    mercer_task(mercer::Run &run, mercer::Random random, mercer::Problem *problem = nullptr,
                std::map<std::string, double> *report = nullptr)
        : run(run), random(random), problem(problem), report(report) {}

    mercer::Run &run;
    mercer::Random random;
    mercer::Keeper *keeper = nullptr; // nullptr: no checkpoint is written
    mercer::Problem *problem;         // nullptr: the operation has no access to the data
    // Answers the services pivot_cost and gram_cost; nullptr if the operation is not one of a
    // reducer.
    mercer::ForeseenProblem *foreseen = nullptr;
    std::map<std::string, double> *report; // numbers for the report, by name; nullptr: not reported
    // Set once a reducer has reported progress: a span of length 0 at the fraction that it reported
    // last. While this span lives, loops inside services cannot move the progress.
    std::optional<mercer::Run::Span> done;
    std::list<mercer::Buffer<unsigned char>> arena;
    std::list<mercer::Block> blocks;
    std::mutex lock; // fail may be called by any thread
    char error[512] = "";
    int32_t error_code = 0;

    void *allocate(int64_t bytes);
    void record(int32_t code, const char *text) noexcept;
    // Runs the body of a C function and returns its status. An exception becomes the error of this
    // task.
    template <class F>
    int32_t guard(F &&body) noexcept {
        try {
            body();
            return MERCER_OK;
        } catch (const mercer::Error &e) {
            record(e.code(), e.what());
            return e.code();
        } catch (const std::bad_alloc &) {
            record(MERCER_E_MEMORY, "out of memory");
            return MERCER_E_MEMORY;
        } catch (const std::exception &e) {
            // The library throws no other exception, so this one came from a callback of a plugin.
            record(MERCER_E_PLUGIN, mercer::format("a callback threw an exception: %s", e.what()).c_str());
            return MERCER_E_PLUGIN;
        } catch (...) {
            record(MERCER_E_PLUGIN, "a callback threw an exception");
            return MERCER_E_PLUGIN;
        }
    }
    // Checks the status that an operation has returned, and throws the error with which the
    // operation failed if it is not OK.
    void check(int32_t status, const mercer::Plugin &plugin);
    // Runs an operation of a plugin, and throws the error if it fails.
    template <class F>
    void perform(const mercer::Plugin &plugin, const char *operation, F &&body) {
        check(mercer::operate(plugin, operation, body), plugin);
    }
    // Fails with E_PLUGIN, naming the plugin, if a figure of its forecast is negative, too large to
    // be added to others, or not finite.
    static void check_cost(const mercer_cost &cost, const mercer::Plugin &plugin);
    // Checks the status that a callback of a plugin has returned to a service, and throws an error
    // if it is not OK.
    void check_callback(int32_t status);
};

namespace mercer {

const mercer_host &host_table();

} // namespace mercer
