#pragma once
#include "../gram/data.h"

namespace mercer {

// Sample weights of the rows of source (the data, the loaded data or its complete rows), scaled to
// sum n; all 1 if the data have none.
RowWeights sample_weights(const Data &data, const Source &source);

} // namespace mercer
