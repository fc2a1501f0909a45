// Some rows of another source: a range, a list of numbers, or the rows without missing values.
#pragma once
#include "source.h"

namespace mercer {

// Returns the rows of source with these numbers, which must ascend, or those of a range. They can
// be fitted on and transformed as a source of their own, with rows 0 ... count - 1. number() and
// given_rows() of the result refer to the caller's data, so that weights, landmarks and messages
// keep the caller's row numbers. Dense rows and objects are not copied, sparse rows are. The memory
// of the source itself counts in the run that loaded it, not in runs that use a subset. If the
// source is a MatrixSource (object_matrix.h), its check_fit() must have been called before.
std::shared_ptr<const Source> subset_of(std::shared_ptr<const Source> source, const int64_t *numbers, int64_t count);
std::shared_ptr<const Source> range_of(std::shared_ptr<const Source> source, int64_t first, int64_t count);

// Returns a copy in memory of the rows of a dense source with these numbers, in this order. The
// rows are not checked for NaN and Inf.
std::shared_ptr<const Source> rows_in_memory(Run &run, const Source &source, const int64_t *numbers, int64_t count);

// Returns the rows of a loaded source that have no NaN, in order. Returns the source itself if all
// rows are complete, and for sparse rows and objects, which cannot contain NaN. Makes one pass over
// the rows and fails with E_DATA at the first Inf. Takes up to 9 bytes of the run's budget for each
// row.
std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source);

} // namespace mercer
