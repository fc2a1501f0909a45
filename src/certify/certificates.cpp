#include "certificates.h"

#include <cmath>
#include <map>
#include <string_view>

namespace mercer {

Certificate component_certificate(const char *name, int64_t j, const char *by, double value, double failure) {
    return {.name = name, .value = value, .failure = failure, .component = j, .by = by};
}

Certificate projection_certificate(int64_t j, const char *by, double bound, double failure) {
    const double trivial = std::sqrt(2.0 * static_cast<double>(j + 1));
    const bool applies = bound < trivial;
    Certificate out = component_certificate("projection", j, by, applies ? bound : trivial, applies ? failure : 0);
    out.applies = applies;
    return out;
}

Certificates eigenvalue_certificates(const Bounds &bounds, int64_t r, double failure, double total) {
    Certificates out;
    for (int64_t j = 0; j < r; ++j) {
        const size_t at = static_cast<size_t>(j);
        Certificate one = component_certificate("eigenvalue", j, bounds.kind, bounds.value[at] / total, failure);
        one.interval = {bounds.theta[at] / total, bounds.lower[at] / total, bounds.upper[at] / total};
        if (!bounds.spread.empty()) one.error = bounds.spread[at] / total;
        one.conditional = bounds.conditional;
        out.push_back(one);
    }
    return out;
}

void append(Certificates &to, const Certificates &more) { to.insert(to.end(), more.begin(), more.end()); }

Certificates tightest(const Certificates &all) {
    Certificates out;
    std::map<std::pair<std::string_view, int64_t>, size_t> places;
    auto width = [](const Certificate &one) {
        return one.interval ? one.interval->upper - one.interval->lower : one.value;
    };
    for (const Certificate &one : all) {
        if (one.component < 0) {
            out.push_back(one);
            continue;
        }
        const auto [at, is_new] = places.emplace(std::pair(std::string_view(one.name), one.component), out.size());
        if (is_new) {
            out.push_back(one);
            continue;
        }
        Certificate &best = out[at->second];
        const double both = best.failure + one.failure;
        if (width(one) < width(best)) best = one;
        if (best.failure > 0 && !best.conditional) best.failure = both;
    }
    return out;
}

} // namespace mercer
