// The method `auto`: accuracy is asked for, not m.
#pragma once
#include "lift_projected.h"

namespace mercer {

// What `auto` found: either a projection with its proof, or that exact passes over the kernel matrix are the better way.
struct Road {
    bool exact = true;
    bool proved = true;  // exact passes have residuals of their own
    Reduction reduction; // of the projected road, factor and findings included; of the exact one, all rows
    double tol = 0;      // of the exact road's solver: relative to the first eigenvalue
    Json report = Json::object();
};
// What of that is open. exact: of all rows, whose lift takes these bytes; read: what reading takes. E_BUDGET: nothing is.
Roads find_roads(const PlanTask &exact, int64_t bytes, int64_t read);
// Into a forecast of the exact road.
void foresee_road(const PlanTask &exact, int64_t read, Forecast &ahead);
Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared, const Roads &roads);

} // namespace mercer
