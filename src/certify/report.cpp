#include "report.h"

#include <cmath>

namespace mercer {

Json certificate_entry(const char *name, double value, double failure) {
    return record({{"name", name},
                   {"value", value},
                   {"kind", failure > 0 ? "probable" : "certain"},
                   {"probability", 1 - failure}});
}

Json certificate_entry(const char *name, double value, double failure, const Seen &measured) {
    Json out = certificate_entry(name, value, failure);
    out["measured"] = measured.value;
    if (measured.error > 0) out["stderr"] = measured.error;
    return out;
}

Json component_entry(const char *name, int64_t j, const char *by, double value, double failure) {
    Json out = certificate_entry(name, value, failure);
    out["component"] = j;
    out["by"] = by;
    return out;
}

Json projection_entry(int64_t j, const char *by, double bound, double failure) {
    const double trivial = std::sqrt(2.0 * static_cast<double>(j + 1));
    const bool applies = bound < trivial;
    Json out = component_entry("projection", j, by, applies ? bound : trivial, applies ? failure : 0);
    out["applicable"] = applies;
    return out;
}

Json eigenvalue_entries(const Bounds &bounds, int64_t r, double failure, double total) {
    Json out = Json::array();
    for (int64_t j = 0; j < r; ++j) {
        const size_t at = static_cast<size_t>(j);
        Json entry = certificate_entry("eigenvalue", bounds.value[at] / total, failure);
        entry["component"] = j;
        entry["theta"] = bounds.theta[at] / total;
        entry["lower"] = bounds.lower[at] / total;
        entry["upper"] = bounds.upper[at] / total;
        entry["by"] = bounds.kind;
        if (!bounds.spread.empty() && bounds.spread[at] > 0) entry["stderr"] = bounds.spread[at] / total;
        if (bounds.conditional) {
            entry["kind"] = "conditional";
            entry["if"] = "no eigenvalue above the last one was missed";
        }
        out.push_back(std::move(entry));
    }
    return out;
}

} // namespace mercer
