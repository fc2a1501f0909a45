// The plan of a lift that solves an eigenproblem of the kernel matrix of its centres.
#pragma once
#include "lift.h"

namespace mercer {

// Sets plan.solver_cost to the solver's forecast for r eigenpairs of a matrix of order task.m, with
// `begun` start vectors.
void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan);

// What the solver is asked, in the forecast and in the fit: r eigenpairs, with this many start
// columns, to the demands of the plan.
mercer_eigen_request request_of(const Plan &plan, int64_t r, int64_t start_columns);

} // namespace mercer
