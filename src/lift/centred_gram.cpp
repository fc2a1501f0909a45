// The lift `triangular` with lift.centred_gram: the features of the centred kernel matrix, as in
// the paper on AKFA. With the weighted mean mu of the images, K~ = H K H^T and the pivots I,
//
//   K~_II = L_I L_I^T,   C = L_I^-T,   f(x) = C^T k~_I(x),
//   k~_i(x) = k(x_i, x) - m(x) - mu_i + s,   m(x) = w^T k_X(x) / W,   s = w^T K w / W^2.
//
// m(x) needs the kernel values with all rows, so all rows become centres, the pivots first:
//
//   A_tj = (C_tj if t is a pivot) + a0_j w_t / W,   a0_j = -sum_i C_ij,
//   b = C^T mu_I + a0 s,   nu = w / W.
//
// A score costs n kernel values and n r multiplications. Cost of the fit: one pass for mu, n m
// kernel values, 2 n m^2 + m^3 / 3 flops; memory: 3 n m numbers, and n (d + m) for the model. Its
// error is that of a Cholesky factor of K~_II in f64.
#include "../core/blas.h"
#include "../factor/partial_cholesky.h"
#include "../operator/centred.h"
#include "control_limits.h"
#include "lift.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// The Cholesky factor, in order, of the rows and columns of a matrix that do not depend on those
// before them.
struct Ordered {
    std::vector<int64_t> places; // of these rows
    Buffer<double> lower;        // column-major, places.size() square
    int64_t count() const { return static_cast<int64_t>(places.size()); }
};

template <class T, class Entry>
Ordered factor_in_order(Run &run, int64_t m, double largest, Entry &&entry) {
    std::vector<std::vector<double>> rows; // of the factor
    Ordered out;
    for (int64_t i = 0; i < m; ++i) {
        std::vector<double> row;
        double left = entry(i, i);
        for (int64_t j = 0; j < out.count(); ++j) {
            const std::vector<double> &other = rows[static_cast<size_t>(j)];
            const double value = entry(i, out.places[static_cast<size_t>(j)]) - dot(row.data(), other.data(), j);
            row.push_back(value / other.back());
            left -= row.back() * row.back();
        }
        if (!(left > PartialCholesky<T>::relative_floor(out.count()) * largest)) continue;
        row.push_back(std::sqrt(left));
        rows.push_back(std::move(row));
        out.places.push_back(i);
    }
    out.lower = std::move(run.buffer<double>(out.count(), out.count()).zero());
    for (int64_t i = 0; i < out.count(); ++i)
        for (int64_t j = 0; j <= i; ++j)
            out.lower[i + j * out.count()] = rows[static_cast<size_t>(i)][static_cast<size_t>(j)];
    return out;
}

// The pivots, and after them all other rows of positive weight.
Landmarks pivots_first(const Prepared &prepared, const CountedVector<int64_t> &pivots) {
    Landmarks out = all_rows(prepared);
    std::vector<bool> first(static_cast<size_t>(prepared.source->rows()));
    for (int64_t row : pivots) first[static_cast<size_t>(row)] = true;
    CountedVector<int64_t> order(pivots.begin(), pivots.end());
    for (int64_t row : out.index)
        if (!first[static_cast<size_t>(row)]) order.push_back(row);
    out.index = std::move(order);
    for (size_t k = 0; k < out.index.size(); ++k) out.weights[k] = prepared.weights[static_cast<size_t>(out.index[k])];
    return out;
}

