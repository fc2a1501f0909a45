#include "proof.h"

#include "certify_report.h"

#include <algorithm>
#include <limits>

namespace mercer {

const char *const refuted_text = "rows of the residual contradict a positive semi-definite kernel, or f32 rounding "
                                 "destroyed it: try data.dtype = f64";

void Proof::begin(const RitzSpectrum &first) {
    if (&first != &first_) first_ = first;
    trace = first_.total(), left = first_.trace;
    norm = norm_failure = 0, norm_seen = {};
    bounds = trace_bounds(first_);
    sines = subspace_sines(first_, nullptr, trace, bounds, 0, Sides::both, first_.p());
    rounding.clear();
    for (int64_t i = 0; i < first_.p(); ++i) rounding.push_back(first_.rounding_below(static_cast<size_t>(i)));
}

void Proof::add_norm(const Norm &found, double failure) {
    if (found.impossible) return refute();
    norm_seen = found.seen;
    norm = std::min(trace, found.value);
    norm_failure = norm < trace ? failure : 0; // the trace is certain
    if (!(norm < trace)) return;
    bounds = norm_bounds(first_, norm, norm_failure);
    sines = subspace_sines(first_, nullptr, norm, bounds, 0, Sides::both, first_.p());
}

// A certain norm is taken to be contradicted by twice of it alone: reaches near it may be rounding.
bool Proof::add_rows(const RitzSpectrum &spectrum, const RowMoments &rows, double failure, double claimed) {
    Bounds sharp = row_bounds(spectrum, rows, bound_of_norm(), failure, Sides::both);
    if (!rows.all) sharp.failure = claimed;
    const double certain = norm_failure > 0 ? trace : bound_of_norm();
    if (rows.reach > 2 * certain + beyond_rounding * first_.eta) return refute(), false;
    if (!sharp.consistent && norm_failure > 0) return begin(first_), false;
    const bool first = bounds.kind != std::string("rows");
    if (first || sharp.worst(first_.p()) < bounds.worst(first_.p())) bounds = std::move(sharp);
    return true;
}

void Proof::turn(const RitzSpectrum &spectrum, const RowMoments &rows, double failure) {
    sines = subspace_sines(spectrum, &rows, bound_of_norm(), bounds, failure, Sides::both, first_.p());
}

void Proof::refute() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    begin(first_);
    refuted = true;
    std::fill(bounds.upper.begin(), bounds.upper.end(), infinity);
    for (std::vector<double> *angles : {&sines.own, &sines.span}) std::fill(angles->begin(), angles->end(), 1.0);
    std::fill(sines.feature.begin(), sines.feature.end(), infinity);
}

Json Proof::loss(double total) const {
    Json out = Json::array();
    out.push_back(certificate_entry("trace", trace / total, 0, Seen{left / total, 0}));
    if (norm > 0) // entries of K err by some units of rounding each: 8 eta in the Frobenius norm
        out.push_back(certificate_entry("norm", std::min(norm + 8 * first_.eta, trace) / total, norm_failure,
                                        Seen{norm_seen.value / total, norm_seen.error / total}));
    return out;
}

Json Proof::report(double total, int64_t kept) const {
    Json out = loss(total);
    if (refuted) return out;
    for (Json &entry : eigenvalue_entries(bounds, kept, failure(), total)) out.push_back(std::move(entry));
    for (size_t j = 0; j < static_cast<size_t>(kept); ++j) {
        Json entry = certificate_entry("subspace", sines.own[j], failure());
        entry["component"] = j;
        out.push_back(std::move(entry));
    }
    return out;
}

} // namespace mercer
