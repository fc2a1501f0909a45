#include "low_rank.h"

#include <algorithm>

namespace mercer {

void RankOperator::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    const int64_t k = u_.count;
    const Fill u = rows_of(u_);
    Buffer<double> s = dots(run, n(), k, u, p, q);
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < k; ++i) s[i + j * k] *= c_[static_cast<size_t>(i)];
    base_.product(run, rough, p, q, [&](double *out, int64_t stride) {
        add_product(run, n(), k, u, p, s.data(), out, stride);
        y(out, stride);
    });
}

void RankOperator::dense(Run &run, double *a, int64_t lda) const {
    base_.dense(run, a, lda);
    Buffer<double> u = run.buffer<double>(n());
    for (int64_t k = 0; k < u_.count; ++k) {
        u_.block->read(u_.first + k, 0, n(), u.data());
        for (int64_t j = 0; j < n(); ++j)
            for (int64_t i = 0; i < n(); ++i) a[i + j * lda] += c_[static_cast<size_t>(k)] * (u[i] * u[j]);
    }
}

void RankOperator::diagonal(Run &run, double *d) const {
    base_.diagonal(run, d);
    Buffer<double> u = run.buffer<double>(n());
    for (int64_t k = 0; k < u_.count; ++k) {
        u_.block->read(u_.first + k, 0, n(), u.data());
        for (int64_t i = 0; i < n(); ++i) d[i] += c_[static_cast<size_t>(k)] * (u[i] * u[i]);
    }
}

// The added matrix is exact, so the distance remains that of the base. If an entry of c is
// negative, the sum is not known to be positive semi-definite.
Fidelity RankOperator::fidelity() const {
    Fidelity out = base_.fidelity();
    out.positive = out.positive && std::all_of(c_.begin(), c_.end(), [](double c) { return c >= 0; });
    return out;
}

void RankOperator::columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const {
    base_.columns(run, index, count, out, ldo);
    Buffer<double> u = run.buffer<double>(n());
    for (int64_t k = 0; k < u_.count; ++k) {
        u_.block->read(u_.first + k, 0, n(), u.data());
        for (int64_t j = 0; j < count; ++j) {
            const double factor = c_[static_cast<size_t>(k)] * u[index[j]];
            for (int64_t i = 0; i < n(); ++i) out[i + j * ldo] += factor * u[i];
        }
    }
}

} // namespace mercer
