// Sampling for the certificates: laws, draws, and means over sampled rows. Cost: O(n p) for a law,
// O(log n) per draw, 10 p^2 flops per row.
//
// Bernstein's inequality needs the largest summand that could be drawn, not the largest that was
// drawn. Therefore the maxima of |U_i| sqrt(d_i) / p_i and of d_i / p_i are taken over all n rows.
// Because p_i is the mean of d_i / tr and |U_i|^2 / p, it is at least their geometric mean and at
// least half of each, so these maxima are at most sqrt(p tr) and 2 tr.
#include "bounds.h"

#include <algorithm>
#include <cmath>

namespace mercer {

Shares share_failure(double delta, Sides sides) {
    // delta is divided evenly among all inequalities: one is for the norm, and the rows need 4 or 3
    // (Tails in bounds.cpp).
    const double events = sides == Sides::both ? 5 : 4;
    return {delta / events, delta - delta / events};
}

double attempt_failure(double delta, int64_t attempt) {
    return std::ldexp(delta, -static_cast<int>(std::min<int64_t>(attempt, 1000)));
}

double pair_share(double entry, bool same, double d_i, double d_j, double eta) {
    const double a = std::max(d_i, 0.0) + eta, b = std::max(d_j, 0.0) + eta, e = entry + (same ? eta : 0.0);
    return a > 0 && b > 0 ? e / a * (e / b) : 0.0; // the squares alone may overflow f64
}

double frobenius_bound(double total, const double *x, int64_t count, double failure) {
    if (count < 2) return total;
    const double m = static_cast<double>(count), l = std::log(2 / failure);
    double mean = 0, square = 0;
    for (int64_t k = 0; k < count; ++k) mean += std::min(x[k], 1.0) / m;
    for (int64_t k = 0; k < count; ++k) square += (std::min(x[k], 1.0) - mean) * (std::min(x[k], 1.0) - mean);
    const double bound = mean + std::sqrt(2 * (square / (m - 1)) * l / m) + 7 * l / (3 * (m - 1));
    return total * std::sqrt(std::min(bound, 1.0));
}

Estimate estimate_frobenius(double total, const double *x, int64_t count) {
    const double m = static_cast<double>(count);
    double mean = 0, square = 0;
    for (int64_t k = 0; k < count; ++k) mean += x[k] / m, square += x[k] * x[k] / m;
    if (!(mean > 0)) return {};
    return {total * std::sqrt(mean), total * std::sqrt(std::max(square - mean * mean, 0.0) / m / (4 * mean))};
}

namespace {
Buffer<double> copy_of(Run &run, int64_t n, const double *weight) {
    Buffer<double> out = run.buffer<double>(n);
    std::copy_n(weight, n, out.begin());
    return out;
}
} // namespace

WeightedDraw::WeightedDraw(Run &run, int64_t n, const double *weight) : WeightedDraw(copy_of(run, n, weight)) {}

WeightedDraw::WeightedDraw(Buffer<double> weight) : cumulative_(std::move(weight)) {
    double sum = 0;
    for (double &entry : cumulative_) entry = sum += entry;
    if (!(sum > 0) || !std::isfinite(sum))
        fail(MERCER_E_NUMERICAL, "rows cannot be sampled: their weights sum to %g, must be > 0 and finite", sum);
}

int64_t WeightedDraw::draw(double uniform) const {
    const double total = cumulative_[cumulative_.size() - 1];
    // The position stays below the total, so that the row found has a positive weight.
    const double at = std::min(uniform * total, std::nextafter(total, 0.0));
    return std::upper_bound(cumulative_.begin(), cumulative_.end(), at) - cumulative_.begin();
}

namespace {

Buffer<double> row_probabilities(Run &run, int64_t n, const double *d, double eta, int64_t p, const double *u,
                                 int64_t ldu, double &cross, double &load) {
    Buffer<double> share = run.buffer<double>(n), length = run.buffer<double>(n);
    length.zero();
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < n; ++i) length[i] += u[i + j * ldu] * u[i + j * ldu];
    double total = 0, lengths = 0;
    for (int64_t i = 0; i < n; ++i) total += std::max(d[i], 0.0) + eta, lengths += length[i];
    const double parts = (total > 0) + (lengths > 0);
    // If both E + eta and U are 0, any row will do.
    if (!(parts > 0)) std::fill_n(share.data(), n, 1 / static_cast<double>(n));
    for (int64_t i = 0; i < n && parts > 0; ++i) {
        const double rest = std::max(d[i], 0.0) + eta;
        share[i] = ((total > 0 ? rest / total : 0) + (lengths > 0 ? length[i] / lengths : 0)) / parts;
        if (!(share[i] > 0)) continue;
        cross = std::max(cross, std::sqrt(length[i]) * std::sqrt(rest) / share[i]);
        load = std::max(load, rest / share[i]);
    }
    return share;
}

} // namespace

RowLaw::RowLaw(Run &run, int64_t n, const double *d, double eta, int64_t p, const double *u, int64_t ldu)
    : probability_(row_probabilities(run, n, d, eta, p, u, ldu, cross_, load_)), draws_(run, n, probability_.data()) {}

RowSample::RowSample(int64_t p, double eta, double cross, double load) : eta_(eta), shifted_(static_cast<size_t>(p)) {
    sum_.p = p;
    sum_.cross = cross;
    sum_.load = load;
    for (std::vector<double> *matrix : {&sum_.g, &sum_.v, &sum_.w}) matrix->assign(static_cast<size_t>(p * p), 0.0);
}

// With u = U_i and r = R_i, X^2 = (|r|^2 u u^T + |u|^2 r r^T + (u.r) (u r^T + r u^T)) / (4 p_i^2),
// so each of its columns is the sum of a multiple of u and a multiple of r.
void RowSample::add(const double *r, const double *u, double d, double probability) {
    const size_t p = shifted_.size();
    double rr = 0, uu = 0, ur = 0;
    for (size_t j = 0; j < p; ++j) {
        shifted_[j] = r[j] + eta_ * u[j];
        rr += shifted_[j] * shifted_[j];
        uu += u[j] * u[j];
        ur += u[j] * shifted_[j];
    }
    const double half = 0.5 / probability, quarter = half * half;
    for (size_t k = 0; k < p; ++k) {
        const double rk = shifted_[k], uk = u[k];
        const double gu = half * rk, gr = half * uk, wr = 2 * half * rk;
        const double vu = quarter * (rr * uk + ur * rk), vr = quarter * (uu * rk + ur * uk);
        double *g = sum_.g.data() + k * p, *v = sum_.v.data() + k * p, *w = sum_.w.data() + k * p;
        for (size_t j = 0; j < p; ++j) {
            g[j] += gu * u[j] + gr * shifted_[j];
            v[j] += vu * u[j] + vr * shifted_[j];
            w[j] += wr * shifted_[j];
        }
    }
    // A row without residual, such as that of a landmark, has R_i = 0 up to rounding. Its quotient
    // |R_i|^2 / (d_i + eta) would consist of rounding errors, so it is left out.
    const double rest = std::max(d, 0.0) + eta_;
    if (rest > 1e-9 * sum_.load) sum_.reach = std::max(sum_.reach, rr / rest);
    ++sum_.s;
}

RowMoments RowSample::moments() const {
    if (sum_.s < 1) fail(MERCER_E_INTERNAL, "a certificate from sampled rows needs at least one row");
    RowMoments out = sum_;
    for (std::vector<double> *matrix : {&out.g, &out.v, &out.w})
        for (double &entry : *matrix) entry /= static_cast<double>(sum_.s);
    return out;
}

} // namespace mercer
