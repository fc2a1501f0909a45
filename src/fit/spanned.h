// Certificates of a reduced-set model from the span of its centres (report.certificates = rows, exact): kernel PCA of all rows on
// that span, whose certificates (lift_projected.h) are about the data and not about a model.
#pragma once
#include "fit.h"

namespace mercer {

// trace, norm, and for each component eigenvalue; with `directions`, that lie in the span and are orthonormal, projection and
// excess too. Counts kernel values.
Json spanned_entries(const LiftTask &task, bool directions, Lifted &model);
// Adds its cost, or sets plan.spans = false if it does not fit in the budget.
void foresee_spanned(const PlanTask &task, Plan &plan);

} // namespace mercer
