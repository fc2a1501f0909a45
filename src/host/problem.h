// Interfaces through which an operation of a plugin reaches the data of its run: the problem of a
// reducer, its forecast, the stored state of a solver. Folders that build on this one implement
// them.
#pragma once
#include "../core/block.h"

namespace mercer {

// The problem of a reducer, which gives access to the data and their kernel values.
// fit/reducer_view.cpp implements it. All functions run on the calling thread.
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
    // The result contains pointers to arrays, which belong to the task.
    virtual mercer_pivots pivot_cholesky(mercer_task &task, const mercer_pivot_rule &rule,
                                         const mercer_pivot_stop &stop) = 0;
    virtual mercer_gram gram(int32_t flags) = 0; // the problem owns what the result points to
};

// A problem of which only the shape is known, for the forecast of a reducer.
// factor/pivot_service.cpp implements it.
class ForeseenProblem {
  public:
    virtual ~ForeseenProblem() = default;
    virtual mercer_cost pivot_cost(const mercer_task &task, const mercer_shape &shape,
                                   const mercer_pivot_stop &stop) = 0;
    virtual mercer_cost gram_cost(const mercer_task &task, const mercer_shape &shape, int32_t flags,
                                  int64_t columns) = 0;
};

// Saves the state of a solver, and returns it to a later run, which resumes from it.
// lift/solver_state.cpp implements it.
class Keeper {
  public:
    virtual ~Keeper() = default;
    virtual void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) = 0;
    virtual bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) = 0;
};

} // namespace mercer
