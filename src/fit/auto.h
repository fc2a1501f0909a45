// The method `auto`: accuracy is asked for, not m.
#pragma once
#include "lift_projected.h"

namespace mercer {

// What `auto` found: either a projection with its proof, or that exact passes over the kernel matrix are the better way.
struct Road {
    bool exact = true;
    Reduction reduction; // of the projected road, factor and findings included; of the exact one, all rows
    double tol = 0;      // of the exact road's solver: relative to the first eigenvalue
    Json report = Json::object();
};
// What is known of that before: into a forecast of the exact road.
void foresee_road(const Source &source, bool f32, Forecast &ahead);
Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared);

} // namespace mercer
