// The table of drivers, in the order of the rows of recipe/drivers.cpp.
#include "driver.h"

namespace mercer {

const Driver &driver_named(const std::string &name) {
    static const Driver table[] = {
        {find_driver("one fit"), forecast_once, fit_once},
        {find_driver("auto"), forecast_auto, fit_auto},
    };
    const DriverTraits &traits = find_driver(name);
    for (const Driver &driver : table)
        if (&driver.traits == &traits) return driver;
    fail(MERCER_E_UNSUPPORTED, "driver '%s' is not implemented", name.c_str());
}

} // namespace mercer
