// p, q: the weights of rows and centres, with sum 1. T, T_C: the covariance operators of rows and
// centres; P, P_C: the projections on their first D components v_i and u_j. In inner products, x_i
// and c_j stand for the features of a row and of a centre, from which the mean of all rows or of
// all centres is subtracted if kernel PCA is centred:
//
//   S = [sqrt(p_i p_j) <x_i, x_j>] = U diag(lambda) U^T
//   S_C: the same for the centres;  S_XC = [sqrt(p_i q_j) <x_i, c_j>]
//   |T - T_C|^2 = |S|_F^2 - 2 |S_XC|_F^2 + |S_C|_F^2
//   tr P_C T = |Z|_F^2  and  <v_i, u_j> = (U^T Z)_ij / sqrt(lambda_i)
//
// for the model's scores Z = [sqrt(p_i) (z_j(x_i) - mean)] with D columns.
// |P - P_C|_HS^2 = 2 D - 2 sum <v_i, u_j>^2. Cost: n^2 + n m + m^2 kernel values and two
// eigenproblems of orders n and m, of 10 n^3 / 3 and 10 m^3 / 3 flops; memory 5 n^2. Error: that of
// kernel values, u k(x, x); a projection errs by about the root of (u k(x, x) / its gap).
#include "dense_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

constexpr int64_t most_rows = 2000;

struct Dense { // column-major
    int64_t rows, cols;
    Buffer<double> v;
    double &operator()(int64_t i, int64_t j) { return v[i + j * rows]; }
    double operator()(int64_t i, int64_t j) const { return v[i + j * rows]; }
    double square() const { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); }
};

template <class T>
Dense values_of(Run &run, const Expression &kernel, Points<T> x, Points<T> y) {
    x.lean();
    y.lean();
    Dense out{x.rows(), y.rows(), run.buffer<double>(x.rows(), y.rows())};
    sweep<T>(run, Tiles<T>(kernel, x, y), 0, x.rows(), [&](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            for (int64_t j = 0; j < tile.y.rows; ++j)
                out(tile.x.row0 + i, tile.y.row0 + j) = static_cast<double>(tile.values[i * tile_rows + j]);
        return true;
    });
    return out;
}

using Means = std::vector<double>;

Means row_means(const Dense &k, const Means &q) {
    Means out(static_cast<size_t>(k.rows));
    gemm('N', 'N', k.rows, 1, k.cols, 1.0, k.v.data(), k.rows, q.data(), k.cols, 0.0, out.data(), k.rows);
    return out;
}

Means column_means(const Dense &k, const Means &p) {
    Means out(static_cast<size_t>(k.cols));
    gemm('T', 'N', k.cols, 1, k.rows, 1.0, k.v.data(), k.rows, p.data(), k.rows, 0.0, out.data(), k.cols);
    return out;
}

// Turns kernel values into [sqrt(p_i q_j) <x_i, y_j>].
void weigh(const Means &p, const Means &q, bool centred, Dense &k) {
    const Means rows = row_means(k, q), columns = column_means(k, p);
    const double both = std::inner_product(p.begin(), p.end(), rows.begin(), 0.0);
    for (int64_t j = 0; j < k.cols; ++j)
        for (int64_t i = 0; i < k.rows; ++i) {
            const size_t a = static_cast<size_t>(i), b = static_cast<size_t>(j);
            if (centred) k(i, j) += both - rows[a] - columns[b];
            k(i, j) *= std::sqrt(p[a] * q[b]);
        }
}

// Returns all eigenvalues, descending; overwrites the matrix.
std::vector<double> eigenvalues_of(Run &run, Dense &a, Dense *vectors = nullptr) {
    const int64_t n = a.rows;
    std::vector<double> out(static_cast<size_t>(n));
    Dense own{n, n, run.buffer<double>(n, n)};
    eigh_top(n, a.v.data(), n, n, out.data(), own.v.data(), n);
    if (vectors) *vectors = std::move(own);
    return out;
}

// Computes Z, as defined above, from k(X, C).
template <class T>
Dense weighed_scores(Run &run, const Lifted &model, const Dense &k, const Means &p, bool centred) {
    const Tensor &a = model.tensors.at("A");
    Dense weights{a.rows, a.cols, run.buffer<double>(a.rows, a.cols)},
        out{k.rows, a.cols, run.buffer<double>(k.rows, a.cols)};
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < a.cols; ++j) weights(i, j) = static_cast<double>(tensor_data<T>(a)[i * a.cols + j]);
    gemm('N', 'N', k.rows, a.cols, a.rows, 1.0, k.v.data(), k.rows, weights.v.data(), a.rows, 0.0, out.v.data(),
         k.rows);
    const Means mean = column_means(out, p); // subtracting the mean also removes b; uncentred, b is 0
    for (int64_t j = 0; j < a.cols; ++j)
        for (int64_t i = 0; i < k.rows; ++i)
            out(i, j) =
                (out(i, j) - (centred ? mean[static_cast<size_t>(j)] : 0)) * std::sqrt(p[static_cast<size_t>(i)]);
    return out;
}

