// Rows without a missing value (NaN): what data.missing = rows fits on and transforms.
#pragma once
#include "source.h"

namespace mercer {

// The rows of a loaded source that have no NaN, in order. Returns the source itself if all rows are complete, and for sparse rows
// and objects, which cannot have NaN. One pass over the rows; E_DATA for the first Inf. Holds 9 bytes a row on the run's budget.
std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source);

} // namespace mercer
