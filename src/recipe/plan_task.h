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
    bool weighted;        // the rows have weights, which take memory
    bool f32;             // tiles are in f32
    int64_t m;            // number of centres
    int64_t budget_left;  // bytes of the budget that the lift may use
    bool rows;            // centres are rows of the data; otherwise new points, which need a factor of their own
    int64_t handed;       // bytes of the factor that the reducer hands to the lift; 0: none
    double tol = 0;       // the tolerance that `auto` needs of the solver; 0: that of the recipe
    // Rough products and start vectors may be computed in f32, as in Prepared. Forecasts have not
    // read the data, and assume that they may.
    bool f32_serves = true;
    bool represents_rows = false; // the weight of each centre is the total weight of the rows assigned to it
};
// Fails with E_BUDGET if `bytes` exceed budget_left. how: what needs them, for the message.
void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how);

} // namespace mercer