// Writes A, b and nu. c: L_I^-T; mu: of all rows.
template <class T>
void write_coefficients(const Ordered &order, const Buffer<double> &c, const CountedVector<int64_t> &pivots,
                        const Landmarks &all, const CentredOperator &gram, double total, Lifted &out) {
    const int64_t r = order.count();
    std::vector<double> sum(static_cast<size_t>(r)), b(static_cast<size_t>(r)), nu;
    Tensor a = make_tensor<T>(all.m, r);
    for (int64_t j = 0; j < r; ++j) {
        for (int64_t i = 0; i <= j; ++i) {
            const int64_t row = pivots[static_cast<size_t>(order.places[static_cast<size_t>(i)])];
            sum[static_cast<size_t>(j)] -= c[i + j * r];
            b[static_cast<size_t>(j)] += c[i + j * r] * gram.mean()[row];
        }
        b[static_cast<size_t>(j)] += sum[static_cast<size_t>(j)] * gram.mean_square();
    }
    int64_t next = 0; // the next feature whose pivot has not been met
    for (int64_t t = 0; t < all.m; ++t) {
        const double share = all.weights[static_cast<size_t>(t)] / total;
        const bool chosen = next < r && order.places[static_cast<size_t>(next)] == t;
        for (int64_t j = 0; j < r; ++j)
            tensor_data<T>(a)[t * r + j] =
                static_cast<T>(sum[static_cast<size_t>(j)] * share + (chosen && j >= next ? c[next + j * r] : 0));
        next += chosen;
        nu.push_back(share);
    }
    out.tensors["A"] = std::move(a);
    out.tensors["b"] = vector_tensor(b);
    out.tensors["nu"] = vector_tensor(nu);
    out.mean_square = gram.mean_square();
}

// Writes covariance, variance, limits and errors. l: the features of all rows, n x r, column-major;
// self: the diagonal of K~, which is overwritten.
void write_moments(Run &run, int64_t n, int64_t r, const Buffer<double> &l, const double *weights, double total,
                   Buffer<double> &self, Lifted &out) {
    Buffer<double> weighted = run.buffer<double>(n, r);
    for (int64_t j = 0; j < r; ++j)
        for (int64_t i = 0; i < n; ++i) weighted[i + j * n] = l[i + j * n] * (weights ? weights[i] : 1) / total;
    std::vector<double> variance, errors{0};
    Tensor covariance = make_tensor<double>(r, r);
    gemm('T', 'N', r, r, n, 1.0, l.data(), n, weighted.data(), n, 0.0, tensor_data<double>(covariance),
         std::max<int64_t>(r, 1));
    for (int64_t i = 0; i < n; ++i) errors[0] += (weights ? weights[i] : 1) * self[i] / total;
    for (int64_t j = 0; j < r; ++j) {
        variance.push_back(tensor_data<double>(covariance)[j + j * r]);
        errors.push_back(std::max(errors.back() - variance.back(), 0.0));
    }
    out.total_variance = {errors[0], "exact"};
    out.mse = out.mse_components = errors.back();
    out.details["errors"] = errors;
    out.tensors["variance"] = vector_tensor(variance);
    if (r <= Whitening::most_correlated) out.tensors["covariance"] = std::move(covariance);
    const Whitening whitening(out.tensors);
    const bool has_t2 = whitening.why_not().empty();
    Buffer<double> t2 = run.buffer<double>(has_t2 ? n : 0);
    std::vector<double> f(static_cast<size_t>(r));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < r; ++j) {
            f[static_cast<size_t>(j)] = l[i + j * n];
            self[i] -= l[i + j * n] * l[i + j * n];
        }
        self[i] = std::max(self[i], 0.0);
        if (has_t2) t2[i] = whitening.t2(f.data(), r);
    }
    out.limits = Limits{{}, limits_of(run, n, self.data(), weights), "exact"};
    if (has_t2) out.limits->t2 = limits_of(run, n, t2.data(), weights);
}

