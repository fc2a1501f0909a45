// v_i, theta_i: the Ritz pairs of all rows on the span of the centres; u_j: the model's directions;
// o_ij = <v_i, u_j>; T: the covariance operator of all rows; P, P_V, P_C: the projections on the
// first D components of the data, on v_1 ... v_D and on u_1 ... u_D.
//
//   eigenvalue    The bounds of `prove` contain the eigenvalue of the data; they are widened to
//                 contain the value of the model.
//   projection    |P - P_C|_HS <= |P - P_V|_HS + |P_V - P_C|_HS
//                              <= sqrt2 |sines|_F + sqrt(2 D - 2 sum o_ij^2),  i, j <= D
//   excess        tr P T - tr P_C T
//                   <= sum upper_i - sum_j (sqrt(sum_i theta_i o_ij^2) - sqrt(F e_j))^2
//
// where upper_i are the upper bounds of the eigenvalues, whose sum may be replaced by sum theta_i +
// tr E / n if this is smaller; F >= |E| / n; E is the residual of bounds.h; and e_j is the squared
// length of the part of u_j outside the span, which is not 0 only if some centre is numerically a
// combination of others. Cost: 3 n m kernel values and 3 n m^2 flops; memory O(m^2). Error:
// directions err by about e = (16 u_tile + m u) k(x, x) / lambda_j, the threshold by which the rank
// is decided; the bounds include this error.
#include "by_span.h"

#include "../factor/basis.h"
#include "certificates.h"
#include "ladder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

bool is_asked(const CoreValues &values) {
    return static_cast<CertificateLevel>(values.certificates) >= CertificateLevel::rows;
}

// The model's directions in the coordinates of the span: rank x r, column-major.
template <class T>
std::vector<double> coordinates(const PartialCholesky<T> &basis, const Tensor &a) {
    const int64_t rank = basis.count();
    std::vector<double> out(static_cast<size_t>(rank * a.cols));
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < a.cols; ++j) {
            const double weight = static_cast<double>(tensor_data<T>(a)[i * a.cols + j]);
            const T *row = basis.factor() + i * basis.stride();
            for (int64_t k = 0; k < rank; ++k)
                out[static_cast<size_t>(k + j * rank)] += weight * static_cast<double>(row[k]);
        }
    return out;
}

// How each direction of the model lies relative to the span.
struct Directions {
    std::vector<double> overlap; // <v_i, u_j>, count x r, column-major
    std::vector<double> beyond;  // e_j; negative: u_j is known to lie in the span
    int64_t count;

    template <class T>
    Directions(const Projection &projection, const PartialCholesky<T> &basis, const Tensor &a)
        : count(projection.count()) {
        const int64_t rank = basis.count(), r = a.cols;
        const std::vector<double> u = coordinates(basis, a);
        overlap.resize(static_cast<size_t>(count * r));
        gemm('T', 'N', count, r, rank, 1.0, projection.v.data(), rank, u.data(), rank, 0.0, overlap.data(), count);
        for (int64_t j = 0; j < r; ++j) {
            const double *column = u.data() + j * rank;
            const double length = std::inner_product(column, column + rank, column, 0.0);
            beyond.push_back(rank < a.rows ? std::max(1 - length, 0.0) : -1); // rank = m: the span contains all centres
        }
    }
    double square(int64_t i, int64_t j) const {
        const double value = overlap[static_cast<size_t>(i + j * count)];
        return value * value;
    }
};

struct Found {
    const Projection &projection;
    const Proof &proof;
    double total; // n
    double self;  // mean k(x, x)
    double unit;  // rounding error of a direction, in units of k(x, x) / lambda
};

