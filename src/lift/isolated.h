// Detects centres that a random walk hardly ever leaves, and the coordinates that only separate
// these from the others.
#pragma once
#include "eigenpairs.h"

namespace mercer {

struct Isolated {
    std::vector<int64_t> coordinates; // counted from 0
    CountedVector<int64_t> centres;   // centres that these coordinates separate, each once, ascending
};

// Examines the first `count` coordinates. stay: for each centre, the probability of a step to
// itself.
Isolated find_isolated(Run &run, const Eigenpairs &pairs, int64_t count, const CountedVector<double> &weights,
                       const Buffer<double> &stay);

} // namespace mercer
