// Ritz refinement of a model with r' directions, of which r are requested:
//
//   z(x) = A^T k_C(x) - b;  zbar = mean z;  S = mean z z^T - zbar zbar^T;  G = A^T K A
//   S V = G V Theta,  V^T G V = 1   (uncentred: zbar = 0)
//   A <- A V_r,  b <- V_r^T (b + zbar),  nu <- nu + A G^-1 zbar,  lambda <- theta
//
// The values are those of the covariance of all rows on the span of the directions:
// theta_i <= lambda_i <= theta_i + tau with tau = mean k(x, x) - M2 - sum theta, where M2 is a
// lower bound of |mean of phi|^2 (Courant and Fischer; Aronszajn). The first D components explain
// at most tau less variance than the best D. The projections P onto the first D components and P_D
// onto the best D satisfy
//   |P - P_D|_HS <= sqrt(2 theta_1 tau) / (theta_D - theta_{D+1} - tau)
// because the covariance between the span and its complement is an off-diagonal block, and the
// square of its norm is at most the norm of the block of the span times the trace of the block of
// the complement (Davis and Kahan).
//
// Cost: n m kernel values, n r'^2 flops; memory r'^2 for each of 64 slabs of rows. Error: theta
// errs by the error of kernel values (points.h: value_error), which is multiplied by the condition
// number of the scaled G if G is not the identity; tau is widened by this error. Directions that G
// cannot distinguish from those before them are dropped.
#include "ritz.h"

#include "../certify/certificates.h"
#include "../core/blas.h"
#include "../core/rounding.h"
#include "../core/slabs.h"
#include "../gram/row_sums.h"
#include "control_limits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

constexpr int64_t window = 64; // number of slabs whose sums exist at the same time

// Computes the scores of all rows and w^T k_C / n, one slab at a time.
template <class T>
struct ScoredRows {
    Run &run;
    const Prepared &prepared;
    Points<T> x, c;
    Tiles<T> tiles;
    Weights<T> weights;
    int64_t r;

    ScoredRows(const LiftTask &task, const Lifted &model)
        : run(task.run), prepared(task.prepared), x(prepared.source, prepared.map, leaf_specs(prepared.kernel)),
          c(points_of<T>(prepared.kernel, task.centres)), tiles(prepared.kernel, x, c),
          weights(run, c.rows(), model.tensors.at("A").cols + 1), r(weights.cols - 1) {
        x.lean();
        c.lean();
        weights.columns(0, tensor_data<T>(model.tensors.at("A")), r);
        weights.column(r, tensor_data<double>(model.tensors.at("w")), 1 / static_cast<double>(x.rows()));
    }
    // Adds the means of the slabs from row `first` on, in the order of the slabs. Returns their
    // share of the mean of w^T k_C / n.
    double add(int64_t first, int64_t rows, const Tensor &b, ScoreMeans &out) const {
        const double total = static_cast<double>(x.rows());
        struct Slab {
            ScoreMeans means;
            double density = 0;
        };
        std::vector<Slab> slabs(static_cast<size_t>(blocks_of(rows)), {ScoreMeans(r), 0});
        const auto one = [&](const Panel<T> &panel, double *sums) {
            Slab &slab = slabs[static_cast<size_t>((panel.row0 - first) / tile_rows)];
            double s[tile_rows];
            for (int64_t i = 0; i < panel.rows; ++i) {
                double *row = sums + i * weights.stride;
                s[i] = prepared.weights[static_cast<size_t>(panel.row0 + i)];
                slab.density += s[i] * row[r] / total;
                for (int64_t j = 0; j < r; ++j) row[j] -= tensor_data<double>(b)[j];
            }
            slab.means.add(sums, weights.stride, panel.rows, s, total);
        };
        RowSums<T>(run, tiles, false).evaluate(weights, one, first, rows);
        double density = 0;
        for (const Slab &slab : slabs) out.add(slab.means), density += slab.density;
        return density;
    }
    double mean_self() const {
        Buffer<double> self = run.buffer<double>(x.rows());
        self_values(run, tiles, self.data());
        double sum = 0;
        for (int64_t i = 0; i < x.rows(); ++i) sum += prepared.weights[static_cast<size_t>(i)] * self[i];
        return sum / static_cast<double>(x.rows());
    }
};

