#include "ladder.h"

#include <algorithm>
#include <limits>

namespace mercer {

const char *const refuted_text = "rows of the residual contradict a positive semi-definite kernel, or f32 rounding "
                                 "destroyed it: try data.dtype = f64";

void Proof::begin(const RitzSpectrum &first) {
    if (&first != &first_) first_ = first;
    trace = first_.total(), left = first_.trace;
    norm = norm_failure = 0, norm_estimate = {};
    bounds = trace_bounds(first_);
    sines = subspace_sines(first_, nullptr, trace, bounds, 0, Sides::both, first_.p());
    rounding.clear();
    for (int64_t i = 0; i < first_.p(); ++i) rounding.push_back(first_.rounding_below(static_cast<size_t>(i)));
}

void Proof::add_norm(const Norm &found, double failure) {
    if (found.impossible) return refute();
    norm_estimate = found.seen;
    norm = std::min(trace, found.value);
    norm_failure = norm < trace ? failure : 0; // otherwise the bound is the trace, which is certain
    if (!(norm < trace)) return;
    bounds = norm_bounds(first_, norm, norm_failure);
    sines = subspace_sines(first_, nullptr, norm, bounds, 0, Sides::both, first_.p());
}

// The reach of any row is a lower bound of the norm. It refutes an upper bound that has no failure
// probability only if it exceeds twice that bound, because a smaller excess may be rounding.
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

Certificates Proof::loss(double total) const {
    Certificates out{{.name = "trace", .value = trace / total, .measured = left / total}};
    // Each entry of K errs by a few units of rounding. The Frobenius norm of all these errors is at
    // most 8 eta.
    if (norm > 0)
        out.push_back({.name = "norm",
                       .value = std::min(norm + 8 * first_.eta, trace) / total,
                       .failure = norm_failure,
                       .measured = norm_estimate.value / total,
                       .error = norm_estimate.error / total});
    return out;
}

Certificates Proof::report(double total, int64_t kept) const {
    Certificates out = loss(total);
    if (refuted) return out;
    append(out, eigenvalue_certificates(bounds, kept, failure(), total));
    for (int64_t j = 0; j < kept; ++j)
        out.push_back(component_certificate("subspace", j, "", sines.own[static_cast<size_t>(j)], failure()));
    return out;
}

int64_t rows_looked_at(const CoreValues &values, int64_t n) {
    switch (static_cast<CertificateLevel>(values.certificates)) {
    case CertificateLevel::rows: return std::min(n, values.rows > 0 ? values.rows : 4000);
    case CertificateLevel::exact: return n;
    default: return 0;
    }
}

template <class T>
Proof prove(const ProofTask &task, const Points<T> &rows, const SpanRows<T> &span, const Projection &projection,
            int64_t r) {
    Run &run = task.run;
    const CoreValues &values = task.values;
    const Random random(static_cast<uint64_t>(values.seed), Stage::certificate);
    Evidence<T> evidence(run, task.kernel, rows, span, projection, task.weights, random, 0);
    Proof out;
    out.begin(evidence.spectrum(r));
    const CertificateLevel wanted = static_cast<CertificateLevel>(values.certificates);
    const Shares shares = share_failure(values.delta, Sides::both);
    const int64_t s = rows_looked_at(values, span.n());
    if (wanted != CertificateLevel::none && projection.left > 0) {
        Run::Span span_of_norm(run, 0, 0.3);
        const Norm found = evidence.norm(s > 0 ? shares.pairs : values.delta, s == span.n());
        out.add_norm(found, found.failure);
    }
    if (s > 0 && projection.left > 0 && !out.refuted) {
        const int64_t known = projection.count(), p = known > r
                                                          ? choose_width(evidence.spectrum(known), out.bound_of_norm(),
                                                                         r, s, shares.rows, Sides::both)
                                                          : r;
        Run::Span span_of_rows(run, 0.3, 1);
        const RowMoments moments = evidence.rows(p, s);
        if (out.add_rows(evidence.spectrum(p), moments, shares.rows, shares.rows))
            out.turn(evidence.spectrum(p), moments, shares.rows);
    }
    out.evaluations = evidence.evaluations();
    return out;
}
template Proof prove(const ProofTask &, const Points<float> &, const SpanRows<float> &, const Projection &, int64_t);
template Proof prove(const ProofTask &, const Points<double> &, const SpanRows<double> &, const Projection &, int64_t);

} // namespace mercer
