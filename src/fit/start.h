// Where iterations begin (start.cpp).
#pragma once
#include "../gram/operator.h"
#include "pivots.h"

namespace mercer {

// Leading vectors (n x count) of a Nystrom approximation of op's matrix, m pivots; root: square roots of the weights, nullptr:
// 1. Fewer columns where the matrix has no more rank. Kernel values that it takes are added to evaluations.
Buffer<double> start_vectors(Run &run, const PivotRows &rows, const WeightedOperator &op, const double *root, int64_t m,
                             int64_t count, const Random &random, int64_t &evaluations);
// What that takes at most, tile_bytes a thread for tiles.
int64_t start_bytes(const Run &run, int64_t n, int64_t m, int64_t count, int64_t tile_bytes);

} // namespace mercer