void compare_directions(Run &run, const Dense &u, const Dense &z, Truth &out) {
    const int64_t r = z.cols;
    Dense overlap{r, r, run.buffer<double>(r, r)};
    gemm('T', 'N', r, r, z.rows, 1.0, u.v.data(), u.rows, z.v.data(), z.rows, 0.0, overlap.v.data(), r);
    double best = 0, stored = 0;
    for (int64_t d = 1; d <= r && out.lambda[static_cast<size_t>(d - 1)] > 0; ++d) {
        best += out.lambda[static_cast<size_t>(d - 1)];
        const double *column = z.v.data() + (d - 1) * z.rows;
        stored += std::inner_product(column, column + z.rows, column, 0.0);
        double sum = 0;
        for (int64_t j = 0; j < d; ++j)
            for (int64_t i = 0; i < d; ++i) sum += overlap(i, j) * overlap(i, j) / out.lambda[static_cast<size_t>(i)];
        out.projection.push_back(std::sqrt(std::max(2 * (static_cast<double>(d) - sum), 0.0)));
        out.excess.push_back(std::max(best - stored, 0.0));
    }
}

template <class T>
Truth truth_as(const ReducedModel &of, bool directions) {
    Run &run = of.run;
    Lifted &model = of.model;
    const Prepared &prepared = of.prepared;
    const bool centred = of.values.lift_centred != 0;
    const Points<T> x(prepared.source, prepared.map, leaf_specs(prepared.kernel)),
        c = points_of<T>(prepared.kernel, of.centres);
    const int64_t n = x.rows(), m = c.rows();
    Means p(static_cast<size_t>(n)), q(of.centres.weights.begin(), of.centres.weights.end());
    for (size_t i = 0; i < p.size(); ++i) p[i] = prepared.weights[i];
    for (Means *means : {&p, &q})
        for (double &weight : *means) weight /= static_cast<double>(n);
    Dense xc = values_of<T>(run, prepared.kernel, x, c), z{0, 0, {}};
    const Means density = row_means(xc, q);
    if (directions) z = weighed_scores<T>(run, model, xc, p, centred);
    weigh(p, q, centred, xc);
    const double across = xc.square();
    xc.v = Buffer<double>();

    Truth out;
    Dense cc = values_of<T>(run, prepared.kernel, c, c);
    weigh(q, q, centred, cc);
    const double of_centres = cc.square();
    const std::vector<double> values = eigenvalues_of(run, cc);
    cc.v = Buffer<double>();
    Dense xx = values_of<T>(run, prepared.kernel, x, x), u{0, 0, {}};
    const Means exact = row_means(xx, p);
    weigh(p, p, centred, xx);
    out.covariance = std::sqrt(std::max(xx.square() - 2 * across + of_centres, 0.0));
    out.lambda = eigenvalues_of(run, xx, &u);
    model.kernel_evaluations += n * n + n * m + m * m;
    double square = 0;
    for (size_t k = 0; k < std::max(values.size(), out.lambda.size()); ++k) {
        const double apart = (k < out.lambda.size() ? out.lambda[k] : 0) - (k < values.size() ? values[k] : 0);
        square += apart * apart;
    }
    out.eigenvalues = std::sqrt(square);
    for (size_t i = 0; i < exact.size(); ++i) out.density = std::max(out.density, std::fabs(exact[i] - density[i]));
    if (directions) compare_directions(run, u, z, out);
    return out;
}

} // namespace

Truth measure_truth(const ReducedModel &of, bool directions) {
    return of.prepared.f32 ? truth_as<float>(of, directions) : truth_as<double>(of, directions);
}

void add_measured(const Truth &truth, Certificates &certificates) {
    for (Certificate &one : certificates) {
        if (!std::isnan(one.measured)) continue;
        const std::string_view name = one.name;
        const size_t j = static_cast<size_t>(std::max<int64_t>(one.component, 0));
        auto set = [&](const std::vector<double> &values) {
            if (j < values.size()) one.measured = values[j];
        };
        if (name == "covariance") one.measured = truth.covariance;
        if (name == "eigenvalues") one.measured = truth.eigenvalues;
        if (name == "density") one.measured = truth.density;
        if (name == "eigenvalue") set(truth.lambda);
        if (name == "projection") set(truth.projection);
        if (name == "excess") set(truth.excess);
    }
}

bool plan_measurement(const PlanTask &task, int64_t components, Cost &cost) {
    const int64_t n = task.source.rows(), m = task.m;
    if (static_cast<CertificateLevel>(task.recipe.values().certificates) != CertificateLevel::exact || n > most_rows ||
        (!task.kernel.is_psd() && !task.kernel.has_user()))
        return false;
    const int64_t larger_one = std::max(n, m),
                  own = 8 * (larger_one * (5 * larger_one + 64) + n * (m + components) + m * (3 * components + 8));
    const Bytes bytes = sweep_bytes(task.run, task.kernel, task.source, task.f32, Others::all) + own;
    if (bytes.most > task.budget_left) return false;
    cost.needs(bytes);
    const double rows = static_cast<double>(n), centres = static_cast<double>(m);
    cost.add(&Cost::kernel_evaluations, rows * rows + rows * centres + centres * centres);
    cost.dense_order = std::max(cost.dense_order, static_cast<double>(larger_one));
    return true;
}

} // namespace mercer
