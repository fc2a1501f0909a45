#include "lifted.h"

#include <algorithm>

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

void make_mergeable(const Prepared &prepared, const LedgerMeans &means, Lifted &out) {
    const double rounding = (prepared.f32 ? 1e-7 : 1e-12) * means.self;
    if (std::min(means.lost, means.resid) < -rounding) return;
    const double sum = prepared.weight_sum;
    Ledger ledger;
    ledger.n_eff = sum;
    ledger.self = sum * means.self;
    ledger.lost = sum * std::max(means.lost, 0.0);
    ledger.resid = sum * std::max(means.resid, 0.0);
    if (!std::isfinite(ledger.self)) return; // the other sums are at most `self`, and so finite if it is
    out.ledger = ledger;
    out.capabilities |= MERCER_CAN_MERGE;
}

} // namespace mercer
