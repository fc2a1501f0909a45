// The lift `weighted` (RSKPCA, Algorithm 1; with weights 1 kernel PCA): centres C with weights w, sum w = n.
//
//   Kt = D^1/2 (1 - 1 p^T) K_C (1 - p 1^T) D^1/2,  D = diag(w), p = w / n      (uncentred: D^1/2 K_C D^1/2)
//   Kt U = U Lambda;   A = D^1/2 U Lambda^-1/2,  b = A^T K_C p,  nu = p,  lambda = Lambda / n
//
// Since D^1/2 1 / sqrt n =: u is a unit vector, the centred operator is P D^1/2 K D^1/2 P with P = 1 - u u^T: centring is a
// projection of the solver's blocks and never touches K. Total variance (exact, whatever r): mean k(c, c) - p^T K p.
// Rank: Lambda_l > (16 u_tile + m u_64) trace(D^1/2 K D^1/2); less is rounding of the entries (|E| <= c u trace).
// Cost: m^2/2 kernel values and 2 m^2 flops a column for each pass; memory as operator.h says. Error of direction l:
// about m u Lambda_1 / Lambda_l, and the solver's residual / gap.
#include "fit.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// Counts passes, and maps each onto a share of what is left of the stage: how many there will be is not known.
class Counted : public Operator {
  public:
    explicit Counted(const Operator &base) : Operator(base.n()), base_(base) {}
    void apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const override {
        next([&] { base_.apply(run, q, ldq, p, y, ldy); }, run);
    }
    void dense(Run &run, double *a, int64_t lda) const override {
        next([&] { base_.dense(run, a, lda); }, run);
    }
    void diagonal(Run &run, double *d) const override { base_.diagonal(run, d); }
    int64_t passes() const { return passes_; }

  private:
    template <class F> void next(F &&body, Run &run) const {
        Run::Span span(run, 1 - std::pow(0.8, static_cast<double>(passes_)), 1 - std::pow(0.8, static_cast<double>(passes_ + 1)));
        ++passes_;
        body();
    }
    const Operator &base_;
    mutable int64_t passes_ = 0;
};

struct Eigenpairs {
    std::vector<double> values, residuals;
    Buffer<double> vectors; // m x r
    double most_negative = 0;
    bool converged = false;
};

Eigenpairs solve(Run &run, const Recipe &recipe, const Plan &plan, const Operator &op, int64_t r, std::map<std::string, double> &report) {
    Eigenpairs out;
    out.values.resize(static_cast<size_t>(r));
    out.residuals.resize(static_cast<size_t>(r));
    out.vectors = run.buffer<double>(op.n(), r);
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver), nullptr, &report);
    mercer_operator c_op = op.c_operator();
    mercer_eigen_request request{sizeof request, r, plan.tol, recipe.values().max_passes, nullptr, 0, nullptr, 0, nullptr, nullptr};
    mercer_eigen_result result{sizeof result, out.values.data(), out.vectors.data(), out.residuals.data(), 0, 0, 0, 0, 0};
    task.check(plan.solver->solver.solve(&host_table(), &task, plan.solver_params.values(), &c_op, &request, &result), *plan.solver);
    for (double value : out.values)
        if (!std::isfinite(value)) fail(MERCER_E_NUMERICAL, "solver %s gave an eigenvalue that is not finite", plan.solver->name.c_str());
    out.most_negative = result.most_negative;
    out.converged = result.converged != 0;
    return out;
}

// Each column's entry of largest modulus (the first on a tie) becomes positive.
void fix_signs(int64_t m, int64_t r, double *vectors, const double *scale) {
    for (int64_t j = 0; j < r; ++j) {
        double *column = vectors + j * m, best = 0;
        int64_t at = 0;
        for (int64_t i = 0; i < m; ++i) {
            double size = std::fabs(column[i]) * (scale ? scale[i] : 1);
            if (size > best * (1 + 1e-12)) best = size, at = i;
        }
        if (m > 0 && column[at] < 0)
            for (int64_t i = 0; i < m; ++i) column[i] = -column[i];
    }
}

