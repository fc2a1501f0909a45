// What a running plugin operation may touch, and the table of services through which it does.
#pragma once
#include "../core/rng.h"
#include "problem.h"
#include "registry.h"

#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace mercer {} // namespace mercer

// Named by plugin.h; lives for one operation.
struct mercer_task {
    mercer_task(mercer::Run &run, mercer::Random random, mercer::Problem *problem = nullptr,
                std::map<std::string, double> *report = nullptr)
        : run(run), random(random), problem(problem), report(report) {}

    mercer::Run &run;
    mercer::Random random;
    mercer::Keeper *keeper = nullptr;            // nullptr: no checkpoint is written
    mercer::Problem *problem;                    // nullptr where the operation has none
    mercer::ForeseenProblem *foreseen = nullptr; // of a forecast
    std::map<std::string, double> *report;
    std::optional<mercer::Run::Span> done; // a reducer that says how far it is: its loops, here and there, say nothing
    std::list<mercer::Buffer<unsigned char>> arena;
    std::list<mercer::Block> blocks;
    std::mutex lock; // fail may be called by any thread
    char error[512] = "";
    int32_t error_code = 0;

    void *allocate(int64_t bytes);
    void record(int32_t code, const char *text) noexcept;
    // Runs body for a C caller; what it throws becomes this task's error.
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
        } catch (const std::exception &e) { // the library throws none of these: it came out of a plugin's callback
            record(MERCER_E_PLUGIN, mercer::format("a callback threw an exception: %s", e.what()).c_str());
            return MERCER_E_PLUGIN;
        } catch (...) {
            record(MERCER_E_PLUGIN, "a callback threw an exception");
            return MERCER_E_PLUGIN;
        }
    }
    // The operation returned status: throws what it failed with.
    void check(int32_t status, const mercer::Plugin &plugin);
    // Runs an operation of a plugin, and throws what it failed with.
    template <class F>
    void perform(const mercer::Plugin &plugin, const char *operation, F &&body) {
        check(mercer::operate(plugin, operation, body), plugin);
    }
    // A function that a plugin handed to a service returned status.
    void check_callback(int32_t status);
};

namespace mercer {

const mercer_host &host_table();

} // namespace mercer
