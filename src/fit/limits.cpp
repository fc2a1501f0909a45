// Limits of per-point outputs: what the points behind a model do not exceed but for a share of 5 % and of 1 %. They are
// empirical: the q-quantile is the smallest value v such that points of values <= v carry at least the share q of all
// weight (weights 1: the ceil(q n)-th value in order). Points a model was fitted on lie a little closer to it than new ones.
#include "fit.h"

#include <algorithm>
#include <numeric>

namespace mercer {
namespace {

double quantile(const CountedVector<double> &values, const CountedVector<double> &weights,
                const CountedVector<size_t> &ascending, double q) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double share = q * total * (1 - 1e-12); // sums of weights round
    double below = 0;
    for (size_t i : ascending)
        if ((below += weights[i]) >= share) return values[i];
    return ascending.empty() ? 0 : values[ascending.back()];
}

} // namespace

Json limits_of(const CountedVector<double> &values, const CountedVector<double> &weights) {
    CountedVector<size_t> ascending(values.size());
    std::iota(ascending.begin(), ascending.end(), size_t{0});
    std::sort(ascending.begin(), ascending.end(), [&](size_t i, size_t j) { return values[i] < values[j]; });
    return {{"p95", quantile(values, weights, ascending, 0.95)}, {"p99", quantile(values, weights, ascending, 0.99)}};
}

} // namespace mercer