template <class T>
ScoreMeans means_as(const LiftTask &task, Lifted &model) {
    const ScoredRows<T> rows(task, model);
    const Tensor &b = model.tensors["b"];
    const int64_t n = rows.x.rows();
    ScoreMeans out(rows.r);
    double density = 0;
    for_windows(task.run, n, window * tile_rows, [&](int64_t first, int64_t count) {
        density += rows.add(first, count, b, out);
        return true;
    });
    out.self = rows.mean_self();
    model.kernel_evaluations += n * rows.c.rows();
    model.columns += static_cast<double>(n * rows.r) / static_cast<double>(rows.c.rows());
    if (!task.recipe.values().lift_centred) return out;
    // |mean of phi|^2 is at least the square of the part of the mean in the span of the directions,
    // and at least the square of its part along the mean of the centres.
    for (int64_t j = 0; j < rows.r; ++j) {
        const double along = out.mean[static_cast<size_t>(j)] + tensor_data<double>(b)[j];
        out.square += along * along;
    }
    const double own = model.mean_square.value();
    if (own > 0) out.square = std::max(out.square, density * density / own);
    return out;
}

// V and theta, from as many of the leading directions as keep G positive definite.
struct Rotation {
    std::vector<double> v, theta; // size x count, column-major
    int64_t count = 0;
    double spread = 0; // bound of the norm of G^-1, G scaled to unit diagonal; 0 if G is the identity
};

Rotation rotate(const ScoreMeans &means, bool centred) {
    const int64_t all = means.size();
    std::vector<double> l, s(means.second);
    if (centred)
        for (int64_t j = 0; j < all; ++j)
            for (int64_t i = 0; i < all; ++i)
                s[static_cast<size_t>(i + j * all)] -=
                    means.mean[static_cast<size_t>(i)] * means.mean[static_cast<size_t>(j)];
    Rotation out;
    out.count = all;
    if (!means.gram.empty()) {
        l = means.gram;
        out.count = potrf_leading(all, l, all);
        std::vector<double> inverse(s.size()); // L^-1 D, where D^2 is the diagonal of G
        for (int64_t j = 0; j < out.count; ++j)
            inverse[static_cast<size_t>(j + j * all)] = std::sqrt(means.gram[static_cast<size_t>(j + j * all)]);
        solve_lower(out.count, out.count, l.data(), all, inverse.data(), all);
        out.spread = std::inner_product(inverse.begin(), inverse.end(), inverse.begin(), 0.0);
        trsm('T', out.count, out.count, l.data(), all, s.data(), all); // S L^-T, then L^-1 S L^-T
        solve_lower(out.count, out.count, l.data(), all, s.data(), all);
    }
    const int64_t p = out.count;
    std::vector<double> v(static_cast<size_t>(p * p));
    out.theta.resize(static_cast<size_t>(p));
    if (p > 0) eigh_top(p, s.data(), all, p, out.theta.data(), v.data(), p);
    if (!l.empty()) { // V <- L^-T V, as rows: V^T <- V^T L^-1
        std::vector<double> t(v.size());
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < p; ++i) t[static_cast<size_t>(j + i * p)] = v[static_cast<size_t>(i + j * p)];
        trsm('N', p, p, l.data(), all, t.data(), p);
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < p; ++i) v[static_cast<size_t>(i + j * p)] = t[static_cast<size_t>(j + i * p)];
    }
    out.v = std::move(v);
    return out;
}

