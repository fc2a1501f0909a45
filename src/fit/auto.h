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
Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared, const Roads &roads);

} // namespace mercer
