#include "data.h"

namespace mercer {

double scale_weights(CountedVector<double> &weights, int64_t n) {
    double sum = 0;
    for (double weight : weights) sum += weight;
    if (!(sum > 0) || !std::isfinite(sum))
        fail(MERCER_E_DATA, "the weights of all %zu points sum to %g, must be > 0", weights.size(), sum);
    for (double &weight : weights) weight = weight / sum * static_cast<double>(n);
    return sum;
}

} // namespace mercer
