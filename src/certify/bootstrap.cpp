// The sums over rows of all replicates of a group are one matrix product: for each slab of rows,
// its left factor has the columns z_j z_k (j >= k), z_j and 1, and its right factor has the counts.
// Each group adds its slabs in order, and groups are independent of each other, so the result is
// bit-identical for any number of threads.
#include "bootstrap.h"

#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// For p = 20, the left factor of a slab takes 1 MB, so that it fits in the cache of a core.
constexpr int64_t slab_rows = 512, group_size = 32;

// Each replicate needs q = p (p + 1) / 2 + p + 1 sums over rows, weighted by the counts: of the
// products z_j z_k, of the z_j, and of 1. products() computes the left factor of a slab (rows x q),
// values() the eigenvalues from the q sums of a replicate.
struct Sums {
    int64_t p, q;
    explicit Sums(int64_t p) : p(p), q(p * (p + 1) / 2 + p + 1) {}

    void products(int64_t rows, const double *z, int64_t ldz, const double *weights, double *out) const {
        for (int64_t j = 0; j < p; ++j)
            for (int64_t k = 0; k <= j; ++k, out += slab_rows)
                for (int64_t i = 0; i < rows; ++i)
                    out[i] = z[i + j * ldz] * z[i + k * ldz] * (weights ? weights[i] : 1);
        for (int64_t j = 0; j < p; ++j, out += slab_rows)
            for (int64_t i = 0; i < rows; ++i) out[i] = z[i + j * ldz] * (weights ? weights[i] : 1);
        for (int64_t i = 0; i < rows; ++i) out[i] = weights ? weights[i] : 1;
    }

    // Computes the r largest eigenvalues of S_b.
    void values(const double *sum, bool centred, int64_t r, double *out) const {
        const double *mean = sum + q - 1 - p, total = sum[q - 1];
        std::vector<double> s(static_cast<size_t>(p * p)), vectors(static_cast<size_t>(p * r));
        for (int64_t j = 0; j < p; ++j)
            for (int64_t k = 0; k <= j; ++k, ++sum)
                s[static_cast<size_t>(j + k * p)] = *sum / total - (centred ? mean[j] / total * (mean[k] / total) : 0);
        eigh_top(p, s.data(), p, r, out, vectors.data(), p);
    }
};

struct Group {
    int64_t first, count;
    double from, share; // the part of the progress that belongs to this group
};

void run_group(Run &run, int64_t n, const Sums &sums, const double *z, int64_t ldz, const double *weights, bool centred,
               int64_t r, const Group &group, const Random &random, double *out) {
    const auto [first, count, from, share] = group;
    Buffer<double> products = run.buffer<double>(slab_rows, sums.q), counts = run.buffer<double>(slab_rows, count),
                   total = run.buffer<double>(sums.q, count);
    total.zero();
    for (int64_t row = 0; row < n; row += slab_rows) {
        if (run.stopped(from + share * static_cast<double>(row) / static_cast<double>(n))) return;
        const int64_t rows = std::min(slab_rows, n - row);
        sums.products(rows, z + row, ldz, weights ? weights + row : nullptr, products.data());
        for (int64_t b = 0; b < count; ++b)
            for (int64_t i = 0; i < rows; ++i)
                counts[i + b * slab_rows] = static_cast<double>(bootstrap_count(random, first + b, row + i));
        gemm('T', 'N', sums.q, count, rows, 1.0, products.data(), slab_rows, counts.data(), slab_rows, 1.0,
             total.data(), sums.q);
    }
    for (int64_t b = 0; b < count; ++b) {
        double *sum = total.data() + b * sums.q;
        if (sum[sums.q - 1] > 0)
            sums.values(sum, centred, r, out + b * r);
        else
            std::fill_n(out + b * r, r, 0.0); // an empty resample, possible only for a handful of rows
    }
}

// Interpolates linearly between order statistics.
double percentile(const std::vector<double> &sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1), below = std::floor(at);
    const size_t k = std::min(static_cast<size_t>(below), sorted.size() - 2);
    return sorted[k] + (at - static_cast<double>(k)) * (sorted[k + 1] - sorted[k]);
}

} // namespace

// Inverts the distribution function of Poisson(1).
int64_t bootstrap_count(const Random &random, int64_t b, int64_t i) {
    double left = random.uniform(b, i), chance = 0.36787944117144233; // 1 / e
    int64_t count = 0;
    while (left >= chance && count < 20) { // P(count > 20) < 2^-53
        left -= chance;
        chance /= static_cast<double>(++count);
    }
    return count;
}

int64_t bootstrap_bytes(int64_t n, int64_t p, int64_t threads) {
    const int64_t q = Sums(p).q, eigh = p * (2 * p + 12);
    return 8 * (n * p + threads * (slab_rows * (q + group_size) + q * group_size + eigh));
}

BootstrapErrors bootstrap_eigenvalues(Run &run, int64_t n, int64_t p, const double *z, int64_t ldz,
                                      const double *weights, bool centred, int64_t r, int64_t replicates, double level,
                                      uint64_t seed) {
    const Random random(seed, Stage::bootstrap);
    const Sums sums(p);
    BootstrapErrors out;
    out.replicates.assign(static_cast<size_t>(r * replicates), 0.0);
    parallel_for(run, (replicates + group_size - 1) / group_size, [&](int64_t group) {
        const int64_t first = group * group_size, count = std::min(group_size, replicates - first);
        const double all = static_cast<double>(replicates);
        run_group(run, n, sums, z, ldz, weights, centred, r,
                  {first, count, static_cast<double>(first) / all, static_cast<double>(count) / all}, random,
                  out.replicates.data() + first * r);
    });
    run.progress(1); // raises a stop that was requested during the last groups
    for (int64_t i = 0; i < r; ++i) {
        std::vector<double> values;
        for (int64_t b = 0; b < replicates; ++b) values.push_back(out.replicates[static_cast<size_t>(i + b * r)]);
        std::sort(values.begin(), values.end());
        double mean = 0, square = 0;
        for (double value : values) mean += value / static_cast<double>(replicates);
        for (double value : values) square += (value - mean) * (value - mean);
        out.mean.push_back(mean);
        out.sd.push_back(std::sqrt(square / static_cast<double>(replicates - 1)));
        out.lower.push_back(percentile(values, (1 - level) / 2));
        out.upper.push_back(percentile(values, (1 + level) / 2));
    }
    return out;
}

} // namespace mercer
