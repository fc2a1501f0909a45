// What the span of the centres proves of a model whose centres stand for rows (report.certificates = rows, exact): kernel PCA
// of all rows on that span, whose proofs (lift_projected.h) are about the data and not about a model.
#pragma once
#include "fit.h"

namespace mercer {

// trace, norm, and for each component eigenvalue; with `directions`, that lie in the span and are orthonormal, projection and
// excess too. Counts kernel values.
Json spanned_entries(const LiftTask &task, bool directions, Lifted &model);
// Adds what that takes, or says (plan.spans) that the budget does not hold it.
void foresee_spanned(const PlanTask &task, Plan &plan);

} // namespace mercer
