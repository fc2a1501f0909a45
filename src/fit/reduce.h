// The stage `reduce`: the recipe's reducer selects landmarks.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// holds_factor: partial Cholesky factors stay in memory; otherwise their columns are recomputed
// when they are needed.
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool holds_factor);

} // namespace mercer
