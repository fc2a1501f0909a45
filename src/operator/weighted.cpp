// Computes the columns and the row squares of A = P S K S P (weighted.h).
//
// With w = s^2, W = sum w, mu = K w / W and mubar = w^T mu / W,
//
//   P S = S H,  H = 1 - 1 w^T / W,    (H K H^T)_ij = K_ij - mu_i - mu_j + mubar = K_ij - a_i - a_j,
//   A_ij = s_i s_j (K_ij - a_i - a_j),    a_i = mu_i - mubar / 2    (a = 0 if uncentred)
//   sum_j v_j A_ij^2 = s_i^2 sum_j (v_j w_j) (K_ij - a_i - a_j)^2
//
// The last sum is what the base computes in one pass over its tiles (Operator::Squares). The usual
// expansion |K_i|^2 - 2 (K mu)_i + ... needs as many passes, but subtracts numbers that may exceed
// their difference by orders of magnitude. Here entries are subtracted and then squared: with
// errors of at most e in K_ij - a_i - a_j, a row square q errs by at most 2 s_i e sqrt(W q) +
// s_i^2 W e^2, and relatively by the rounding of the sum.
#include "weighted.h"

#include "../core/blas.h"
#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {

WeightedOperator::WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred)
    : Operator(base.n(), base.f32()), base_(base), scale_(sqrt_weights), centred_(centred),
      mean_(run.buffer<double>(centred ? base.n() : 0)) {
    double square = 0;
    for (int64_t i = 0; i < n(); ++i) square += scale(i) * scale(i);
    inverse_length_ = 1 / std::sqrt(square);
}

void WeightedOperator::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    // If K S u is still unknown, or known only roughly while this product is exact, the base
    // operator computes it as one more column.
    const bool rides = centred_ && (known_ == Mean::unknown || (!rough && known_ == Mean::rough));
    const Fill u = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = unit(row0 + i);
    };
    Buffer<double> c; // u^T Q
    if (centred_) c = dots(run, n(), 1, u, p, q);
    const Fill in = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        q(row0, rows, to, stride);
        for (int64_t i = 0; i < rows; ++i) {
            double *row = to + i * stride;
            const double si = scale(row0 + i), ui = unit(row0 + i);
            for (int64_t j = 0; j < p; ++j) row[j] = si * (centred_ ? row[j] - ui * c[j] : row[j]);
            if (rides) row[p] = si * ui;
        }
    };
    base_.product(run, rough, p + rides, in, [&](double *out, int64_t stride) {
        for (int64_t i = 0; rides && i < n(); ++i) mean_[i] = out[i * stride + p];
        if (rides) known_ = rough ? Mean::rough : Mean::exact;
        for (int64_t i = 0; scale_ && i < n(); ++i)
            for (int64_t j = 0; j < p; ++j) out[i * stride + j] *= scale_[i];
        if (centred_) {
            const Fill made = [&](int64_t row0, int64_t rows, double *to, int64_t step) {
                for (int64_t i = 0; i < rows; ++i) std::copy_n(out + (row0 + i) * stride, p, to + i * step);
            };
            c = dots(run, n(), 1, u, p, made);
            for (double &value : c) value = -value;
            add_product(run, n(), 1, u, p, c.data(), out, stride);
        }
        y(out, stride);
    });
}

const double *WeightedOperator::mean(Run &run) const {
    if (known_ == Mean::exact) return mean_.data();
    const Fill su = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = scale(row0 + i) * unit(row0 + i);
    };
    base_.product(run, false, 1, su, [&](double *out, int64_t stride) {
        for (int64_t i = 0; i < n(); ++i) mean_[i] = out[i * stride];
    });
    known_ = Mean::exact;
    return mean_.data();
}

void WeightedOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    for (int64_t j = 0; scale_ && j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] *= scale_[i] * scale_[j];
    if (!centred_) return;
    // With B = S K S, which `a` holds now: P B P = B - u v^T - v u^T + c u u^T, where v = B u and c
    // = u^T v. Both triangles are computed by the same formula, so that the result is symmetric.
    Buffer<double> u = run.buffer<double>(n()), v = run.buffer<double>(n());
    for (int64_t i = 0; i < n(); ++i) u[i] = unit(i);
    gemm('N', 'N', n(), 1, n(), 1.0, a, lda, u.data(), n(), 0.0, v.data(), n());
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += u[i] * v[i];
    for (int64_t j = 0; j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] += c * (u[i] * u[j]) - (u[i] * v[j] + v[i] * u[j]);
}

void WeightedOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    for (int64_t i = 0; scale_ && i < n(); ++i) d[i] *= scale_[i] * scale_[i];
    if (!centred_) return;
    const double *ksu = mean(run);
    auto v = [&](int64_t i) { return ksu[i] * scale(i); }; // S K S u
    double c = 0;
    for (int64_t i = 0; i < n(); ++i) c += unit(i) * v(i);
    for (int64_t i = 0; i < n(); ++i) d[i] += unit(i) * (c * unit(i) - 2 * v(i));
}

Fidelity WeightedOperator::fidelity() const {
    Fidelity out = base_.fidelity();
    double largest = 0;
    for (int64_t i = 0; i < n(); ++i) largest = std::max(largest, scale(i) * scale(i));
    if (!out.exact()) out.distance *= largest;
    return out;
}

Buffer<double> WeightedOperator::shift(Run &run) const {
    Buffer<double> out = std::move(run.buffer<double>(n()).zero());
    if (!centred_) return out;
    const double *ksu = mean(run); // mu |s|, because S u = w / |s|
    double mubar = 0;
    for (int64_t i = 0; i < n(); ++i) {
        out[i] = ksu[i] * inverse_length_;
        mubar += unit(i) * unit(i) * out[i];
    }
    for (double &value : out) value -= mubar / 2;
    return out;
}

void WeightedOperator::columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const {
    const Buffer<double> a = shift(run);
    base_.columns(run, index, count, out, ldo);
    parallel_for(run, count, [&](int64_t k) {
        const int64_t j = index[k];
        double *column = out + k * ldo;
        for (int64_t i = 0; i < n(); ++i) column[i] = scale(i) * scale(j) * (column[i] - a[i] - a[j]);
    });
}

void WeightedOperator::row_squares(Run &run, const Squares &of, double *out) const {
    // A shift of A cannot be passed on to K: entries of A are shifted after they have been scaled,
    // those of K before.
    if (of.shift) return Operator::row_squares(run, of, out);
    const Buffer<double> a = shift(run);
    Buffer<double> weights = run.buffer<double>(n());
    for (int64_t j = 0; j < n(); ++j) weights[j] = (of.weights ? of.weights[j] : 1) * scale(j) * scale(j);
    base_.row_squares(run, {weights.data(), centred_ ? a.data() : nullptr}, out);
    for (int64_t i = 0; i < n(); ++i) out[i] *= scale(i) * scale(i);
}

} // namespace mercer
