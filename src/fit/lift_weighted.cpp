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
#include "certify.h"
#include "components.h"
#include "fit.h"
#include "start.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <optional>

namespace mercer {
namespace {

// Notes passes, and maps each onto a share of what is left of the stage after `start`: as many as are likely to come fill
// nine tenths of it, later ones half of the rest each.
class Counted : public Operator {
  public:
    Counted(Run &run, const Operator &base, bool f32, double start, double likely)
        : Operator(base.n()), base_(base), f32_(f32), start_(start), likely_(std::max(likely, 1.0)) {
        rest(run);
    }
    void apply(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const override {
        next(run, p, f32_, [&] { base_.apply(run, q, ldq, p, y, ldy); });
    }
    bool has_rough() const override { return base_.has_rough(); }
    void apply_rough(Run &run, const double *q, int64_t ldq, int64_t p, double *y, int64_t ldy) const override {
        next(run, p, true, [&] { base_.apply_rough(run, q, ldq, p, y, ldy); });
    }
    void dense(Run &run, double *a, int64_t lda) const override {
        next(run, 0, f32_, [&] { base_.dense(run, a, lda); });
    }
    void diagonal(Run &run, double *d) const override { base_.diagonal(run, d); }

    struct Pass {
        int64_t width; // columns; 0: the whole matrix
        bool f32;
    };
    const std::vector<Pass> &passes() const { return passes_; }

  private:
    template <class F>
    void next(Run &run, int64_t width, bool f32, F &&body) const {
        const double from = share();
        passes_.push_back({width, f32});
        still_.reset();
        {
            Run::Span span(run, from, share());
            body();
        }
        rest(run);
    }
    double share() const { // of the stage, where passes_ begin to be followed by others
        const double done = static_cast<double>(passes_.size()), before = std::min(done, likely_);
        return start_ + (1 - start_) * (0.9 * before / likely_ + 0.1 * (1 - std::pow(0.5, done - before)));
    }
    // Between passes progress stands still.
    void rest(Run &run) const { still_.emplace(run, share(), share()); }
    const Operator &base_;
    bool f32_;
    double start_, likely_;
    mutable std::vector<Pass> passes_;
    mutable std::optional<Run::Span> still_;
};

struct Eigenpairs {
    std::vector<double> values, residuals;
    Buffer<double> vectors; // m x r
    double most_negative = 0;
    bool converged = false;
};

Eigenpairs solve(Run &run, const Recipe &recipe, const Plan &plan, const Operator &op, int64_t r,
                 const Buffer<double> &start, std::map<std::string, double> &report) {
    Eigenpairs out;
    out.values.resize(static_cast<size_t>(r));
    out.residuals.resize(static_cast<size_t>(r));
    out.vectors = run.buffer<double>(op.n(), r);
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver), nullptr, &report);
    mercer_operator c_op = op.c_operator();
    mercer_eigen_request request{sizeof request,
                                 r,
                                 plan.tol,
                                 recipe.values().max_passes,
                                 start.empty() ? nullptr : start.data(),
                                 start.size() / op.n(),
                                 nullptr,
                                 0,
                                 nullptr,
                                 nullptr};
    mercer_eigen_result result{
        sizeof result, out.values.data(), out.vectors.data(), out.residuals.data(), 0, 0, 0, 0, 0};
    task.check(plan.solver->solver.solve(&host_table(), &task, plan.solver_params.values(), &c_op, &request, &result),
               *plan.solver);
    for (double value : out.values)
        if (!std::isfinite(value))
            fail(MERCER_E_NUMERICAL, "solver %s gave an eigenvalue that is not finite", plan.solver->name.c_str());
    for (double value : out.vectors)
        if (!std::isfinite(value))
            fail(MERCER_E_NUMERICAL, "solver %s gave a vector that is not finite", plan.solver->name.c_str());
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

// Weights in the forms that are needed, and what the product with them says: K p, and the means behind total variance.
struct Moments {
    CountedVector<double> root, p, kp, self; // self: k(c, c)
    bool plain = true;                       // all weights 1
    double mean_self = 0;                    // sum p_i k(c_i, c_i)
    double mean_square = 0;                  // p^T K p; 0 uncentred

