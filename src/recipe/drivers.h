// Drivers: a method's driver decides which fits are run for it. These are their traits, on which the
// parameters of a recipe depend; fit/driver.cpp has their functions.
#pragma once
#include <string>
#include <vector>

namespace mercer {

struct DriverTraits {
    const char *name, *summary;
    bool chooses_parts;  // it selects the centres and the lift itself: recipes have no rows for them
    bool takes_accuracy; // recipes have `accuracy`, from which the solver's tolerance follows
    bool certifies;      // it decides itself which evidence to collect: recipes have no rows for that
    bool solves;         // it may need a solver plugin, whatever the recipe's lift
    bool projects;       // its models project on directions in feature space, whatever the recipe's lift
};
const std::vector<DriverTraits> &drivers();
const DriverTraits &find_driver(const std::string &name);

} // namespace mercer
