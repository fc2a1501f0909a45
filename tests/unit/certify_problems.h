// Random problems K = L L^T + E for tests of certificates. All parts are explicit: the matrix K, a
// naively computed factor L, E itself, and the exact eigenvalues (by LAPACK).
#pragma once
#include "certify/bounds.h"
#include "core/blas.h"
#include "core/tall.h"
#include "oracle.h"
#include "tolerances.h"

namespace certify_problems {

using namespace mercer;
using Dense = std::vector<double>; // column-major

struct Gauss : oracle::Numbers {
    using oracle::Numbers::Numbers;
    double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
    int64_t below(int64_t count) { return static_cast<int64_t>(uniform() * static_cast<double>(count)); }
    // Draws an integer whose logarithm is nearly uniformly distributed.
    int64_t between(int64_t low, int64_t high) {
        return static_cast<int64_t>(static_cast<double>(low) *
                                    std::pow(static_cast<double>(high + 1) / static_cast<double>(low), uniform()));
    }
};

inline Dense top(int64_t n, Dense a, int64_t r, Dense *vectors = nullptr) {
    Dense values(static_cast<size_t>(r)), own(static_cast<size_t>(n * r));
    eigh_top(n, a.data(), n, r, values.data(), vectors ? (vectors->resize(own.size()), vectors->data()) : own.data(),
             n);
    return values;
}

enum class Kind { gaussian, slow, cauchy, duplicates, spiked, clusters, count };

inline Dense points(Kind kind, int64_t n, int64_t d, Gauss &random) {
    Dense x(static_cast<size_t>(n * d)), centres(static_cast<size_t>(20 * d));
    for (double &value : x) value = random.normal();
    for (double &value : centres) value = 3 * random.normal();
    for (int64_t i = 0; i < n; ++i) {
        double *row = x.data() + i * d;
        const double *centre = centres.data() + random.below(20) * d;
        if (kind == Kind::clusters)
            for (int64_t j = 0; j < d; ++j) row[j] = 0.7 * row[j] + centre[j];
        if (kind == Kind::duplicates && i > n / 5) std::copy_n(x.data() + random.below(n / 5 + 1) * d, d, row);
    }
    return x;
}

inline Dense kernel(Kind kind, int64_t n, Gauss &random) {
    const int64_t d = kind == Kind::clusters ? 16 : random.between(1, 8);
    const Dense x = points(kind, n, d, random);
    const double sigma = kind == Kind::clusters ? 5 : 0.5 + 2 * random.uniform() * std::sqrt(static_cast<double>(d));
    Dense k(static_cast<size_t>(n * n));
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i <= j; ++i) {
            double square = 0;
            for (int64_t c = 0; c < d; ++c)
                square += std::pow(x[static_cast<size_t>(i * d + c)] - x[static_cast<size_t>(j * d + c)], 2);
            const double value = kind == Kind::slow     ? std::exp(-std::sqrt(square) / sigma)
                                 : kind == Kind::cauchy ? 1 / (1 + square / (sigma * sigma))
                                                        : std::exp(-square / (2 * sigma * sigma));
            k[static_cast<size_t>(i + j * n)] = k[static_cast<size_t>(j + i * n)] = value;
        }
    return k;
}

struct Options {
    Kind kind = Kind::gaussian;
    int64_t n = 100, m = 20, p = 5;
    bool centred = true, f32 = false;
};

struct Problem {
    Options options;
    Dense k, l, e, d; // K is not centred; d is the diagonal of E
    Dense u, ru;      // U is n x p; ru = E U
    Dense exact;      // the p largest eigenvalues of H K H, or of K if not centred
    RitzSpectrum all, spectrum;
    double norm = 0; // |E + eta|, computed only if requested or in f32
    double rounding() const { return tolerance::certificate(exact.empty() ? 0 : exact[0]); }
};

inline Dense centre(int64_t n, Dense a) {
    Dense mean(static_cast<size_t>(n));
    double whole = 0;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
            mean[static_cast<size_t>(j)] += a[static_cast<size_t>(i + j * n)] / static_cast<double>(n);
    for (double value : mean) whole += value / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
            a[static_cast<size_t>(i + j * n)] += whole - mean[static_cast<size_t>(i)] - mean[static_cast<size_t>(j)];
    return a;
}

