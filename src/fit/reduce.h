// The stage `reduce`: the recipe's reducer selects landmarks.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// stores_factor: a partial Cholesky factor stays in memory; otherwise its columns are recomputed
// when they are needed.
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool stores_factor);

} // namespace mercer
