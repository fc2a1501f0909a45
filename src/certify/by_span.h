// Certificates of a reduced-set model from the span of its centres (report.certificates = rows,
// exact). Kernel PCA of all rows on that span has certificates (ladder.h) that concern the data
// themselves, not a particular model.
#pragma once
#include "reduction.h"

namespace mercer {

// Returns the certificates trace and norm, and for each component an eigenvalue. With `directions`,
// the components lie in the span and are orthonormal, and each also gets a projection and an
// excess. Counts the kernel values.
Certificates spanned_certificates(const ReducedModel &of, bool directions);
bool asks_for_span(const PlanTask &task);
// Adds to cost the cost `own` of kernel PCA on the span; returns false if the recipe does not ask
// for it or it does not fit in the budget.
bool plan_span_certificates(const PlanTask &task, const Cost &own, Cost &cost);

} // namespace mercer