template <class T>
Lifted centred_gram_as(const LiftTask &task) {
    Run &run = task.run;
    const Prepared &prepared = task.prepared;
    const int64_t n = prepared.source->rows(), m = task.centres.m();
    const double *weights = prepared.weighted() ? prepared.weights.data() : nullptr;
    if (!task.centres.rows)
        fail(MERCER_E_UNSUPPORTED,
             "lift.centred_gram needs centres that are rows of the data, and the reducer %s gives new points",
             task.recipe.values().reducer);
    CountedVector<int64_t> pivots;
    for (int64_t k = 0; k < task.reduction.m; ++k)
        if (task.reduction.weights[static_cast<size_t>(k)] > 0)
            pivots.push_back(task.reduction.index[static_cast<size_t>(k)]);
    Lifted out;

    run.stage("gram");
    const KernelRows rows{prepared.source, prepared.map, prepared.kernel, nullptr, n, weights};
    const KernelMatrix matrix = make_operator<T>(run, rows, {.f32 = sizeof(T) == 4});
    const CentredOperator gram(run, matrix.base(), weights);
    Buffer<double> self = run.buffer<double>(n), l = run.buffer<double>(n, m);
    gram.diagonal(run, self.data());
    gram.columns(run, pivots.data(), m, l.data(), n);

    run.stage("solve");
    const double largest = *std::max_element(self.begin(), self.end());
    const Ordered order = factor_in_order<T>(
        run, m, largest, [&](int64_t i, int64_t j) { return l[pivots[static_cast<size_t>(i)] + j * n]; });
    const int64_t r = order.count();
    for (int64_t j = 0; j < r; ++j)
        if (const int64_t place = order.places[static_cast<size_t>(j)]; place != j)
            std::copy_n(l.data() + place * n, n, l.data() + j * n);
    trsm('T', n, r, order.lower.data(), r, l.data(), n);
    Buffer<double> c = std::move(run.buffer<double>(r, r).zero());
    for (int64_t j = 0; j < r; ++j) c[j + j * r] = 1;
    trsm('T', r, r, order.lower.data(), r, c.data(), r);
    if (r < m || task.reduction.rank_reached) out.outcome |= MERCER_RANK_REACHED;

    run.stage("lift");
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += weights ? weights[i] : 1;
    Landmarks all = pivots_first(prepared, pivots);
    write_coefficients<T>(order, c, pivots, all, gram, total, out);
    write_moments(run, n, r, l, weights, total, self, out);
    Centres centres = make_centres(run, prepared, all);
    out.tensors["w"] = vector_tensor(centres.weights);
    for (auto &[name, tensor] : centres.tensors) out.tensors[name] = std::move(tensor);
    out.capabilities = MERCER_CAN_DENSITY | MERCER_CAN_RESIDUAL | MERCER_CAN_MEAN;
    out.rank = r;
    out.passes = 1;
    out.kernel_evaluations += matrix.evaluations();
    return out;
}

} // namespace

Plan plan_centred_gram(const PlanTask &task) {
    const int64_t n = task.source.rows(), m = task.m, size = task.f32 ? 4 : 8;
    const Need pass = task.f32 ? need_of<float>(task.run, task.kernel, task.source, n, 1)
                               : need_of<double>(task.run, task.kernel, task.source, n, 1);
    const int64_t kept = base_bytes(task.source, false, n, task.f32) - base_bytes(task.source, false, 0, task.f32) +
                         n * (size * m + 16),
                  own = 8 * (n * (2 * m + 6) + 4 * m * m);
    Plan plan;
    plan.f32 = task.f32;
    plan.needs(Bytes(pass.vectors) + pass.scratch + pass.panels + kept + own);
    plan.how = "all rows kept as centres";
    plan.least_bytes = kept;
    const double rows = static_cast<double>(n), order = static_cast<double>(m);
    plan.add(&Cost::kernel_evaluations, static_cast<double>(pass_evaluations(n)) + rows * order);
    plan.add(&Cost::columns, 1);
    plan.add(&Cost::passes, 1);
    plan.products = {1, 1};
    plan.flops_each = 2 * rows * order * order;
    plan.dense_order = order;
    return plan;
}

Lifted lift_centred_gram(const LiftTask &task) {
    return task.prepared.f32 ? centred_gram_as<float>(task) : centred_gram_as<double>(task);
}

} // namespace mercer