// Partial Cholesky, one column at a time. Each pivot is the row of largest residual (greedy), or is
// drawn with probability proportional to the residual. None of the first `hidden` rows becomes a
// pivot. Returns the number of columns.
inline int64_t factor(Problem &problem, int64_t m, int64_t hidden, bool greedy, Gauss &random) {
    const int64_t n = problem.options.n;
    Dense d(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) d[static_cast<size_t>(i)] = problem.k[static_cast<size_t>(i * (n + 1))];
    for (int64_t step = 0; step < m; ++step) {
        int64_t pivot = hidden;
        double sum = 0, least = 1e-8;
        for (int64_t i = hidden; i < n; ++i) sum += d[static_cast<size_t>(i)] > least ? d[static_cast<size_t>(i)] : 0;
        if (!(sum > 0)) return step;
        double at = random.uniform() * sum;
        if (greedy)
            pivot = std::max_element(d.begin() + hidden, d.end()) - d.begin();
        else
            for (int64_t i = hidden; i < n; ++i) {
                if (!(d[static_cast<size_t>(i)] > least)) continue;
                pivot = i;
                if ((at -= d[static_cast<size_t>(i)]) < 0) break;
            }
        const double root = std::sqrt(d[static_cast<size_t>(pivot)]);
        for (int64_t i = 0; i < n; ++i) {
            double value = problem.k[static_cast<size_t>(i + pivot * n)];
            for (int64_t c = 0; c < step; ++c)
                value -= problem.l[static_cast<size_t>(i + c * n)] * problem.l[static_cast<size_t>(pivot + c * n)];
            problem.l.push_back(value / root);
        }
        for (int64_t i = 0; i < n; ++i)
            d[static_cast<size_t>(i)] =
                std::max(0.0, d[static_cast<size_t>(i)] - std::pow(problem.l[static_cast<size_t>(i + step * n)], 2));
        d[static_cast<size_t>(pivot)] = 0;
    }
    return m;
}

// Computes theta and U from the Gram matrix of the factor. U has only directions with theta above
// 1e-6 theta_1, so that it is orthonormal to 1e6 u.
inline void ritz(Problem &problem, int64_t m) {
    const int64_t n = problem.options.n;
    Dense f = problem.l, gram(static_cast<size_t>(m * m)), v;
    for (int64_t j = 0; problem.options.centred && j < m; ++j) {
        double mean = 0;
        for (int64_t i = 0; i < n; ++i) mean += f[static_cast<size_t>(i + j * n)] / static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i) f[static_cast<size_t>(i + j * n)] -= mean;
    }
    gemm('T', 'N', m, m, n, 1.0, f.data(), n, f.data(), n, 0.0, gram.data(), m);
    problem.all.theta = top(m, gram, m, &v);
    Dense &theta = problem.all.theta;
    for (double &value : theta) value = std::max(value, 0.0);
    int64_t p = 1;
    while (p < std::min(problem.options.p, m) && theta[static_cast<size_t>(p)] > 1e-6 * theta[0]) ++p;
    problem.u.resize(static_cast<size_t>(n * p));
    for (int64_t j = 0; j < p; ++j)
        gemm('N', 'N', n, 1, m, theta[0] > 0 ? 1 / std::sqrt(theta[static_cast<size_t>(j)]) : 0.0, f.data(), n,
             v.data() + j * m, m, 0.0, problem.u.data() + j * n, n);
    problem.options.p = p;
}

// Makes a problem. Rows 0, 1 and 2 of a spiked problem share a direction that no pivot sees. If
// with_norm is set or the factor is in f32, all eigenvalues of E are computed (n^3 flops): they
// give |E + eta|, and in f32 also eta.
inline Problem make(Options options, uint64_t seed, bool with_norm) {
    Gauss random(seed * 2 + 1);
    for (int skip = 0; skip < 8; ++skip) random.uniform();
    Problem problem;
    const int64_t n = options.n;
    const bool spiked = options.kind == Kind::spiked && n > 6;
    problem.options = options;
    problem.k = kernel(options.kind, n, random);
    const double size = spiked ? 0.1 * static_cast<double>(n) * random.uniform() : 0, signs[] = {1, -1, 0.5};
    for (int64_t j = 0; j < 3 && spiked; ++j)
        for (int64_t i = 0; i < 3; ++i) problem.k[static_cast<size_t>(i + j * n)] += size * signs[i] * signs[j];
    const int64_t m =
        factor(problem, std::min(options.m, n - (spiked ? 3 : 0)), spiked ? 3 : 0, random.uniform() < 0.3, random);
    if (options.f32)
        for (double &value : problem.l) value = static_cast<double>(static_cast<float>(value));
    ritz(problem, m);
    problem.e = problem.k;
    gemm('N', 'T', n, n, m, -1.0, problem.l.data(), n, problem.l.data(), n, 1.0, problem.e.data(), n);
    for (int64_t i = 0; i < n; ++i) {
        problem.d.push_back(std::max(problem.e[static_cast<size_t>(i * (n + 1))], 0.0));
        problem.all.trace += problem.d.back();
    }
    problem.all.n = n;
    if (with_norm || options.f32) {
        const Dense values = top(n, problem.e, n);
        if (options.f32) problem.all.eta = std::max(-values.back(), 0.0) * 1.01;
        problem.norm = std::max(values.front() + problem.all.eta, 0.0);
    }
    const int64_t p = problem.options.p;
    problem.spectrum = leading(problem.all, p);
    if (p == m) problem.spectrum.next = 0;
    problem.ru.resize(static_cast<size_t>(n * p));
    gemm('N', 'N', n, p, n, 1.0, problem.e.data(), n, problem.u.data(), n, 0.0, problem.ru.data(), n);
    problem.exact = top(n, options.centred ? centre(n, problem.k) : problem.k, p);
    return problem;
}

