// The lift `triangular` (akfa, ackfa, skfa): one feature for each centre c_1 ... c_m, in their
// order. Feature j is the coordinate of phi(x) on the part of phi(c_j) that is orthogonal to the
// centres before it (Gram-Schmidt in feature space):
//
//   K_CC = L_C L_C^T,  l(x) = L_C^-1 k_C(x),  f(x) = l(x) - mu,  mu = sum w l / W,
//   A = L_C^-T (upper triangular),  b = mu,  nu = A mu;   uncentred: mu = 0.
//
// Because A is upper triangular, the first k features with their k centres are the model of k
// centres. The features are orthonormal directions in feature space, but unlike principal
// components they are correlated on the rows, and their variances need not descend. So the model
// has the tensors
//
//   covariance  S = sum w f f^T / W   (up to 1000 features),   variance  S_jj
//
// and no eigenvalues. The sum of the first k variances is the variance that these features explain.
// /errors in the report: the mean squared distance of the rows to the span of the first k centres,
// k = 0 ... m:  e_k = (sum w k(x, x) / W) - sum_{j <= k} (S_jj + mu_j^2).
//
// The rows of L that the factor module gives belong to centres in the order of its pivots pi. With
// their rows M = P L_pi in the order of the centres, M^T = Q R gives L_C = R^T and l = Q^T l_pi, so
// that S = Q^T S_pi Q. Centres in the span of others (equal rows) have no feature, and get zeros in
// A. Cost: n m kernel values, n m^2 + 20 m^3 / 3 flops. The error of A is that of a triangular
// solve, u_64 cond(L_C); that of S is that of sums in the tile's type.
#include "../core/blas.h"
#include "control_limits.h"
#include "projected.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// The change from the pivots' order to that of the centres: features = Q^T l.
struct InOrder {
    std::vector<int64_t> places; // of the centres that have a feature, ascending
    Buffer<double> q, r;         // r: L_C^T. Both are column-major, of order places.size()
    int64_t count() const { return static_cast<int64_t>(places.size()); }
};

template <class T>
InOrder in_order(const LiftTask &task, const SpanRows<T> &span) {
    const int64_t rank = span.rank();
    const Buffer<double> triangle = span.triangle(task.run);
    const CountedVector<int64_t> columns = columns_of(task, span);
    InOrder out{{}, task.run.buffer<double>(rank, rank), std::move(task.run.buffer<double>(rank, rank).zero())};
    for (size_t place = 0; place < columns.size(); ++place) {
        const int64_t pivot = columns[place];
        if (pivot < 0) continue;
        for (int64_t k = 0; k <= pivot; ++k) out.r[k + out.count() * rank] = triangle[pivot + k * rank];
        out.places.push_back(static_cast<int64_t>(place));
    }
    qr(rank, out.r.data(), rank, out.q.data(), rank);
    return out;
}

// Returns Q^T S Q. scatter: the lower triangle of S.
Buffer<double> turned(Run &run, const InOrder &order, Buffer<double> scatter) {
    const int64_t m = order.count();
    for (int64_t j = 0; j < m; ++j)
        for (int64_t i = 0; i < j; ++i) scatter[i + j * m] = scatter[j + i * m];
    Buffer<double> half = run.buffer<double>(m, m);
    gemm('N', 'N', m, m, m, 1.0, scatter.data(), m, order.q.data(), m, 0.0, half.data(), m);
    gemm('T', 'N', m, m, m, 1.0, order.q.data(), m, half.data(), m, 0.0, scatter.data(), m);
    return scatter;
}

// Writes A, b and nu.
template <class T>
void write_coefficients(const LiftTask &task, const InOrder &order, const std::vector<double> &mean, Lifted &out) {
    const int64_t m = task.centres.m(), rank = order.count();
    Buffer<double> lower = task.run.buffer<double>(rank, rank),
                   c = std::move(task.run.buffer<double>(rank, rank).zero());
    for (int64_t j = 0; j < rank; ++j) {
        for (int64_t i = j; i < rank; ++i) lower[i + j * rank] = order.r[j + i * rank];
        c[j + j * rank] = 1;
    }
    trsm('T', rank, rank, lower.data(), rank, c.data(), rank); // L_C^-T
    Tensor a = make_tensor<T>(m, rank);
    std::fill_n(tensor_data<T>(a), m * rank, T(0));
    CountedVector<double> nu(static_cast<size_t>(m));
    for (int64_t i = 0; i < rank; ++i) {
        const int64_t place = order.places[static_cast<size_t>(i)];
        for (int64_t j = i; j < rank; ++j) {
            tensor_data<T>(a)[place * rank + j] = static_cast<T>(c[i + j * rank]);
            nu[static_cast<size_t>(place)] += c[i + j * rank] * mean[static_cast<size_t>(j)];
        }
    }
    out.tensors["A"] = std::move(a);
    out.tensors["b"] = vector_tensor(mean);
    if (task.recipe.values().lift_centred) out.tensors["nu"] = vector_tensor(nu);
}

