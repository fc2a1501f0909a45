// The functions of drivers, whose traits are in recipe/drivers.h. A fit prepares the rows and leaves
// the rest to the driver of its method.
#pragma once
#include "fit_rows.h"

namespace mercer {

struct Driver {
    const DriverTraits &traits;
    // Foresees what the fits of the method need together: memory, kernel values, passes, time. Fails
    // with E_BUDGET if the budget is too small.
    Forecast (*forecast)(const ForecastTask &task);
    // Receives the forecast and the prepared rows in `out`, and fills in all the rest.
    void (*fit)(const FitTask &task, Fitted &out);
};
const Driver &driver_named(const std::string &name); // fails with E_NAME, naming the nearest known driver

} // namespace mercer
