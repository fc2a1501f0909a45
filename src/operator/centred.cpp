// With mu = K w / W and s = w^T mu / W:
//
//   (H K H^T)_ij = K_ij - mu_i - mu_j + s = K_ij - a_i - a_j,   a_i = mu_i - s / 2
//   H K H^T v = K v - a (1^T v) - 1 (a^T v)
//
// Each entry is subtracted before it is used, as in weighted.cpp. Its error is that of K_ij and of
// a, whose sums have an error of n u at most.
#include "centred.h"

#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {

CentredOperator::CentredOperator(Run &run, const Operator &base, const double *weights)
    : Operator(base.n(), base.f32()), base_(base), mean_(run.buffer<double>(base.n())),
      shift_(run.buffer<double>(base.n())) {
    double total = 0, square = 0;
    for (int64_t i = 0; i < n(); ++i) {
        const double w = weights ? weights[i] : 1;
        total += w, square += w * w;
    }
    const double length = 1 + std::sqrt(static_cast<double>(n()) * square) / total;
    stretch_ = length * length;
    const auto share = [&](int64_t i) { return (weights ? weights[i] : 1) / total; };
    const Fill given = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = share(row0 + i);
    };
    base.product(run, false, 1, given, [&](const double *y, int64_t stride) {
        for (int64_t i = 0; i < n(); ++i) mean_[i] = y[i * stride];
    });
    for (int64_t i = 0; i < n(); ++i) mean_square_ += share(i) * mean_[i];
    for (int64_t i = 0; i < n(); ++i) shift_[i] = mean_[i] - mean_square_ / 2;
}

void CentredOperator::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    const Fill ones = [](int64_t, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = 1;
    };
    const Fill shift = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = shift_[row0 + i];
    };
    Buffer<double> sums = dots(run, n(), 1, ones, p, q), shifted = dots(run, n(), 1, shift, p, q);
    for (double &value : sums) value = -value;
    for (double &value : shifted) value = -value;
    base_.product(run, rough, p, q, [&](double *out, int64_t stride) {
        add_product(run, n(), 1, shift, p, sums.data(), out, stride);
        add_product(run, n(), 1, ones, p, shifted.data(), out, stride);
        y(out, stride);
    });
}

void CentredOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    for (int64_t j = 0; j < n(); ++j)
        for (int64_t i = 0; i < n(); ++i) a[i + j * lda] -= shift_[i] + shift_[j];
}

void CentredOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    for (int64_t i = 0; i < n(); ++i) d[i] -= 2 * shift_[i];
}

Fidelity CentredOperator::fidelity() const {
    Fidelity out = base_.fidelity();
    if (!out.exact()) out.distance *= stretch_;
    return out;
}

void CentredOperator::columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const {
    base_.columns(run, index, count, out, ldo);
    parallel_for(run, count, [&](int64_t k) {
        const double own = shift_[index[k]];
        for (int64_t i = 0; i < n(); ++i) out[i + k * ldo] -= shift_[i] + own;
    });
}

void CentredOperator::row_squares(Run &run, const Squares &of, double *out) const {
    Buffer<double> shift = run.buffer<double>(n());
    for (int64_t i = 0; i < n(); ++i) shift[i] = shift_[i] + (of.shift ? of.shift[i] : 0);
    base_.row_squares(run, {of.weights, shift.data()}, out);
}

} // namespace mercer
