// Drivers: the driver of a method decides of which fits the method consists. This file has the
// traits of drivers, on which the parameters of a recipe depend; fit/driver.cpp has their
// functions.
#pragma once
#include <string>
#include <vector>

namespace mercer {

struct DriverTraits {
    const char *name, *summary;
    bool chooses_parts;  // it chooses reducer and lift itself, so recipes lack these parameters
    bool takes_accuracy; // recipes have the parameter `accuracy`, which replaces the solver's tolerance
    bool certifies;      // it chooses the evidence for certificates, so recipes lack those parameters
    bool solves;         // it may need a solver plugin, whatever the recipe's lift is
    bool projects;       // its models project on directions in feature space, whatever the recipe's lift is
};
const std::vector<DriverTraits> &drivers();
const DriverTraits &find_driver(const std::string &name);

} // namespace mercer
