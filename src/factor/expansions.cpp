// With C = L_I^-T the coefficients are a_j = C L_j. A pivot p with the root sqrt(R_pp) gives
// c = -C L_p / root, a_j <- (a_j + c l_j, l_j / root) and C <- ((C, c), (0, 1 / root)).
// Cost: 2 n i flops for pivot i.
#include "expansions.h"

#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {

Expansions::Expansions(Run &run, int64_t n, int64_t capacity) : run_(run), n_(n), lengths_(run.buffer<double>(n)) {
    std::fill(lengths_.begin(), lengths_.end(), 1.0);
    reserve(capacity);
}

void Expansions::reserve(int64_t capacity) {
    const auto moved = [&](const Buffer<double> &from, int64_t rows, int64_t used) {
        Buffer<double> to = run_.buffer<double>(rows, capacity);
        for (int64_t i = 0; i < used; ++i) std::copy_n(from.data() + i * capacity_, count_, to.data() + i * capacity);
        return to;
    };
    coefficients_ = moved(coefficients_, n_, n_);
    inverse_ = moved(inverse_, capacity, count_);
    capacity_ = capacity;
}

void Expansions::append(const double *row, double root, const double *column) {
    const int64_t i = count_++;
    std::vector<double> c(static_cast<size_t>(i));
    for (int64_t k = 0; k < i; ++k) {
        double sum = 0;
        for (int64_t q = k; q < i; ++q) sum += inverse_[k * capacity_ + q] * row[q];
        c[static_cast<size_t>(k)] = inverse_[k * capacity_ + i] = -sum / root;
    }
    inverse_[i * capacity_ + i] = 1 / root;
    constexpr int64_t slab = 2048; // rows that one thread processes at once
    Run::Span span(run_, 0, 0);
    parallel_for(run_, (n_ + slab - 1) / slab, [&](int64_t s) {
        for (int64_t j = s * slab; j < std::min(n_, (s + 1) * slab); ++j) {
            double *a = coefficients_.data() + j * capacity_, sum = 1;
            for (int64_t k = 0; k < i; ++k) a[k] += c[static_cast<size_t>(k)] * column[j], sum += std::fabs(a[k]);
            a[i] = column[j] / root;
            lengths_[j] = sum + std::fabs(a[i]);
        }
    });
}

} // namespace mercer
