// Functions that make certificates (model/lifted.h). A certificate makes one claim: `value` is a
// bound that is proved, either for certain or with a failure probability. `measured` is an observed
// value of the same quantity. A quantity for which nothing is proved gets no certificate.
#pragma once
#include "../model/lifted.h"
#include "bounds.h"

namespace mercer {

// Returns a certificate for component j. A certificate named "eigenvalue" refers to this component
// alone; one of any other name refers to all components up to and including component j.
Certificate component_certificate(const char *name, int64_t j, const char *by, double value, double failure);
// Returns a certificate that |P - P'|_HS <= bound, where P and P' project on the first j + 1
// components of kernel PCA of all rows and of the model. It is marked as not applying if
// bound >= sqrt(2 (j + 1)), because any two such projections are that close.
Certificate projection_certificate(int64_t j, const char *by, double bound, double failure);
// Returns certificates that each of the first r eigenvalues lies between its lower and its upper
// bound; all numbers are divided by total.
Certificates eigenvalue_certificates(const Bounds &bounds, int64_t r, double failure, double total);

void append(Certificates &to, const Certificates &more);

// Keeps the tightest certificate for each component and name, and all certificates of the whole
// model. If a kept certificate is uncertain and not conditional, its failure probability becomes
// the sum of those of the certificates it was chosen from, because it was chosen after all of them
// were seen.
Certificates tightest(const Certificates &all);

} // namespace mercer
