// Noise is what the last of the computed eigenvalues may be: a component counts where the whole of its interval lies above
// the interval of one that is far down the spectrum. Below that, order and direction of components are chance.
#include "components.h"

#include "bootstrap.h"

#include <cmath>

namespace mercer {
namespace {

constexpr int64_t first_ask = 16, by_default = 200; // replicates where components are to be told from noise

int64_t share_count(const std::vector<double> &values, int64_t rank, double part) {
    double sum = 0;
    for (int64_t k = 0; k < rank; ++k)
        if ((sum += values[static_cast<size_t>(k)]) >= part) return k + 1;
    return rank;
}

} // namespace

int64_t ErrorBars::above_noise() const {
    int64_t count = 0;
    while (count < static_cast<int64_t>(lower.size()) && lower[static_cast<size_t>(count)] > noise) ++count;
    return count;
}

Json ErrorBars::report(double unit, int64_t kept) const {
    Json out = {{"replicates", replicates}, {"level", level}, {"noise", noise / unit}};
    for (const char *name : {"sd", "lower", "upper", "overlaps_noise"}) out[name] = Json::array();
    for (int64_t k = 0; k < kept; ++k) {
        const size_t at = static_cast<size_t>(k);
        out["sd"].push_back(sd[at] / unit);
        out["lower"].push_back(lower[at] / unit);
        out["upper"].push_back(upper[at] / unit);
        out["overlaps_noise"].push_back(!(lower[at] > noise));
    }
    return out;
}

Components::Components(const CoreValues &values, int64_t most)
    : count_(values.components), most_(most), replicates_(values.replicates),
      variance_(std::isnan(values.variance) ? 0 : values.variance),
      threshold_(std::isnan(values.threshold) ? 0 : values.threshold) {
    if (replicates_ == 1) fail(MERCER_E_VALUE, "report.bootstrap = 1, must be 0 or >= 2");
    if (by_noise() && replicates_ == 0) replicates_ = by_default;
    int64_t wanted = is_open() ? first_ask : count_;
    if (replicates_ > 0) wanted += std::max<int64_t>(wanted / 2, 8); // to measure noise by
    ask_ = std::min(wanted, most_);
}

int64_t foreseen_components(const CoreValues &values, int64_t most) {
    const Components choice(values, most);
    return choice.is_open() ? std::min(most, 4 * first_ask) : choice.ask();
}

bool Components::more(const std::vector<double> &values, double total) {
    if (ask_ >= most_ || values.empty()) return false;
    const int64_t found = static_cast<int64_t>(values.size());
    bool beyond = false;
    if (variance_ > 0) {
        double sum = 0;
        for (double value : values) sum += value;
        beyond = sum < variance_ * total;
    } else if (threshold_ > 0) {
        beyond = values.back() >= threshold_ * values[0];
    }
    if (beyond) ask_ = std::min(2 * found, most_);
    return beyond;
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
    out.noise = p < most_ ? out.upper.back() : 0; // all of the spectrum: nothing is beyond it
    return out;
}

} // namespace mercer
