// The noise level is the upper end of the bootstrap interval of the last computed eigenvalue, which
// is far down the spectrum. A component is above the noise if its whole interval is above that
// level; the order and the directions of the components below it are random.
#include "components.h"

#include "../certify/bootstrap.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

constexpr int64_t first_ask = 16, // components to solve for first if their number is open
    by_default = 200,             // replicates if error bars decide and report.bootstrap = 0
    nested_by_default = 10;       // features of a nested lift if neither they nor the centres are counted

int64_t share_count(const std::vector<double> &values, int64_t rank, double part) {
    double sum = 0;
    for (int64_t k = 0; k < rank; ++k)
        if ((sum += values[static_cast<size_t>(k)]) >= part) return k + 1;
    return rank;
}

} // namespace

Components::Components(const CoreValues &values, int64_t most)
    : count_(values.components > 0 ? std::max(values.components, values.clusters - 1) : 0), most_(most),
      replicates_(values.replicates), variance_(std::isnan(values.variance) ? 0 : values.variance),
      threshold_(std::isnan(values.threshold) ? 0 : values.threshold) {
    if (replicates_ == 1) fail(MERCER_E_VALUE, "report.bootstrap = 1, must be 0 or >= 2");
    if (by_noise() && replicates_ == 0) replicates_ = by_default;
    ask_ = with_noise(!is_open() ? count_ : count_ > 0 ? std::min(count_, first_ask) : first_ask);
    end_ = by_noise() ? ask_ : count_ > 0 ? with_noise(count_) : most_;
    ask_ = std::max(ask_, std::min(values.ritz, most_));
    end_ = std::max(end_, ask_);
    room_ = end_;
}

int64_t likely_components(const CoreValues &values, int64_t most) {
    if (find_lift(values.lift).nested)
        return std::min(most, values.components > 0 ? values.components : nested_by_default);
    const Components choice(values, most);
    return choice.is_open() ? std::min(choice.most_ask(), std::max(4 * first_ask, choice.ask())) : choice.ask();
}

void Components::resume(int64_t ask) {
    if (ask > room_)
        fail(MERCER_E_BUDGET, "checkpoint: it contains %" PRId64 " pairs, but the memory budget holds %" PRId64, ask,
             room_);
    ask_ = std::max(ask, ask_);
}

void Components::room_for(int64_t pairs) { room_ = std::clamp(pairs, ask_, end_); }

bool Components::beyond(const std::vector<double> &values, double total) const {
    if (variance_ > 0) return std::accumulate(values.begin(), values.end(), 0.0) < variance_ * total;
    return threshold_ > 0 && !values.empty() && values.back() >= threshold_ * values[0];
}

bool Components::more(const std::vector<double> &values, double total) {
    const bool wanted = ask_ < end_ && beyond(values, total);
    lacks_memory_ = wanted && ask_ >= room_;
    if (wanted) ask_ = std::min(2 * ask_, room_);
    return wanted && !lacks_memory_;
}

int64_t Components::kept(const std::vector<double> &values, int64_t rank, double total, const ErrorBars *bars) const {
    int64_t out = count_ > 0 ? std::min(count_, rank) : rank;
    if (variance_ > 0) out = std::min(out, share_count(values, rank, variance_ * total));
    if (threshold_ > 0) {
        int64_t above = 0;
        while (above < rank && values[static_cast<size_t>(above)] >= threshold_ * values[0]) ++above;
        out = std::min(out, above);
    }
    if (by_noise() && bars) out = std::min(out, std::max<int64_t>(bars->above_noise(), std::min<int64_t>(rank, 1)));
    return out;
}

ErrorBars Components::bars(Run &run, int64_t n, int64_t p, const double *z, const double *weights, bool centred,
                           uint64_t seed) const {
    ErrorBars out;
    out.replicates = replicates_;
    BootstrapErrors errors = bootstrap_eigenvalues(run, n, p, z, n, weights, centred, p, replicates_, out.level, seed);
    out.sd = std::move(errors.sd);
    out.lower = std::move(errors.lower);
    out.upper = std::move(errors.upper);
    // If the whole spectrum was computed, no direction measures the noise, and the level is 0.
    out.noise = p < most_ ? out.upper.back() : 0;
    return out;
}

} // namespace mercer
