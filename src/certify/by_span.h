// Certificates of a reduced-set model from the span of its centres (report.certificates = rows,
// exact). The certificates of kernel PCA of all rows on that span (ladder.h) bound the eigenvalues
// and components of the data. From them follow bounds for any model whose components lie in the
// span.
#pragma once
#include "reduction.h"

namespace mercer {

// Returns the certificates named trace and norm, and one named eigenvalue for each component.
// directions: the components lie in the span and are orthonormal; then each component also gets
// certificates named projection and excess. Adds the number of kernel values that this takes to
// model.kernel_evaluations.
Certificates spanned_certificates(const ReducedModel &of, bool directions);
bool asks_for_span(const PlanTask &task);
// Adds to cost the cost `own` of kernel PCA of all rows on the span; returns false and adds nothing
// if the recipe does not ask for it or it does not fit in the budget.
bool plan_span_certificates(const PlanTask &task, const Cost &own, Cost &cost);

} // namespace mercer
