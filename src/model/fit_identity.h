// The identity of a fit: what a checkpoint must match, so that a later run may continue from it.
#pragma once
#include "../core/json.h"
#include "../gram/data.h"
#include "../recipe/recipe.h"

namespace mercer {

// Returns an object of plain values: recipe, kernel, shape, and digests of all that the fit reads.
// Objects and user kernels are known only by the values that their callbacks return, so this
// function calls them for a fixed sample of pairs (fit_identity.cpp).
Json fit_identity(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared);

} // namespace mercer
