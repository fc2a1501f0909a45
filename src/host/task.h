// What a running plugin operation may touch, and the table of services through which it does.
#pragma once
#include "../core/block.h"
#include "../core/rng.h"
#include "registry.h"

#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace mercer {

// The problem of a reducer: kernel values of the data. Implemented by fit/problem.cpp; all of it on the calling thread.
class Problem {
  public:
    virtual ~Problem() = default;
    virtual mercer_shape shape() const = 0;
    virtual void visit(const mercer_visit &visit, const mercer_consumer &consumer) = 0;
    virtual void columns(const int64_t *index, int64_t count, double *out, int64_t ldo) = 0;
    virtual void pairs(const int64_t *i, const int64_t *j, int64_t count, double *out) = 0;
    virtual void rows(const int64_t *index, int64_t count, double *out) = 0;
    virtual void weights(double *out) = 0;
    virtual void landmarks(const int64_t **index, const void **points) = 0;
    virtual void radial(double *values, int64_t count) const = 0;
    virtual void nearest(const mercer_visit &to, double *square, int64_t *number) = 0;
    virtual void give(int64_t count, const int64_t *index, const void *points, const double *weights) = 0;
    // Memory of results lives in the task.
    virtual mercer_pivots pivot_cholesky(mercer_task &task, const mercer_pivot_rule &rule,
                                         const mercer_pivot_stop &stop) = 0;
};

// Bytes of what computes tiles: the scratch of a thread, panels of rows once they are loaded, what loading takes beside them.
struct TileBytes {
    int64_t scratch = 0, panel = 0, row = 0, loading_row = 0;
    int64_t held(int64_t panels, int64_t rows) const { return panels * panel + rows * row; }
    int64_t loading(int64_t rows) const { return rows * loading_row; }
};

// Where a solver's state is kept between runs. Implemented by fit/checkpoint.cpp.
class Keeper {
  public:
    virtual ~Keeper() = default;
    virtual void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) = 0;
    virtual bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) = 0;
};

} // namespace mercer

// Named by plugin.h; lives for one operation.
struct mercer_task {
    mercer_task(mercer::Run &run, mercer::Random random, mercer::Problem *problem = nullptr,
                std::map<std::string, double> *report = nullptr)
        : run(run), random(random), problem(problem), report(report) {}

    mercer::Run &run;
    mercer::Random random;
    mercer::Keeper *keeper = nullptr; // nullptr: no checkpoint is written
    mercer::Problem *problem;         // nullptr where the operation has none
    mercer::TileBytes tiles;          // of the problem, for forecasts
    bool foresees_pivots = false;     // a forecast asked for pivot_cost, which has the tiles in it
    int64_t factor_bytes = 0;         // what the factor then takes, where it is held
    bool holds_factor = true;         // partial Cholesky factors stay in memory, else their columns are made again
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

// What pivot_cholesky takes (fit/pivots_service.cpp).
mercer_cost pivot_cost(mercer_task &task, const mercer_shape &shape, const mercer_pivot_stop &stop);

} // namespace mercer
