// Which centre stands for each row: the one nearest in feature space, and what it then weighs.
#pragma once
#include "fit.h"

namespace mercer {

// Sets the assignment. Ties go to the first centre; there may be one that is nearest to no row.
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
