// With E[Omega Omega^T] = diag(w),  E|Y_j|^2 = sum_t w_t R_jt^2 = s_j for Y = R Omega:
//
//   rows    column k of Omega is e_t sqrt(c W / q): row t was drawn c times in q draws, each with
//           probability w_t / W. With equal weights rows are drawn without replacement.
//   signs   Omega_tk = +- sqrt(w_t / q). The relative standard deviation of |Y_j|^2 is at most
//           sqrt(2 / q).
//
// Y is updated and never computed anew: its error is that of R, about u_64 K_jj per entry, so the
// estimates serve down to s_j of about u_64^2 W K_jj^2. Cost: n q kernel values (rows), one pass
// (signs), and 4 n q flops for each pivot; 8 n q bytes.
#include "energy_sketch.h"

#include "../core/slabs.h"
#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t slab = 2048;               // rows that one thread processes at once
constexpr int64_t stream = int64_t{1} << 40; // the numbers of Random are taken from here on

} // namespace

EnergySketch::EnergySketch(Run &run, const Operator &kernel, const KernelRows &rows, Kind kind, const Random &random)
    : run_(run), kernel_(kernel), rows_(rows), kind_(kind), random_(random), width_(width(kind)) {
    const int64_t n = kernel.n();
    if (kind == Kind::rows) {
        draw_rows();
        y_ = run.buffer<double>(n, width_);
        kernel.columns(run, drawn_.data(), width_, y_.data(), n);
        for (int64_t k = 0; k < width_; ++k)
            for (int64_t j = 0; j < n; ++j) y_[j + k * n] *= scale_[static_cast<size_t>(k)];
        return;
    }
    y_ = run.buffer<double>(n, width_);
    const Fill omega = [&](int64_t row0, int64_t count, double *to, int64_t stride) {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t k = 0; k < width_; ++k) to[i * stride + k] = entry(row0 + i, k);
    };
    kernel.product(run, false, width_, omega, [&](const double *y, int64_t stride) {
        for (int64_t k = 0; k < width_; ++k)
            for (int64_t j = 0; j < n; ++j) y_[j + k * n] = y[j * stride + k];
    });
}

double EnergySketch::entry(int64_t t, int64_t k) const {
    const double length = std::sqrt((rows_.weights ? rows_.weights[t] : 1) / static_cast<double>(width_));
    return random_.uniform(stream + t, k) < 0.5 ? length : -length;
}

// Draws rows until `width_` are drawn. Rows that are drawn again lengthen their vector.
void EnergySketch::draw_rows() {
    const int64_t n = kernel_.n(), wanted = std::min(width_, n);
    std::vector<double> upto; // running sums of the weights
    double total = 0;
    bool equal = true;
    for (int64_t t = 0; t < n; ++t) {
        const double w = rows_.weights ? rows_.weights[t] : 1;
        equal = equal && (!rows_.weights || w == rows_.weights[0]);
        upto.push_back(total += w);
    }
    std::vector<int64_t> all;
    for (int64_t draw = 0; static_cast<int64_t>(all.size()) < wanted; ++draw) {
        const double at = random_.uniform(stream, draw) * total;
        const int64_t row = std::min<int64_t>(std::upper_bound(upto.begin(), upto.end(), at) - upto.begin(), n - 1);
        if (equal && std::find(all.begin(), all.end(), row) != all.end()) continue;
        all.push_back(row);
    }
    std::sort(all.begin(), all.end());
    const double share = total / static_cast<double>(wanted);
    for (size_t k = 0; k < all.size();) {
        const size_t first = k;
        while (k < all.size() && all[k] == all[first]) ++k;
        drawn_.push_back(all[first]);
        scale_.push_back(std::sqrt(share * static_cast<double>(k - first)));
    }
    width_ = static_cast<int64_t>(drawn_.size());
}

void EnergySketch::subtract(const double *l) {
    const int64_t n = kernel_.n();
    std::vector<double> products(static_cast<size_t>(width_)); // l^T Omega
    if (kind_ == Kind::rows) {
        for (size_t k = 0; k < products.size(); ++k) products[k] = scale_[k] * l[drawn_[k]];
    } else {
        reduce_slabs<std::vector<double>>(
            run_, {n, slab},
            [&](int64_t row0, int64_t rows, std::vector<double> &sum) {
                sum.assign(products.size(), 0.0);
                for (int64_t t = row0; t < row0 + rows; ++t)
                    for (size_t k = 0; k < sum.size(); ++k) sum[k] += l[t] * entry(t, static_cast<int64_t>(k));
            },
            [&](const std::vector<double> &sum) {
                for (size_t k = 0; k < sum.size(); ++k) products[k] += sum[k];
            });
    }
    parallel_for(run_, width_, [&](int64_t k) {
        const double factor = products[static_cast<size_t>(k)];
        double *column = y_.data() + k * n;
        for (int64_t j = 0; j < n; ++j) column[j] -= l[j] * factor;
    });
}

void EnergySketch::energies(double *out) const {
    const int64_t n = kernel_.n();
    parallel_for(run_, (n + slab - 1) / slab, [&](int64_t s) {
        const int64_t end = std::min(n, (s + 1) * slab);
        std::fill(out + s * slab, out + end, 0.0);
        for (int64_t k = 0; k < width_; ++k)
            for (int64_t j = s * slab; j < end; ++j) out[j] += y_[j + k * n] * y_[j + k * n];
    });
}

} // namespace mercer
