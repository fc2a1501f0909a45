#include "plan_task.h"

#include <cinttypes>
#include <cmath>

namespace mercer {

void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how) {
    if (bytes <= task.budget_left) return;
    const double limit = static_cast<double>(task.run.budget()->limit()) / 0x1p20,
                 needed = limit + static_cast<double>(bytes - task.budget_left) / 0x1p20,
                 all = std::ceil(needed * 1000) / 1000; // rounded up, so that a budget of the printed size suffices
    const char *instead = "";
    if (task.m == task.source.rows() && !task.recipe.reducer())
        instead = driver_of(task.recipe).chooses_parts
                      ? "; 'nystrom' keeps fewer"
                      : "; an exact model keeps all rows: 'auto', 'nystrom' and the reducer 'rpcholesky' keep fewer";
    fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.3f MiB in total (%s), but the memory budget is %.3f MiB%s",
         task.m, all, how, limit, instead);
}

} // namespace mercer