void direction_certificates(const Found &found, const Directions &of, const double *lambda, int64_t r,
                            Certificates &out) {
    const auto &[projection, proof, total, self, unit] = found;
    const double norm = proof.bound_of_norm() / total;
    double upper = 0, theta = 0, stored = 0;
    for (int64_t d = 1; d <= r; ++d) {
        const size_t j = static_cast<size_t>(d - 1);
        double caught = 0, overlap = 0;
        for (int64_t i = 0; i < of.count; ++i)
            caught += projection.theta[static_cast<size_t>(i)] / total * of.square(i, d - 1);
        for (int64_t i = 0; i < d; ++i)
            for (int64_t k = 0; k < d; ++k) overlap += of.square(i, k);
        const double pairs = 2.0 * static_cast<double>(d), error = unit * self / lambda[j],
                     lost = of.beyond[j] < 0 ? 0 : norm * (of.beyond[j] + error),
                     root = std::max(std::sqrt(caught) - std::sqrt(lost), 0.0);
        stored += root * root, upper += proof.bounds.upper[j] / total, theta += projection.theta[j] / total;
        const double apart = std::sqrt(std::max(pairs - 2 * overlap, 0.0) + 2 * pairs * error),
                     excess = std::min(upper, theta + proof.trace / total) - stored +
                              pairs * (unit * self + proof.rounding[j] / total);
        out.push_back(projection_certificate(d - 1, proof.bounds.kind, apart + std::sqrt(2.0) * proof.sines.feature[j],
                                             proof.failure()));
        out.push_back(
            component_certificate("excess", d - 1, proof.bounds.kind, std::max(excess, 0.0), proof.failure()));
    }
}

template <class T>
Certificates certificates_as(const ReducedModel &of, bool directions) {
    Run &run = of.run;
    Lifted &model = of.model;
    const Prepared &prepared = of.prepared;
    const Expression &kernel = prepared.kernel;
    const double *weights = prepared.weighted() ? prepared.weights.data() : nullptr;
    const bool centred = of.values.lift_centred != 0;
    const Points<T> rows(prepared.source, prepared.map, leaf_specs(kernel));
    const auto basis = basis_of<T>(run, of.centres.rows_of(kernel));
    const SpanRows<T> span(run, kernel, rows, points_of<T>(kernel, of.centres), basis);
    const Tensor &lambda = model.tensors["lambda"];
    const Projection projection = project(run, span, weights, centred, std::min(span.rank(), 2 * lambda.rows + 20));
    const int64_t r = std::min(lambda.rows, projection.above(projection.floor));
    Certificates out;
    if (r == 0) return out;
    const Proof proof = prove<T>({run, kernel, of.values, weights}, rows, span, projection, r);
    model.kernel_evaluations += span.evaluations() + proof.evaluations;
    const double total = static_cast<double>(rows.rows()), unit = rounding_floor(sizeof(T) == 4, of.centres.m());
    model.columns += total; // the flops of n products of an m x m matrix with a vector
    const Found found{projection, proof, total, projection.uncentred / total, unit};
    out = proof.loss(total);
    if (proof.refuted) {
        model.uncertified = refuted_text;
        run.log(2, refuted_text);
        return out;
    }
    Bounds bounds = proof.bounds;
    // The values of the model replace the Ritz values, so the spread of the latter does not apply.
    bounds.spread.clear();
    for (size_t j = 0; j < static_cast<size_t>(r); ++j) {
        const double value = bounds.value[j] = tensor_data<double>(lambda)[j] * total;
        bounds.lower[j] = std::min(bounds.lower[j], value), bounds.upper[j] = std::max(bounds.upper[j], value);
    }
    append(out, eigenvalue_certificates(bounds, r, proof.failure(), total));
    if (directions)
        direction_certificates(found, Directions(projection, *basis, model.tensors["A"]), tensor_data<double>(lambda),
                               r, out);
    return out;
}

} // namespace

Certificates spanned_certificates(const ReducedModel &of, bool directions) {
    if (!is_asked(of.values)) return {};
    const char *why = !of.affordable.spans        ? "a factor of the centres does not fit in the budget"
                      : !of.prepared.squares_hold ? "the squares of the kernel values of these data overflow f64"
                                                  : nullptr;
    if (why) {
        of.model.uncertified = std::string("the span of the centres certifies nothing: ") + why;
        return {};
    }
    return of.prepared.f32 ? certificates_as<float>(of, directions) : certificates_as<double>(of, directions);
}

bool asks_for_span(const PlanTask &task) {
    return task.recipe.reducer() && is_asked(task.recipe.values()) && (task.kernel.is_psd() || task.kernel.has_user());
}

bool plan_span_certificates(const PlanTask &task, const Cost &own, Cost &cost) {
    if (!asks_for_span(task) || own.bytes > task.budget_left) return false;
    cost.needs({own.likely_bytes, own.bytes});
    for (double mercer_figure::*end : {&mercer_figure::likely, &mercer_figure::most})
        cost.kernel_evaluations.*end += own.kernel_evaluations.*end;
    cost.add(&Cost::columns, static_cast<double>(task.source.rows()));
    cost.certify_cost += own.certify_cost;
    cost.dense_order = std::max(cost.dense_order, own.dense_order);
    return true;
}

} // namespace mercer
