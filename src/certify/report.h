// Makers of certificates (model/lifted.h). One certificate claims one thing: `value` is proved, for certain or with a probability;
// `measured` is what was found of the same quantity. What nothing proves is no certificate.
#pragma once
#include "../model/lifted.h"
#include "bounds.h"

namespace mercer {

// Of component j and those before it.
Certificate component_certificate(const char *name, int64_t j, const char *by, double value, double failure);
// |P - P'|_HS <= bound; what is not below sqrt(2 (j + 1)), which holds of any two, does not apply.
Certificate projection_certificate(int64_t j, const char *by, double bound, double failure);
// The first r of bounds, divided by total: value is between lower and upper.
Certificates eigenvalue_certificates(const Bounds &bounds, int64_t r, double failure, double total);

void append(Certificates &to, const Certificates &more);

} // namespace mercer
