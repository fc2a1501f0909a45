#include "lifted.h"

namespace mercer {

int64_t ErrorBars::above_noise() const {
    int64_t count = 0;
    while (count < static_cast<int64_t>(lower.size()) && lower[static_cast<size_t>(count)] > noise) ++count;
    return count;
}

ErrorBars ErrorBars::first(int64_t count, double unit) const {
    ErrorBars out;
    out.level = level, out.noise = noise / unit, out.replicates = replicates;
    for (int64_t k = 0; k < count; ++k) {
        const size_t at = static_cast<size_t>(k);
        out.sd.push_back(sd[at] / unit);
        out.lower.push_back(lower[at] / unit);
        out.upper.push_back(upper[at] / unit);
    }
    return out;
}

} // namespace mercer
