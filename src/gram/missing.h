// Rows without a missing value (NaN): what data.missing = rows fits on and transforms.
#pragma once
#include "source.h"

namespace mercer {

// The rows of a loaded source that have no NaN, in order; the source itself where that is all of them, and where it is sparse
// or objects, which have none. One pass over the rows; E_DATA for the first Inf. Holds 9 bytes a row on the run's budget.
std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source);

} // namespace mercer
