#include "drivers.h"

#include "../core/text.h"

namespace mercer {

const std::vector<DriverTraits> &drivers() {
    static const std::vector<DriverTraits> table = {
        {.name = "one fit",
         .summary = "one fit of all rows with the recipe's reducer and lift",
         .chooses_parts = false,
         .takes_accuracy = false,
         .certifies = false,
         .solves = false,
         .projects = false},
        {.name = "auto",
         .summary = "grows a factor until an accuracy is certified, or makes exact passes where these cost less",
         .chooses_parts = true,
         .takes_accuracy = true,
         .certifies = true,
         .solves = true,
         .projects = true},
    };
    return table;
}

const DriverTraits &find_driver(const std::string &name) {
    std::vector<std::string> known;
    for (const DriverTraits &driver : drivers()) {
        if (name == driver.name) return driver;
        known.push_back(driver.name);
    }
    fail_unknown("driver", name, known);
}

} // namespace mercer
