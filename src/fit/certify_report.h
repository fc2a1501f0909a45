// Certificates as the report has them: {name, value, kind, probability, component, ...}.
#pragma once
#include "../model/model.h"
#include "certify.h"

namespace mercer {

// failure: probability that it is wrong; 0: certain.
Json certificate_entry(const char *name, double value, double failure);
// The first r of bounds, divided by total.
Json eigenvalue_entries(const Bounds &bounds, int64_t r, double failure, double total);

} // namespace mercer
