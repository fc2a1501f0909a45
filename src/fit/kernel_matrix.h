#pragma once
#include "../gram/data.h"
#include "../recipe/recipe.h"

namespace mercer {

// Writes the kernel matrix k(X, Y) to out. y = nullptr: Y is X.
void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out);

} // namespace mercer
