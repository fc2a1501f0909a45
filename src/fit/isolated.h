// Centres that a walk hardly ever leaves, and the coordinates that say nothing but this.
#pragma once
#include "eigenpairs.h"

namespace mercer {

struct Isolated {
    std::vector<int64_t> coordinates; // counted from 0
    CountedVector<int64_t> centres;   // that they set apart, each once, ascending
};

// Of the first `count` coordinates. stay: the probability of the step from a centre to itself.
Isolated find_isolated(Run &run, const Eigenpairs &pairs, int64_t count, const CountedVector<double> &weights,
                       const Buffer<double> &stay);

} // namespace mercer
