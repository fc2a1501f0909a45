#include "cost.h"

#include "blas.h"

#include <algorithm>
#include <chrono>

namespace mercer {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double factorisation_cost(double order) { return slow_work * 4 / 3 * order * order * order; }

double dense_seconds(double order) {
    constexpr double flops_per_second = 10e9; // speed of dsyevr, half of whose work is memory-bound
    return factorisation_cost(order) / slow_work / flops_per_second;
}

double flops_of(int64_t columns_of_rows, double m, double evaluations, double columns) {
    return 2 * static_cast<double>(std::max<int64_t>(columns_of_rows, 1)) * evaluations + 2 * m * m * columns;
}

namespace {

// Returns the highest rate of a few products, which take half a millisecond in total. The first
// products find their operands outside the caches, so a mean would be too low.
double measured() {
    constexpr int64_t order = 128;
    constexpr int rounds = 8;
    const std::vector<float> a(order * order, 1.0F);
    std::vector<float> c(order * order);
    double best = 1e9; // flops per second; no lower rate is returned, even if the machine is busy
    for (int round = 0; round < rounds; ++round) {
        const double begin = now_seconds();
        gemm('N', 'T', order, order, order, 1.0F, a.data(), order, a.data(), order, 0.0F, c.data(), order);
        best = std::max(best, 2.0 * order * order * order / std::max(now_seconds() - begin, 1e-9));
    }
    return best;
}

} // namespace

double product_rate() {
    static const double rate = measured();
    return rate;
}

} // namespace mercer
