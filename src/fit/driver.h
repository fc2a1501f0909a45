// The functions of drivers; recipe/drivers.h has their traits. A fit prepares the rows, and the
// driver of its method does all that follows.
#pragma once
#include "fit_rows.h"

namespace mercer {

struct Driver {
    const DriverTraits &traits;
    // Forecasts memory, kernel values, passes and time of all fits that the method consists of.
    // Fails with E_BUDGET if the budget is too small.
    Forecast (*forecast)(const ForecastTask &task);
    // Receives `out` with the forecast and the prepared rows, and sets its other members.
    void (*fit)(const FitTask &task, Fitted &out);
};
const Driver &driver_named(const std::string &name); // fails with E_NAME, naming the nearest known driver

} // namespace mercer
