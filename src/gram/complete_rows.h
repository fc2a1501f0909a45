// Selects the rows without a missing value (NaN); with data.missing = rows, fits and transforms use
// only these.
#pragma once
#include "source.h"

namespace mercer {

// Returns the rows of a loaded source that have no NaN, in order. Returns the source itself if all
// rows are complete, and for sparse rows and objects, which cannot contain NaN. Makes one pass over
// the rows and fails with E_DATA at the first Inf. Uses up to 9 bytes per row of the run's budget.
std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source);

} // namespace mercer