// Writes the covariance and the variances, and returns the mean squared residuals after 0 ... rank
// features.
std::vector<double> write_variances(const Buffer<double> &scatter, const SpanMoments &sums,
                                    const std::vector<double> &mean, Lifted &out) {
    const auto rank = static_cast<int64_t>(mean.size());
    std::vector<double> variance, errors{sums.uncentred / sums.weight};
    for (int64_t j = 0; j < rank; ++j) {
        const double shift = mean[static_cast<size_t>(j)];
        variance.push_back(std::max(scatter[j + j * rank] / sums.weight, 0.0));
        errors.push_back(std::max(errors.back() - variance.back() - shift * shift, 0.0));
    }
    out.tensors["variance"] = vector_tensor(variance);
    if (rank <= Whitening::most_correlated) {
        Tensor covariance = make_tensor<double>(rank, rank);
        for (int64_t k = 0; k < rank * rank; ++k) tensor_data<double>(covariance)[k] = scatter[k] / sums.weight;
        out.tensors["covariance"] = std::move(covariance);
    }
    return errors;
}

template <class T>
Lifted triangular_as(const LiftTask &task) {
    Run &run = task.run;
    const Prepared &prepared = task.prepared;
    const double *weights = prepared.weighted() ? prepared.weights.data() : nullptr;
    const bool centred = task.recipe.values().lift_centred != 0;
    prepared.kernel.need_psd("the lift 'triangular'");
    Lifted out;

    run.stage("gram");
    const Points<T> rows(prepared.source, prepared.map, leaf_specs(prepared.kernel));
    std::shared_ptr<PartialCholesky<T>> stored;
    const std::unique_ptr<SpanRows<T>> span = span_of<T>(task, rows, stored);
    if (stored && !task.reduction.owns(stored)) out.kernel_evaluations += stored->evaluations();

    run.stage("solve");
    Projection sums; // of l in the order of the pivots
    Buffer<double> scatter = scatter_of_rows(run, *span, weights, centred, sums);
    InOrder order = in_order(task, *span);
    scatter = turned(run, order, std::move(scatter));
    const int64_t rank = order.count();
    std::vector<double> mean(static_cast<size_t>(rank)); // in the order of the centres
    for (int64_t j = 0; j < rank; ++j)
        for (int64_t k = 0; k < rank; ++k)
            mean[static_cast<size_t>(j)] += order.q[k + j * rank] * sums.mean[static_cast<size_t>(k)];
    const bool all_rows = rank == prepared.source->rows() && rank < task.recipe.values().components;
    if (rank < task.centres.m() || task.reduction.rank_reached || all_rows) out.outcome |= MERCER_RANK_REACHED;

    run.stage("lift");
    write_coefficients<T>(task, order, mean, out);
    out.details["errors"] = write_variances(scatter, sums, mean, out);
    out.tensors["w"] = vector_tensor(task.centres.weights);
    out.capabilities = MERCER_CAN_DENSITY | MERCER_CAN_RESIDUAL;
    if (centred) {
        out.capabilities |= MERCER_CAN_MEAN;
        out.mean_square = sums.mean_square();
    }
    const std::optional<double> &known = task.reduction.mean_square;
    const bool exact = !centred || known || rank == prepared.source->rows();
    const double variance = centred && known ? sums.uncentred / sums.weight - *known : sums.trace / sums.weight;
    out.total_variance = {std::max(variance, 0.0), exact ? "exact" : "upper-bound"};
    out.mse = out.mse_components = sums.left / sums.weight;
    sums.v = std::move(order.q);
    out.limits = limits_in_span(run, *span, sums, rank, Whitening(out.tensors), weights);
    const double share = static_cast<double>(rank) / static_cast<double>(task.centres.m());
    out.products = share * share;
    out.rank = rank;
    out.kernel_evaluations += span->evaluations();
    return out;
}

} // namespace

Plan plan_triangular(const PlanTask &task) {
    const CoreValues &values = task.recipe.values();
    if (values.centred_gram && !values.lift_centred)
        fail(MERCER_E_VALUE, "lift.centred_gram = true needs lift.centred = true");
    if (values.centred_gram) return plan_centred_gram(task);
    const int64_t m = task.m;
    return plan_on_span(task, CertificateLevel::none, 0, 8 * 4 * m * m).plan;
}

Lifted lift_triangular(const LiftTask &task) {
    if (task.recipe.values().centred_gram) return lift_centred_gram(task);
    return task.prepared.f32 ? triangular_as<float>(task) : triangular_as<double>(task);
}

} // namespace mercer
