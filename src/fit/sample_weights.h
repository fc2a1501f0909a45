#pragma once
#include "../gram/data.h"

namespace mercer {

// Returns the weights of the rows of source, scaled to sum n; all 1 if the data have none. source:
// the rows of `data`, as they are, loaded, or without the incomplete ones. sum: receives the sum of
// the weights as they were given.
CountedVector<double> sample_weights(const Data &data, const Source &source, double *sum = nullptr);

} // namespace mercer
