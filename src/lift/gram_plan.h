// Plans lifts that solve an eigenproblem of the kernel matrix of the centres.
#pragma once
#include "lift.h"

namespace mercer {

// Sets plan.solver_cost to the solver's own forecast for r eigenpairs of a matrix of order task.m,
// if it gets `begun` start vectors.
void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan);

// Returns the request to the solver for r eigenpairs as planned, given this number of start
// vectors. Both the forecast and the fit use it.
mercer_eigen_request request_of(const Plan &plan, int64_t r, int64_t start_columns);

// Returns how often the kernel matrix is evaluated for this number of products: in each product if
// it is streamed, and once if it is stored. If the stored matrix is rough, exact products evaluate
// it again; typically one product in five is exact.
double likely_passes(const Plan &plan, double products);

} // namespace mercer
