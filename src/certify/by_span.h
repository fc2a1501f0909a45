// Certificates of a reduced-set model from the span of its centres (report.certificates = rows, exact): kernel PCA of all rows on
// that span, whose certificates (ladder.h) are about the data and not about a model.
#pragma once
#include "reduction.h"

namespace mercer {

// trace, norm, and for each component eigenvalue; with `directions`, that lie in the span and are orthonormal, projection and
// excess too. Counts kernel values.
Certificates spanned_certificates(const ReducedModel &of, bool directions);
bool asks_for_span(const PlanTask &task);
// Adds its cost `own`, which is that of kernel PCA on the span; false if it is not asked for or does not fit in the budget.
bool foresee_spanned(const PlanTask &task, const Cost &own, Cost &cost);

} // namespace mercer
