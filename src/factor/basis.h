// The Cholesky factor of k(B, B) for points B whose span a method works in.
#pragma once
#include "partial_cholesky.h"

namespace mercer {

// Rows of the factor are in the order of the points. A point in the span of the pivots before it
// does not become a pivot.
template <class T>
std::shared_ptr<PartialCholesky<T>> basis_of(Run &run, const KernelRows &points);

} // namespace mercer
