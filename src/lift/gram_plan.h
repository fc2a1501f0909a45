// The plan of a lift that solves an eigenproblem of the kernel matrix of its centres.
#pragma once
#include "lift.h"

namespace mercer {

// Sets plan.solver_cost to the solver's forecast for r eigenpairs of a matrix of order task.m, with
// `begun` start vectors.
void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan);

} // namespace mercer
