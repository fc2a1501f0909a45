// Assigns each row to the nearest centre in feature space. The weight of a centre is the total
// weight of the rows assigned to it.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// Writes the number of the nearest centre of each row to reduction.assignment. If several centres
// are equally near, the first of them is chosen. A centre may remain without rows.
void assign_nearest(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction);

// The total weight of the rows assigned to each centre.
CountedVector<double> weights_of_rows(const Prepared &prepared, const Reduction &reduction);

// What assign_nearest needs.
struct AssignCost {
    Bytes bytes; // in addition to the assignment itself
    int64_t kernel_evaluations;
};
AssignCost assign_cost(const Run &run, const Expression &kernel, const Source &source, bool f32, int64_t m);

} // namespace mercer
