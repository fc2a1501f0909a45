// Which centre stands for each row: the one nearest in feature space, and what it then weighs.
#pragma once
#include "fit.h"

namespace mercer {

// Sets the assignment, and each centre's weight to the sum of the sample weights of its rows. Ties go to the first centre;
// one that is nearest to no row is left with weight 0.
void assign_nearest(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction);

// What the rows assigned to each centre weigh together.
CountedVector<double> weights_of_rows(const Prepared &prepared, const Reduction &reduction);

// What assign_nearest will need: bytes beside the assignment, and kernel values.
struct AssignCost {
    Bytes bytes;
    int64_t kernel_evaluations;
};
AssignCost assign_cost(const Run &run, const Expression &kernel, const Source &source, bool f32, int64_t m);

} // namespace mercer
