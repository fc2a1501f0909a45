#include "eigenpairs.h"

#include "gram_plan.h"

#include "../core/rounding.h"
#include "../core/tall.h"

#include <algorithm>
#include <cmath>

namespace mercer {

namespace {

// Checks what plugin.h requires of a solver's result, as far as O(n r) operations can: the values
// descend, and the vectors have length 1. The tolerance is sqrt(u): rounding in the blocks' type
// changes lengths by only a few units u, and Ritz values by a few u times the largest, whereas a
// faulty result (columns that were never written, or not normalised) is off by orders of magnitude
// more than sqrt(u).
void check_pairs(const Plugin &solver, const std::vector<double> &values, const std::vector<double> &lengths,
                 bool f32) {
    const char *name = solver.name.c_str();
    const double room = std::sqrt(unit_roundoff(f32));
    double largest = 0;
    for (size_t j = 0; j < values.size(); ++j) {
        if (!std::isfinite(values[j]) || !std::isfinite(lengths[j]))
            fail(MERCER_E_NUMERICAL, "solver %s gave a pair that is not finite", name);
        largest = std::max(largest, std::fabs(values[j]));
    }
    for (size_t j = 0; j < values.size(); ++j) {
        if (j > 0 && values[j] > values[j - 1] + room * largest)
            fail(MERCER_E_PLUGIN, "solver %s gave eigenvalue %zu = %g after %g, must descend", name, j, values[j],
                 values[j - 1]);
        if (!(std::fabs(lengths[j] - 1) <= room))
            fail(MERCER_E_PLUGIN, "solver %s gave vector %zu of length %g, must be 1", name, j, lengths[j]);
    }
}

} // namespace

Eigenpairs solve(Run &run, const Recipe &recipe, const Plan &plan, const Operator &op, double scale, int64_t r,
                 const Start &start, std::map<std::string, double> &report, Keeper *keeper) {
    Eigenpairs out;
    out.values.resize(static_cast<size_t>(r));
    out.residuals.resize(static_cast<size_t>(r));
    out.vectors = Block(run, op.n(), r, op.f32());
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver), nullptr, &report);
    task.keeper = keeper;
    struct Asked {
        mercer_task &task;
        const Start &start;
    } asked{task, start};
    mercer_operator c_op = op.c_operator();
    mercer_eigen_request request = request_of(plan, r, start.count);
    request.rough = op.has_rough();
    request.scale = scale;
    request.user = &asked;
    request.start = [](void *user, mercer_range to) -> int32_t {
        const Asked &from = *static_cast<Asked *>(user);
        return from.task.guard([&] { from.start.write(to); });
    };
    mercer_eigen_result result{};
    result.struct_size = sizeof result;
    result.values = out.values.data();
    result.vectors = columns(out.vectors);
    result.residuals = out.residuals.data();
    task.perform(*plan.solver, "solve", [&] {
        return plan.solver->solver.solve(&host_table(), &task, plan.solver_params.values(), &c_op, &request, &result);
    });
    std::vector<double> norms(static_cast<size_t>(r));
    tall_norms(run, columns(out.vectors), norms.data());
    check_pairs(*plan.solver, out.values, norms, op.f32());
    if (!std::isfinite(result.most_negative))
        fail(MERCER_E_PLUGIN, "solver %s returned most_negative = %g, must be finite", plan.solver->name.c_str(),
             result.most_negative);
    out.most_negative = result.most_negative;
    out.converged = result.converged != 0;
    return out;
}

} // namespace mercer