    Moments(Run &run, const Operator &gram, const CountedVector<double> &weights, double total)
        : root(weights.size()), p(weights.size()), kp(weights.size()), self(weights.size()) {
        gram.diagonal(run, self.data());
        for (size_t i = 0; i < p.size(); ++i) {
            root[i] = std::sqrt(weights[i]);
            p[i] = weights[i] / total;
            plain &= weights[i] == 1;
            mean_self += p[i] * self[i];
        }
    }
    const double *scale() const { return plain ? nullptr : root.data(); }
    void set_mean(const double *ksu, double total) { // K S u, S u = p sqrt(n)
        mean_square = 0;
        for (size_t i = 0; i < p.size(); ++i) {
            kp[i] = ksu[i] / std::sqrt(total);
            mean_square += p[i] * kp[i];
        }
    }
};

// How many of the pairs are more than rounding, and what is to be said of them.
int64_t cut_rank(const Recipe &recipe, const Plan &plan, const Eigenpairs &pairs, double trace, uint32_t *outcome) {
    const double u_tile = plan.f32 ? 0x1p-24 : 0x1p-53,
                 m = static_cast<double>(pairs.vectors.size() / static_cast<int64_t>(pairs.values.size()));
    // Of an indefinite kernel the trace says nothing (it may be 0): then its largest eigenvalue is the scale.
    const double floor = (16 * u_tile + m * 0x1p-53) * std::max({trace, pairs.values[0], -pairs.most_negative});
    int64_t rank = 0;
    while (rank < static_cast<int64_t>(pairs.values.size()) && pairs.values[static_cast<size_t>(rank)] > floor) ++rank;
    if (pairs.most_negative < -floor) *outcome |= MERCER_INDEFINITE;
    // Rounding alone leaves residuals of `floor`; constant data, whose eigenvalues are all 0, have no others.
    const double allowed = std::max(plan.tol * std::fabs(pairs.values[0]), floor);
    if (pairs.converged || *std::max_element(pairs.residuals.begin(), pairs.residuals.end()) <= allowed) return rank;
    *outcome |= MERCER_NOT_CONVERGED;
    if (recipe.values().solver_strict)
        fail(MERCER_E_NUMERICAL, "solver %s did not converge: largest residual %.3g, allowed %.3g",
             plan.solver->name.c_str(), *std::max_element(pairs.residuals.begin(), pairs.residuals.end()), allowed);
    return rank;
}

// Scores of the centres, z_l = sqrt(Lambda_l) u_l / sqrt(w): column-major.
Buffer<double> fitted_scores(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t p) {
    const int64_t m = static_cast<int64_t>(moments.p.size());
    Buffer<double> z = run.buffer<double>(m, p);
    for (int64_t j = 0; j < p; ++j) {
        const double factor = std::sqrt(std::max(pairs.values[static_cast<size_t>(j)], 0.0));
        for (int64_t i = 0; i < m; ++i)
            z[i + j * m] = factor * pairs.vectors[i + j * m] / moments.root[static_cast<size_t>(i)];
    }
    return z;
}

// |K u - theta u| bounds what is wrong with the values of an exact fit, if no eigenvalue above the last was missed.
Json residual_certificates(const Eigenpairs &pairs, int64_t kept, double total) {
    Json out = Json::array();
    if (kept == 0) return out;
    const std::vector<double> theta(pairs.values.begin(), pairs.values.begin() + kept),
        residuals(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    const Bounds bounds = residual_bounds(theta, residuals, theta.back() + residuals.back(), 0, true);
    for (int64_t j = 0; j < kept; ++j) {
        const size_t at = static_cast<size_t>(j);
        out.push_back({{"name", "eigenvalue"},
                       {"value", bounds.value[at] / total},
                       {"kind", "conditional"},
                       {"probability", 1.0},
                       {"component", j},
                       {"lower", bounds.lower[at] / total},
                       {"upper", bounds.upper[at] / total},
                       {"by", bounds.kind},
                       {"if", "no eigenvalue above the last was missed"}});
    }
    return out;
}

// A = D^1/2 U Lambda^-1/2 in the model's type T, and b = A^T K p of the rounded A.
template <class T>
Tensor coefficients(const Eigenpairs &pairs, const Moments &moments, int64_t kept, std::vector<double> &b) {
    const int64_t m = static_cast<int64_t>(moments.p.size());
    Tensor a = make_tensor<T>(m, kept);
    b.assign(static_cast<size_t>(kept), 0.0);
    for (int64_t j = 0; j < kept; ++j) {
        const double factor = 1 / std::sqrt(pairs.values[static_cast<size_t>(j)]);
        for (int64_t i = 0; i < m; ++i) {
            const T entry = static_cast<T>(moments.root[static_cast<size_t>(i)] * pairs.vectors[i + j * m] * factor);
            tensor_data<T>(a)[i * kept + j] = entry;
            b[static_cast<size_t>(j)] += static_cast<double>(entry) * moments.kp[static_cast<size_t>(i)];
        }
    }
    return a;
}

// Limits from the centres themselves, whose scores are z_l = sqrt(Lambda_l / w) u_l: T^2 = n sum u_l^2 / w, residual =
// k(c, c) - 2 (K p) + p^T K p - sum z_l^2. No kernel value is needed.
Json centre_limits(Run &run, const Eigenpairs &pairs, const Moments &moments, const CountedVector<double> &weights,
                   double total, int64_t kept, bool residual) {
    const size_t m = weights.size();
    CountedVector<double> spe(m), t2(m);
    for (size_t i = 0; i < m; ++i) spe[i] = moments.self[i] - 2 * moments.kp[i] + moments.mean_square;
    for (size_t j = 0; j < static_cast<size_t>(kept); ++j)
        for (size_t i = 0; i < m; ++i) {
            const double u = pairs.vectors[static_cast<int64_t>(i + j * m)], share = u * u / weights[i];
            spe[i] -= pairs.values[j] * share;
            t2[i] += total * share;
        }
    for (double &value : spe) value = std::max(value, 0.0);
    const int64_t count = static_cast<int64_t>(m);
    Json out = {{"t2", limits_of(run, count, t2.data(), weights.data())}};
    if (residual) out["residual"] = limits_of(run, count, spe.data(), weights.data());
    return out;
}

template <class T>
Lifted lift_as(const LiftTask &task) {
    Run &run = task.run;
    const Recipe &recipe = task.recipe;
    const Prepared &prepared = task.prepared;
    const Centres &centres = task.centres;
    const Plan &plan = task.plan;
    const int64_t n = prepared.source->rows();
    const int64_t m = centres.m();
    const double total = static_cast<double>(n);
    const bool centred = recipe.values().lift_centred != 0;
    Lifted out;

    run.stage("gram");
    auto points_of = [&](auto type) {
        using U = decltype(type);
        const std::vector<LeafSpec> specs = leaf_specs(prepared.kernel);
        return centres.numbers() ? Points<U>(centres.source, {}, specs, centres.numbers(), m)
                                 : Points<U>(centres.source, {}, specs);
    };
    GramOperator<T> exact(run, prepared.kernel, points_of(T()), plan.rough ? plan.hold_exact : plan.hold);
    std::unique_ptr<GramOperator<float>> rough;
    std::unique_ptr<PairedOperator> pair;
    if (plan.rough) {
        rough = std::make_unique<GramOperator<float>>(run, prepared.kernel, points_of(float()), plan.hold);
        pair = std::make_unique<PairedOperator>(exact, *rough);
    }
    Moments moments(run, exact, centres.weights, total);

    run.stage("solve");
    WeightedOperator weighted(run, pair ? static_cast<const Operator &>(*pair) : exact, moments.scale(), centred);
    std::map<std::string, double> report;
    Buffer<double> start;
    const double started = start_share(*centres.source, plan, m);
    if (plan.start_columns > 0) {
        Run::Span span(run, 0, started);
        const PivotRows rows{centres.source, {}, prepared.kernel, centres.numbers(), m, centres.weights.data()};
        start =
            start_vectors(run, rows, weighted, moments.scale(), plan.start_rank, plan.start_columns,
                          Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver), out.kernel_evaluations);
    }
    Counted op(run, weighted, sizeof(T) == 4, started, plan.products.likely);
    Components choice(recipe.values(), m);
    Eigenpairs pairs;
    double variance = 0; // total, in the unit of the values
    for (;;) {
        pairs = solve(run, recipe, plan, op, choice.ask(), start, report);
        if (centred) moments.set_mean(weighted.mean(run), total);
        variance = std::max(moments.mean_self - moments.mean_square, 0.0) * total;
        if (!choice.more(pairs.values, variance)) break;
        start = std::move(pairs.vectors); // what is known already
    }
    out.kernel_evaluations += exact.kernel_evaluations() + (rough ? rough->kernel_evaluations() : 0);
    out.passes = plan.hold == Hold::matrix ? 1 : 0;
    out.text["passes"] = Json::array();
    for (const Counted::Pass &pass : op.passes()) {
        out.text["passes"].push_back({{"width", pass.width}, {"dtype", pass.f32 ? "f32" : "f64"}});
        out.passes += plan.hold != Hold::matrix || (plan.rough && !pass.f32);
        out.columns += static_cast<double>(pass.width);
    }
    out.products = static_cast<double>(op.passes().size());

    const int64_t rank = cut_rank(recipe, plan, pairs, moments.mean_self * total, &out.outcome);
    ErrorBars bars;
    if (choice.wants_bars() && rank > 0)
        bars = choice.bars(run, m, rank, fitted_scores(run, pairs, moments, rank).data(),
                           moments.plain ? nullptr : centres.weights.data(), centred,
                           static_cast<uint64_t>(recipe.values().seed));
    const int64_t kept = choice.kept(pairs.values, rank, variance, choice.wants_bars() ? &bars : nullptr);
    if (choice.is_short(kept, rank)) out.outcome |= MERCER_RANK_REACHED;
    if (choice.wants_bars() && rank > 0) out.text["error_bars"] = bars.report(1, kept);
    if (m == n) out.text["certificates"] = residual_certificates(pairs, kept, total);
    fix_signs(m, kept, pairs.vectors.data(), moments.scale());
    std::vector<double> b, lambda;
    for (int64_t j = 0; j < kept; ++j) lambda.push_back(pairs.values[static_cast<size_t>(j)] / total);
    out.tensors["A"] =
        prepared.f32 ? coefficients<float>(pairs, moments, kept, b) : coefficients<double>(pairs, moments, kept, b);
    out.tensors["b"] = vector_tensor(b);
    out.tensors["lambda"] = vector_tensor(lambda);
    out.tensors["w"] = vector_tensor(centres.weights);
    if (centred) out.tensors["nu"] = vector_tensor(moments.p);
    out.capabilities = MERCER_CAN_DENSITY;
    if (centred) out.capabilities |= MERCER_CAN_MEAN;
    if (prepared.kernel.is_psd() && !(out.outcome & MERCER_INDEFINITE))
        out.capabilities |= MERCER_CAN_ORTHONORMAL | MERCER_CAN_MERGE | MERCER_CAN_RESIDUAL;
    out.text["total_variance"] = {{"value", variance / total},
                                  {"kind", m == n && moments.plain && centres.rows ? "exact" : "reduced-operator"}};
    if (centred) out.text["mean_square"] = moments.mean_square;
    out.text["limits"] =
        centre_limits(run, pairs, moments, centres.weights, total, kept, out.capabilities & MERCER_CAN_RESIDUAL);
    out.text["limits"]["kind"] = recipe.reducer() ? "centres" : "exact";
    out.text["residuals"] = std::vector<double>(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    out.text["most_negative"] = pairs.most_negative / total;
    for (auto &[name, value] : report) out.text["reported"]["solver." + name] = value;
    return out;
}

} // namespace

Lifted lift_weighted(const LiftTask &task) { return task.plan.f32 ? lift_as<float>(task) : lift_as<double>(task); }

} // namespace mercer
