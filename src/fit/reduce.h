// The stage `reduce`: the recipe's reducer selects landmarks.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// Returns how many of `given` centres a fit keeps: all, or output.components of them if its lift is
// nested.
int64_t most_centres(const Recipe &recipe, int64_t given);
// stores_factor: a partial Cholesky factor stays in memory; otherwise its columns are recomputed
// when they are needed.
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool stores_factor);

} // namespace mercer
