// Assigns each row to the centre nearest in feature space, and weights the centres by the rows
// assigned to them.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// Writes the assignment. Ties go to the first centre. A centre may remain without rows.
void assign_nearest(Run &run, const Prepared &prepared, const Data &data, Reduction &reduction);

// The total weight of the rows assigned to each centre.
CountedVector<double> weights_of_rows(const Prepared &prepared, const Reduction &reduction);

// The needs of assign_nearest: bytes in addition to the assignment, and kernel values.
struct AssignCost {
    Bytes bytes;
    int64_t kernel_evaluations;
};
AssignCost assign_cost(const Run &run, const Expression &kernel, const Source &source, bool f32, int64_t m);

} // namespace mercer
