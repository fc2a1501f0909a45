#pragma once
#include "../gram/data.h"

namespace mercer {

// Sample weights of the rows of source (the data, the loaded data or its complete rows), scaled to
// sum n; all 1 if the data have none. sum: receives the sum of the weights as they were given.
CountedVector<double> sample_weights(const Data &data, const Source &source, double *sum = nullptr);

} // namespace mercer