// Computes A V_r in the type of A. sign_of (lift.h) chooses the sign of each column, and the same
// column of rotation.v gets the same sign.
template <class T>
Tensor turned(const Tensor &a, Rotation &rotation, int64_t r) {
    const int64_t p = rotation.count;
    Tensor out = make_tensor<T>(a.rows, r);
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < r; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < p; ++k)
                sum +=
                    static_cast<double>(tensor_data<T>(a)[i * a.cols + k]) * rotation.v[static_cast<size_t>(k + j * p)];
            tensor_data<T>(out)[i * r + j] = static_cast<T>(sum);
        }
    for (int64_t j = 0; j < r; ++j) {
        const double sign =
            sign_of(a.rows, [&](int64_t i) { return static_cast<double>(tensor_data<T>(out)[i * r + j]); });
        for (int64_t i = 0; i < a.rows; ++i) tensor_data<T>(out)[i * r + j] *= static_cast<T>(sign);
        for (int64_t k = 0; k < p; ++k) rotation.v[static_cast<size_t>(k + j * p)] *= sign;
    }
    return out;
}

Certificates ritz_certificates(const LiftTask &task, const ScoreMeans &means, const Rotation &rotation, int64_t r) {
    const double u = unit_roundoff(task.prepared.f32);
    double tau = means.self - means.square;
    for (double theta : rotation.theta) tau -= theta;
    const double rounding = value_error(task.prepared.f32) * u * means.self * (1 + rotation.spread);
    tau = std::max(tau, 0.0) + rounding;
    Bounds bounds;
    bounds.kind = "ritz";
    for (int64_t j = 0; j < r; ++j) {
        const double theta = rotation.theta[static_cast<size_t>(j)];
        bounds.theta.push_back(theta);
        bounds.value.push_back(theta);
        bounds.lower.push_back(theta - rounding);
        bounds.upper.push_back(theta + tau);
    }
    Certificates out = eigenvalue_certificates(bounds, r, 0, 1);
    for (int64_t j = 0; j < r; ++j) {
        const size_t at = static_cast<size_t>(j);
        const double next = j + 1 < rotation.count ? rotation.theta[at + 1] : 0,
                     gap = rotation.theta[at] - next - tau - rounding, beside = std::sqrt(2 * rotation.theta[0] * tau);
        out.push_back(projection_certificate(j, bounds.kind, gap > 0 ? beside / gap : INFINITY, 0));
        out.push_back(component_certificate("excess", j, bounds.kind, tau, 0));
    }
    return out;
}

template <class T>
Limits own_limits(const LiftTask &task, const Lifted &model) {
    const Points<T> centres = points_of<T>(task.prepared.kernel, task.centres);
    return limits_at<T>(task.run, task.prepared.kernel, centres, centres, model, task.centres.weights.data(),
                        "centres");
}

} // namespace

ScoreMeans::ScoreMeans(int64_t size) : mean(static_cast<size_t>(size)), second(static_cast<size_t>(size * size)) {}

void ScoreMeans::add(const ScoreMeans &others) {
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += others.mean[k];
    for (size_t k = 0; k < second.size(); ++k) second[k] += others.second[k];
}

void ScoreMeans::add(const double *z, int64_t stride, int64_t count, const double *weights, double total) {
    const int64_t r = size();
    std::vector<double> shares(static_cast<size_t>(tile_rows * r));
    for (int64_t row0 = 0; row0 < count; row0 += tile_rows) {
        const int64_t rows = std::min(tile_rows, count - row0);
        const double *from = z + row0 * stride;
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < r; ++j) {
                const double value = weights[row0 + i] / total * from[i * stride + j];
                shares[static_cast<size_t>(i * r + j)] = value;
                mean[static_cast<size_t>(j)] += value;
            }
        gemm('N', 'T', r, r, rows, 1.0, from, stride, shares.data(), r, 1.0, second.data(), r);
    }
}

ScoreMeans score_means(const LiftTask &task, Lifted &model) {
    task.run.stage("lift");
    return task.prepared.f32 ? means_as<float>(task, model) : means_as<double>(task, model);
}

