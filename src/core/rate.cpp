#include "rate.h"

#include "blas.h"

#include <algorithm>
#include <chrono>

namespace mercer {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

// The best of a few products, which take half a millisecond in all: the first ones meet cold caches.
double measured() {
    constexpr int64_t order = 128;
    constexpr int rounds = 8;
    const std::vector<float> a(order * order, 1.0F);
    std::vector<float> c(order * order);
    double best = 1e9; // flops a second: of the slowest machine that is of use
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
