// The Cholesky factor of k(B, B), for some points B whose span a method works in.
#pragma once
#include "partial_cholesky.h"

namespace mercer {

// Its rows are in the order of the points; a point in the span of those before it is no pivot.
template <class T>
std::shared_ptr<PartialCholesky<T>> basis_of(Run &run, const KernelRows &points);

} // namespace mercer
