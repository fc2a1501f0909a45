// What is known of a fit before its lift begins: recipe, kernel, shape and budget.
#pragma once
#include "../gram/data.h"
#include "recipe.h"

namespace mercer {

struct PlanTask {
    Run &run;
    const Recipe &recipe;
    const Expression &kernel;
    const Source &source; // the data
    bool weighted;        // its rows have weights, which take memory
    bool f32;
    int64_t m; // centres
    int64_t budget_left;
    bool rows;              // centres are rows of the data; otherwise new points, which need a factor of their own
    int64_t handed;         // bytes of the factor that the reducer hands over; 0: none
    double tol = 0;         // tolerance that `auto` needs; 0: use the recipe's
    bool f32_serves = true; // as in Prepared; forecasts have not read the data and assume it
    bool represents_rows = false; // each centre has the total weight of the rows assigned to it
};
// Fails with E_BUDGET if more bytes are needed than budget_left. how: what needs them.
void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how);

} // namespace mercer