inline mercer_run one_thread() {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = 1;
    return run;
}

// Computes F, an upper bound of |E + eta|, from sampled pairs of rows.
inline double sampled_norm(Run &run, const Problem &problem, int64_t pairs, double failure, uint64_t seed) {
    const double eta = problem.spectrum.eta;
    const int64_t n = problem.options.n;
    if (!(problem.spectrum.total() > 0)) return 0;
    Dense weight = problem.d, x;
    for (double &value : weight) value += eta;
    const WeightedDraw draws(run, n, weight.data());
    const Random random(seed, Stage::certificate);
    for (int64_t k = 0; k < pairs; ++k) {
        const int64_t i = draws.draw(random.uniform(1, k)), j = draws.draw(random.uniform(2, k));
        x.push_back(pair_share(problem.e[static_cast<size_t>(i + j * n)], i == j, problem.d[static_cast<size_t>(i)],
                               problem.d[static_cast<size_t>(j)], eta));
    }
    return frobenius_bound(problem.spectrum.total(), x.data(), pairs, failure);
}

inline RowMoments sampled_rows(Run &run, const Problem &problem, int64_t s, uint64_t seed) {
    const int64_t n = problem.options.n, p = problem.options.p;
    const double eta = problem.spectrum.eta;
    const RowLaw law(run, n, problem.d.data(), eta, p, problem.u.data(), n);
    const Random random(seed, Stage::certificate);
    RowSample sample(law, p, eta);
    Dense r(static_cast<size_t>(p)), u(static_cast<size_t>(p));
    for (int64_t k = 0; k < s; ++k) {
        const int64_t i = law.draw(random.uniform(0, k));
        for (int64_t j = 0; j < p; ++j) {
            r[static_cast<size_t>(j)] = problem.ru[static_cast<size_t>(i + j * n)];
            u[static_cast<size_t>(j)] = problem.u[static_cast<size_t>(i + j * n)];
        }
        sample.add(r.data(), u.data(), problem.d[static_cast<size_t>(i)], law.probability(i));
    }
    return sample.moments();
}

// Computes the moments of all rows, each taken once.
inline RowMoments all_rows(Run &run, const Problem &problem) {
    const int64_t n = problem.options.n, p = problem.options.p;
    const RowLaw law(run, n, problem.d.data(), problem.spectrum.eta, p, problem.u.data(), n);
    RowSample sample(law, p, problem.spectrum.eta);
    for (int64_t i = 0; i < n; ++i) {
        Dense r, u;
        for (int64_t j = 0; j < p; ++j) {
            r.push_back(problem.ru[static_cast<size_t>(i + j * n)]);
            u.push_back(problem.u[static_cast<size_t>(i + j * n)]);
        }
        sample.add(r.data(), u.data(), problem.d[static_cast<size_t>(i)], 1 / static_cast<double>(n));
    }
    RowMoments out = sample.moments();
    out.all = true;
    return out;
}

// Returns the options of small problem number k. Consecutive numbers take all kinds in turn.
inline Options some(int64_t k) {
    Gauss random(static_cast<uint64_t>(k) + 99);
    for (int skip = 0; skip < 8; ++skip) random.uniform();
    Options options;
    options.kind = static_cast<Kind>(k % static_cast<int64_t>(Kind::count));
    options.n = random.between(2, 120);
    options.m = random.between(1, options.n);
    options.p = random.between(1, 12);
    options.centred = random.uniform() < 0.7;
    options.f32 = random.uniform() < 0.3;
    return options;
}

constexpr int64_t endless = int64_t{1} << 60; // so many rows that deviations are below about 1e-8 of the norm

// Returns the true G and W as the moments of `endless` rows without variance (v = 0).
inline RowMoments exact_moments(const Problem &problem) {
    const int64_t n = problem.options.n, p = problem.options.p;
    RowMoments out;
    out.p = p;
    out.s = endless;
    out.cross = std::sqrt(static_cast<double>(p) * problem.spectrum.total());
    out.load = 2 * problem.spectrum.total();
    out.g.resize(static_cast<size_t>(p * p)), out.w = out.v = out.g;
    Dense shifted = problem.ru;
    for (size_t i = 0; i < shifted.size(); ++i) shifted[i] += problem.spectrum.eta * problem.u[i];
    gemm('T', 'N', p, p, n, 1.0, problem.u.data(), n, shifted.data(), n, 0.0, out.g.data(), p);
    gemm('T', 'N', p, p, n, 1.0, shifted.data(), n, shifted.data(), n, 0.0, out.w.data(), p);
    return out;
}

} // namespace certify_problems
