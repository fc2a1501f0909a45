#include "check_solution.h"

#include "../core/blas.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

void check_vectors(const Matrix &m, const Request &request, const Solution &s) {
    const int64_t n = m.n, r = request.r, l = request.locked_count(n);
    const double slack = m.slack();
    Values all = request.locked_vectors, gram(static_cast<size_t>((l + r) * r));
    all.insert(all.end(), s.vectors.begin(), s.vectors.end());
    if (!std::all_of(all.begin(), all.end(), [](double v) { return std::isfinite(v); }))
        broken("a vector has NaN or Inf");
    gemm('T', 'N', l + r, r, n, 1.0, all.data(), n, s.vectors.data(), n, 0.0, gram.data(), l + r);
    for (int64_t j = 0; j < r; ++j)
        for (int64_t i = 0; i < l + r; ++i) {
            const double dot = gram[static_cast<size_t>(i + j * (l + r))], want = i == l + j;
            if (std::fabs(dot - want) <= slack) continue;
            if (i < l) broken("vector %d is not orthogonal to the locked vector %d: %.3g", int(j), int(i), dot);
            broken("its vectors are not orthonormal: the product of %d and %d is %.12g", int(i - l), int(j), dot);
        }
}

// Computes the residual |P A v - lambda v| of each pair, where P projects on the complement of the
// locked vectors, compares it with the residual that the solver reported, and returns the largest.
double check_residuals(const Matrix &m, const Request &request, const Solution &s) {
    const int64_t n = m.n, r = request.r, l = request.locked_count(n);
    Values y(s.vectors.size()), c(static_cast<size_t>(std::max<int64_t>(l * r, 1)));
    gemm('N', 'N', n, r, n, 1.0, m.a.data(), n, s.vectors.data(), n, 0.0, y.data(), n);
    if (l > 0) {
        const double *q = request.locked_vectors.data();
        gemm('T', 'N', l, r, n, 1.0, q, n, y.data(), n, 0.0, c.data(), l);
        gemm('N', 'N', n, r, l, -1.0, q, n, c.data(), l, 1.0, y.data(), n);
    }
    double worst = 0;
    for (int64_t j = 0; j < r; ++j) {
        const double lambda = s.values[static_cast<size_t>(j)], said = s.residuals[static_cast<size_t>(j)];
        const double scale = m.norm > 0 ? m.norm : 1; // keeps squares from overflow and underflow
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) {
            const size_t at = static_cast<size_t>(i + j * n);
            const double e = (y[at] - lambda * s.vectors[at]) / scale;
            sum += e * e;
        }
        const double residual = scale * std::sqrt(sum), own = 1e-6 * residual + m.rounding();
        const double more = m.roughs > 0 ? f32_room * m.norm : 0, less = m.products > 0 ? 0 : more;
        if (!(residual - said <= own + less && said - residual <= own + more))
            broken("pair %d has the residual %.6g, but it reports %.6g", int(j), residual, said);
        worst = std::max(worst, residual);
    }
    return worst;
}

void check_counts(const Matrix &m, const Solution &s) {
    if (s.out.passes != m.calls() || s.out.applies != m.applies)
        broken("it reports %d passes and %d applies, but the operator counted %d and %d", int(s.out.passes),
               int(s.out.applies), int(m.calls()), int(m.applies));
    if (s.cost.bytes < 0 || s.cost.passes < 0 || !(s.cost.flops >= 0))
        broken("forecast: bytes = %lld, passes = %lld, flops = %g", static_cast<long long>(s.cost.bytes),
               static_cast<long long>(s.cost.passes), s.cost.flops);
    if (s.out.passes > s.cost.passes)
        broken("forecast: passes = %d, but it took %d", int(s.cost.passes), int(s.out.passes));
    if (m.first > std::max(s.cost.columns, s.cost.first_columns) || m.widest > s.cost.columns)
        broken("forecast: columns = %d and %d, but it applied to %d and %d", int(s.cost.first_columns),
               int(s.cost.columns), int(m.first), int(m.widest));
    if (s.allocated > s.cost.bytes || s.columns > s.cost.blocks)
        broken("forecast: bytes = %lld, blocks = %lld, but it allocated %lld and %lld",
               static_cast<long long>(s.cost.bytes), static_cast<long long>(s.cost.blocks),
               static_cast<long long>(s.allocated), static_cast<long long>(s.columns));
}

} // namespace

void check_truth(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum, double own_tol) {
    if (s.status != MERCER_OK) broken("%s", returned("it", s.status, s.error).c_str());
    for (size_t j = 0; j < s.values.size(); ++j)
        if (!std::isfinite(s.values[j]) || (j > 0 && !(s.values[j] <= s.values[j - 1])))
            broken("values must be finite and descend: value %d is %.12g after %.12g", int(j), s.values[j],
                   j > 0 ? s.values[j - 1] : INFINITY);
    check_vectors(m, request, s);
    const double worst = check_residuals(m, request, s);
    const double allowed = std::max(std::max(request.tol, own_tol) * std::fabs(s.values[0]), m.rounding());
    if (s.out.converged != 0 && s.out.converged != 1) broken("converged = %d", s.out.converged);
    if (s.out.converged && !request.enough && !(worst <= allowed * (1 + 1e-6)))
        broken("it reports convergence, but a residual is %.6g, allowed %.6g", worst, allowed);
    const double room = m.rounding() + (m.roughs > 0 ? f32_room * m.norm : 0);
    if (!(s.out.most_negative >= spectrum.back() - room && s.out.most_negative <= s.values.back() + m.rounding()))
        broken("most_negative = %.6g is not a Ritz value of a spectrum that starts at %.6g, or is not below the "
               "smallest value returned, %.6g",
               s.out.most_negative, spectrum.back(), s.values.back());
    check_counts(m, s);
}

void check_agreement(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum) {
    if (!s.out.converged) broken("it did not converge in %d passes", int(s.out.passes));
    const double allowed = std::max(request.tol * std::fabs(s.values[0]), m.rounding());
    for (size_t j = 0; j < s.values.size(); ++j)
        if (!(std::fabs(s.values[j] - spectrum[j]) <= allowed))
            broken("value %d is %.12g, must be %.12g to %.2g", int(j), s.values[j], spectrum[j], allowed);
}

} // namespace mercer