void plan_refinement(const PlanTask &task, Plan &plan) {
    const int64_t n = task.source.rows(), p = plan.most_pairs, size = task.f32 ? 4 : 8,
                  width = task.f32 ? padded_columns<float>(p + 1) : padded_columns<double>(p + 1);
    const Bytes bytes = sweep_bytes(task.run, task.kernel, task.source, task.f32) + 8 * n +
                        task.m * (size * (width + p) + 24) + task.run.threads() * tile_rows * width * (8 + size);
    plan.needs(bytes);
    const double rows = static_cast<double>(n), m = static_cast<double>(task.m);
    plan.add(&Cost::kernel_evaluations, rows * m + m * m);
    plan.add(&Cost::columns, rows * static_cast<double>(p) / m);
}

void refine(const LiftTask &task, const ScoreMeans &means, Lifted &model) {
    const bool centred = task.recipe.values().lift_centred != 0;
    Rotation rotation = rotate(means, centred);
    const int64_t p = rotation.count;
    int64_t r = std::min(model.kept, p);
    const double floor = 8 * unit_roundoff(task.prepared.f32) * means.self;
    while (r > 0 && !(rotation.theta[static_cast<size_t>(r - 1)] > floor)) --r;
    if (r < model.kept) model.outcome |= MERCER_RANK_REACHED;
    model.kept = r;
    const Tensor old = std::move(model.tensors["A"]), b = std::move(model.tensors["b"]);
    Tensor a = task.prepared.f32 ? turned<float>(old, rotation, r) : turned<double>(old, rotation, r);
    std::vector<double> offset(static_cast<size_t>(r)), lambda(rotation.theta.begin(), rotation.theta.begin() + r);
    for (int64_t j = 0; j < r; ++j)
        for (int64_t k = 0; k < p; ++k)
            offset[static_cast<size_t>(j)] +=
                rotation.v[static_cast<size_t>(k + j * p)] *
                (tensor_data<double>(b)[k] + (centred ? means.mean[static_cast<size_t>(k)] : 0));
    // If G was computed, the model was centred by the exact mean, so that zbar is 0.
    if (centred && means.gram.empty()) {
        Tensor &nu = model.tensors["nu"];
        double square = model.mean_square.value();
        for (int64_t k = 0; k < p; ++k) {
            const double shift = means.mean[static_cast<size_t>(k)];
            square += shift * (2 * tensor_data<double>(b)[k] + shift);
            for (int64_t i = 0; i < old.rows; ++i)
                tensor_data<double>(nu)[i] +=
                    shift * (task.prepared.f32 ? static_cast<double>(tensor_data<float>(old)[i * old.cols + k])
                                               : tensor_data<double>(old)[i * old.cols + k]);
        }
        model.mean_square = square;
    }
    model.tensors["A"] = std::move(a);
    model.tensors["b"] = vector_tensor(offset);
    model.tensors["lambda"] = vector_tensor(lambda);
    const bool psd = task.prepared.kernel.is_psd() && !(model.outcome & MERCER_INDEFINITE);
    if (psd) model.capabilities |= MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL;
    model.ledger.reset(), model.capabilities &= ~uint32_t{MERCER_CAN_MERGE};
    if (psd && (task.prepared.f32 || !task.plan.f32)) {
        const double all = std::accumulate(rotation.theta.begin(), rotation.theta.end(), 0.0),
                     kept = std::accumulate(lambda.begin(), lambda.end(), 0.0);
        make_mergeable(
            task.prepared,
            {.self = means.self, .lost = all - kept, .resid = means.self - model.mean_square.value_or(0) - all}, model);
    }
    model.total_variance = {std::max(means.self - means.square, 0.0),
                            means.gram.empty() && centred ? "upper-bound" : "exact"};
    model.certificates = psd && r > 0 ? ritz_certificates(task, means, rotation, r) : Certificates();
    // These described the components before the rotation, and do not hold for the new ones.
    model.limits.reset(), model.mse.reset(), model.mse_components.reset(), model.error_bars.reset();
    model.residuals.clear();
    if (!means.gram.empty()) return;
    model.kernel_evaluations += old.rows * old.rows;
    model.limits = task.prepared.f32 ? own_limits<float>(task, model) : own_limits<double>(task, model);
}

} // namespace mercer
