// Certificates as the report has them: {name, component, value, kind, probability, measured, stderr, by ...}. One entry claims
// one thing: `value` is proved, for certain or with `probability`; `measured` is what was found of the same quantity, where it
// was looked at, and `stderr` its standard error, where that was in a sample. What nothing proves is no certificate.
#pragma once
#include "../model/model.h"
#include "bounds.h"

namespace mercer {

// failure: probability that it is wrong; 0: certain.
Json certificate_entry(const char *name, double value, double failure);
Json certificate_entry(const char *name, double value, double failure, const Seen &measured);
// Of component j and those before it.
Json component_entry(const char *name, int64_t j, const char *by, double value, double failure);
// |P - P'|_HS <= bound; what is not below sqrt(2 (j + 1)), which holds of any two, does not apply.
Json projection_entry(int64_t j, const char *by, double bound, double failure);
// The first r of bounds, divided by total: value is between lower and upper.
Json eigenvalue_entries(const Bounds &bounds, int64_t r, double failure, double total);

} // namespace mercer