template <class T>
Lifted lift_as(Run &run, const Recipe &recipe, const Prepared &prepared, const Centres &centres, const Plan &plan, int64_t n) {
    const int64_t m = centres.m();
    const double total_weight = static_cast<double>(n);
    const bool centred = recipe.values().lift_centred != 0;
    Lifted out;

    run.stage("gram", plan.stored ? 0.4 : 0.1);
    Points<T> points = centres.numbers() ? Points<T>(centres.source, {}, leaf_specs(prepared.kernel), centres.numbers(), m)
                                         : Points<T>(centres.source, {}, leaf_specs(prepared.kernel));
    GramOperator<T> gram(run, prepared.kernel, points, plan.stored);
    std::vector<double> root(static_cast<size_t>(m)), p(static_cast<size_t>(m)), diagonal(static_cast<size_t>(m)), kp(static_cast<size_t>(m));
    bool plain = true;
    for (size_t i = 0; i < root.size(); ++i) {
        root[i] = std::sqrt(centres.weights[i]);
        p[i] = centres.weights[i] / total_weight;
        plain &= centres.weights[i] == 1;
    }
    const double *scale = plain ? nullptr : root.data();
    gram.diagonal(run, diagonal.data());
    int64_t passes = plan.stored ? 1 : 0; // computing the matrix is a pass over it
    double mean_self = 0, mean_square = 0;
    for (size_t i = 0; i < p.size(); ++i) mean_self += p[i] * diagonal[i];
    if (centred) {
        gram.apply(run, p.data(), m, 1, kp.data(), m);
        passes += plan.stored ? 0 : 1;
        for (size_t i = 0; i < p.size(); ++i) mean_square += p[i] * kp[i];
    }

    run.stage("solve", 0.95);
    WeightedOperator weighted(run, gram, scale, centred);
    Counted op(weighted);
    const int64_t wanted = recipe.values().components, r = std::min(wanted, m);
    std::map<std::string, double> report;
    Eigenpairs pairs = solve(run, recipe, plan, op, r, report);
    out.passes = passes + (plan.stored ? 0 : op.passes());
    out.kernel_evaluations = gram.kernel_evaluations();

    const double u_tile = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    const double floor = (16 * u_tile + static_cast<double>(m) * 0x1p-53) * mean_self * total_weight;
    int64_t kept = 0;
    while (kept < r && pairs.values[static_cast<size_t>(kept)] > floor) ++kept;
    if (kept < wanted) out.outcome |= MERCER_RANK_REACHED;
    if (pairs.most_negative < -floor) out.outcome |= MERCER_INDEFINITE;
    if (!pairs.converged) {
        out.outcome |= MERCER_NOT_CONVERGED;
        if (recipe.values().solver_strict) {
            double worst = *std::max_element(pairs.residuals.begin(), pairs.residuals.end());
            fail(MERCER_E_NUMERICAL, "solver %s did not converge: largest residual %.3g, allowed %.3g", plan.solver->name.c_str(), worst,
                 plan.tol * pairs.values[0]);
        }
    }

    fix_signs(m, kept, pairs.vectors.data(), scale);
    const bool f32 = prepared.f32;
    Tensor a = f32 ? make_tensor<float>(m, kept) : make_tensor<double>(m, kept);
    std::vector<double> b(static_cast<size_t>(kept)), lambda(static_cast<size_t>(kept));
    for (int64_t j = 0; j < kept; ++j) {
        const double value = pairs.values[static_cast<size_t>(j)], factor = 1 / std::sqrt(value);
        lambda[static_cast<size_t>(j)] = value / total_weight;
        for (int64_t i = 0; i < m; ++i) {
            double entry = root[static_cast<size_t>(i)] * pairs.vectors[i + j * m] * factor;
            if (f32)
                tensor_data<float>(a)[i * kept + j] = static_cast<float>(entry), entry = static_cast<double>(static_cast<float>(entry));
            else
                tensor_data<double>(a)[i * kept + j] = entry;
            b[static_cast<size_t>(j)] += entry * kp[static_cast<size_t>(i)];
        }
    }
    out.tensors["A"] = std::move(a);
    out.tensors["b"] = vector_tensor(b);
    out.tensors["lambda"] = vector_tensor(lambda);
    out.tensors["w"] = vector_tensor(centres.weights);
    if (centred) out.tensors["nu"] = vector_tensor(p);
    out.capabilities = MERCER_CAN_DENSITY;
    if (!(out.outcome & MERCER_INDEFINITE)) out.capabilities |= MERCER_CAN_ORTHONORMAL | MERCER_CAN_MERGE | MERCER_CAN_RESIDUAL;
    if (centred) out.capabilities |= MERCER_CAN_MEAN;
    out.text["total_variance"] = {{"value", std::max(mean_self - mean_square, 0.0)}, {"kind", m == n && plain ? "exact" : "reduced-operator"}};
    if (centred) out.text["mean_square"] = mean_square;
    out.text["residuals"] = std::vector<double>(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    out.text["most_negative"] = pairs.most_negative / total_weight;
    for (auto &[name, value] : report) out.text["reported"][name] = value;
    return out;
}

} // namespace

Lifted lift_weighted(Run &run, const Recipe &recipe, const Prepared &prepared, const Centres &centres, const Plan &plan, int64_t n) {
    return plan.f32 ? lift_as<float>(run, recipe, prepared, centres, plan, n) : lift_as<double>(run, recipe, prepared, centres, plan, n);
}

} // namespace mercer
