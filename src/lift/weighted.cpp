// The lift `weighted` (RSKPCA, Algorithm 1; if all weights are 1, this is kernel PCA): centres C
// with weights w, sum w = n.
//
//   Kt = D^1/2 (1 - 1 p^T) K_C (1 - p 1^T) D^1/2,  D = diag(w), p = w / n
//   (uncentred: Kt = D^1/2 K_C D^1/2)
//   Kt U = U Lambda;   A = D^1/2 U Lambda^-1/2,  b = A^T K_C p,  nu = p,  lambda = Lambda / n
//
// Since u := D^1/2 1 / sqrt n is a unit vector, the centred operator is P D^1/2 K D^1/2 P with
// P = 1 - u u^T: centring is a projection of the solver's blocks and leaves K unchanged. Total
// variance (exact, whatever r is): mean k(c, c) - p^T K p.
//
// Rank: a component counts if Lambda_l > (16 u_tile + m u_64) trace(D^1/2 K D^1/2), because
// rounding of the entries alone moves eigenvalues by up to a small multiple of u trace, and if the
// solver's residual is at most Lambda_l / 2, because otherwise its scores would be noise. If
// squares of kernel values, or f32 blocks of vectors, would overflow or underflow, kernel values
// are divided by a power of 4. Cost: m^2/2 kernel values per pass and 2 m^2 flops per column; for
// memory see operator/gram.h. Error of direction l: about m u Lambda_1 / Lambda_l, plus the
// solver's residual divided by the gap.
#include "../certify/certificates.h"
#include "control_limits.h"
#include "ritz.h"
#include "solve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// Returns the square root of the unit in which kernel values of this size are counted. It is 1
// unless the squares that solvers compute, or f32 blocks of vectors, would overflow or underflow;
// then it is a power of 2, which changes no bit.
double root_unit_of(double value, bool f32) {
    const int most = f32 ? 60 : 400; // from 2^-most to 2^most the unit is 1
    int exponent = 0;
    std::frexp(value, &exponent);
    return value == 0 || std::abs(exponent) <= most ? 1 : std::ldexp(1, exponent / 2);
}

// The weights of the centres in the forms that are needed, and what follows from the product K p:
// the means for the total variance. Kernel values are divided by unit(), and so are the eigenvalues
// of the operator with these scales.
struct Moments {
    const CountedVector<double> &weights;
    double total;                // sum of the weights
    bool plain;                  // all weights are 1
    Buffer<double> scales, self; // scales: sqrt(w / unit), empty if all are 1; self: k(c, c) / unit
    // K S u, where S = diag(scales) and S u = p sqrt(total / unit); nullptr if uncentred.
    const double *ksu = nullptr;
    double mean_self = 0;   // sum p_i k(c_i, c_i) / unit
    double mean_square = 0; // p^T K p / unit; 0 if uncentred
    double root_unit = 1;

    Moments(Run &run, const Operator &gram, const CountedVector<double> &weights, double total)
        : weights(weights), total(total),
          plain(std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; })),
          self(run.buffer<double>(gram.n())) {
        gram.diagonal(run, self.data());
        for (int64_t i = 0; i < self.size(); ++i) mean_self += p(i) * self[i];
        root_unit = root_unit_of(mean_self, gram.f32());
        mean_self /= unit();
        for (double &value : self) value /= unit();
        if (plain && root_unit == 1) return;
        scales = run.buffer<double>(gram.n());
        for (int64_t i = 0; i < scales.size(); ++i) scales[i] = std::sqrt(weights[static_cast<size_t>(i)]) / root_unit;
    }
    double unit() const { return root_unit * root_unit; }
    double root(int64_t i) const { return plain ? 1 : scales[i] * root_unit; }
    double p(int64_t i) const { return weights[static_cast<size_t>(i)] / total; }
    double kp(int64_t i) const { return ksu ? ksu[i] / std::sqrt(total) / root_unit : 0; }
    const double *scale() const { return scales.empty() ? nullptr : scales.data(); }
    void set_mean(const double *product) {
        ksu = product;
        mean_square = 0;
        for (int64_t i = 0; i < self.size(); ++i) mean_square += p(i) * kp(i);
    }
    // The trace before centring, which bounds the norm of the operator if the kernel is psd.
    double trace() const { return mean_self * total; }
    double variance() const { return std::max(mean_self - mean_square, 0.0) * total; }
};

// Computes the scores of the centres, z_l = sqrt(Lambda_l) u_l / sqrt(w): column-major.
Buffer<double> fitted_scores(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t p) {
    const int64_t m = pairs.m();
    Buffer<double> z = run.buffer<double>(m, p);
    pairs.each(run, p, [&](int64_t j, const double *u) {
        const double factor = std::sqrt(std::max(pairs.values[static_cast<size_t>(j)], 0.0));
        for (int64_t i = 0; i < m; ++i) z[i + j * m] = factor * u[i] / moments.root(i);
    });
    return z;
}

// The residual |K v - theta v| bounds the error of each eigenvalue of an exact fit, if no
// eigenvalue above the last one was missed. A solver that decomposes the whole matrix misses none
// (LAPACK's eigenvalues, all or by index, are those of a matrix that differs by n u |K|). Kernel
// values in f32 err by about u k(c, c), and products with them by less: together by at most 2 u
// times the trace before centring. Residuals include this error only if the solver also has an
// exact operator (plan.rough); the largest residual then bounds it, too.
Bounds bounds_of(const Eigenpairs &pairs, const Moments &moments, const Plan &plan, int64_t kept) {
    const std::vector<double> theta(pairs.values.begin(), pairs.values.begin() + kept),
        residuals(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    const double worst = *std::max_element(residuals.begin(), residuals.end()), rounding = 0x1p-23 * moments.trace(),
                 image = plan.f32     ? rounding
                         : plan.rough ? std::min(worst, rounding)
                                      : 0;
    const bool direct = !plan.solver || plan.solver->solver.flags & MERCER_DIRECT;
    return residual_bounds(theta, residuals, theta.back() + residuals.back(), 0, !direct, image);
}

// Computes A = D^1/2 U Lambda^-1/2 in the model's type T, and b = A^T K p from the rounded A. The
// entry of largest modulus of each column (the first on a tie) is positive. Rounding leaves each
// column of U with a part along D^1/2 1, of about |K| / Lambda units of roundoff. The centred
// operator does not see this part, but K would amplify it by |K| to noise; therefore it is
// projected out.
template <class T>
Tensor coefficients(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t kept, std::vector<double> &b) {
    const int64_t m = pairs.m();
    Tensor a = make_tensor<T>(m, kept);
    b.assign(static_cast<size_t>(kept), 0.0);
    pairs.each(run, kept, [&](int64_t j, const double *u) {
        const double factor = sign_of(m, [&](int64_t i) { return u[i] * moments.root(i); }) /
                              std::sqrt(pairs.values[static_cast<size_t>(j)]) / moments.root_unit;
        double along = 0, sum = 0;
        for (int64_t i = 0; moments.ksu && i < m; ++i) along += u[i] * moments.root(i) / moments.total;
        for (int64_t i = 0; i < m; ++i) {
            const T entry = static_cast<T>(moments.root(i) * (u[i] - along * moments.root(i)) * factor);
            tensor_data<T>(a)[i * kept + j] = entry;
            sum += static_cast<double>(entry) * moments.kp(i);
        }
        b[static_cast<size_t>(j)] = sum * moments.unit();
    });
    return a;
}

// Computes limits from the centres themselves, whose scores are z_l = sqrt(Lambda_l / w) u_l:
// T^2 = n sum u_l^2 / w, residual = k(c, c) - 2 (K p) + p^T K p - sum z_l^2. No further kernel
// value is needed.
Limits centre_limits(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t kept, bool residual) {
    const int64_t m = pairs.m();
    CountedVector<double> spe(static_cast<size_t>(m)), t2(static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i)
        spe[static_cast<size_t>(i)] = moments.self[i] - 2 * moments.kp(i) + moments.mean_square;
    pairs.each(run, kept, [&](int64_t j, const double *u) {
        for (size_t i = 0; i < static_cast<size_t>(m); ++i) {
            const double share = u[i] * u[i] / moments.weights[i];
            spe[i] -= pairs.values[static_cast<size_t>(j)] * share;
            t2[i] += moments.total * share;
        }
    });
    for (double &value : spe) value = std::max(value, 0.0) * moments.unit();
    Limits out{limits_of(run, m, t2.data(), moments.weights.data()), {}, ""};
    if (residual) out.residual = limits_of(run, m, spe.data(), moments.weights.data());
    return out;
}

bool is_centred(const LiftTask &task) { return task.recipe.values().lift_centred != 0; }

// How many eigenpairs are kept of those above rounding: `wanted` become components of the model;
// `all` also counts the further directions for lift.ritz.
struct Kept {
    int64_t wanted, all;
};
Kept choose_kept(const LiftTask &task, const Eigenpairs &pairs, const Moments &moments, const Components &choice,
                 Lifted &out) {
    // For an indefinite kernel the trace is no bound of the norm (it may be 0); resolved_rank then
    // uses the eigenvalue of largest modulus.
    const int64_t rank = resolved_rank(task, pairs, moments.trace(), moments.unit(), &out.outcome);
    ErrorBars bars;
    const bool wanted = choice.wants_bars() && rank > 0;
    if (wanted)
        bars = choice.bars(task.run, pairs.m(), rank, fitted_scores(task.run, pairs, moments, rank).data(),
                           moments.plain ? nullptr : moments.weights.data(), is_centred(task), seed_of(task));
    const int64_t kept = choice.kept(pairs.values, rank, moments.variance(), choice.wants_bars() ? &bars : nullptr);
    if (choice.is_short(kept, rank)) out.outcome |= MERCER_RANK_REACHED;
    if (choice.lacks_memory()) report_lack_of_memory(task, out);
    if (wanted) out.error_bars = bars.first(kept, 1 / moments.unit());
    // A further direction needs at least this eigenvalue, relative to the first. Below it, rounding
    // may keep the vector from having length 1 in feature space.
    constexpr double least = 1e-8;
    int64_t all = std::min(rank, task.recipe.values().ritz);
    while (all > kept && !(pairs.values[static_cast<size_t>(all - 1)] > least * pairs.values[0])) --all;
    return {kept, std::max(kept, all)};
}

void write_tensors(const LiftTask &task, const Eigenpairs &pairs, const Moments &moments, int64_t kept, Lifted &out) {
    std::vector<double> b, lambda;
    for (int64_t j = 0; j < kept; ++j)
        lambda.push_back(pairs.values[static_cast<size_t>(j)] / moments.total * moments.unit());
    out.tensors["A"] = task.prepared.f32 ? coefficients<float>(task.run, pairs, moments, kept, b)
                                         : coefficients<double>(task.run, pairs, moments, kept, b);
    out.tensors["b"] = vector_tensor(b);
    out.tensors["lambda"] = vector_tensor(lambda);
    out.tensors["w"] = vector_tensor(moments.weights);
    if (!is_centred(task)) return;
    Tensor nu = make_tensor<double>(pairs.m(), 1, true);
    for (int64_t i = 0; i < pairs.m(); ++i) tensor_data<double>(nu)[i] = moments.p(i);
    out.tensors["nu"] = std::move(nu);
}

// lift.ritz relies on A^T K A = 1, which only eigenpairs of K itself give.
void require_exact(const LiftTask &task, const Fidelity &known) {
    if (task.recipe.values().ritz > 0 && !known.exact())
        fail(MERCER_E_UNSUPPORTED,
             "lift.ritz needs exact kernel values, but those of this kernel matrix are approximate");
}

// Nothing is claimed of eigenpairs of approximate values: K itself may have other eigenpairs, the
// components need not be orthonormal, and the mean need not be that of the rows. The density needs
// no eigenpair.
void disclaim(const Fidelity &known, Lifted &out) {
    out.approximate = true;
    out.worst_share = INFINITY;
    out.capabilities = MERCER_CAN_DENSITY;
    out.uncertified = "the values of the kernel matrix are approximate: the distance from the exact one is " +
                      (std::isfinite(known.distance) ? format("at most %.3g", known.distance) : "unknown");
}

void write_facts(const LiftTask &task, const Eigenpairs &pairs, const Moments &moments, const Fidelity &known,
                 int64_t kept, Lifted &out) {
    // True if the centres are all rows of positive weight, each with its own weight.
    const bool all = known.exact() && task.centres.rows &&
                     (!task.recipe.reducer() || (moments.plain && pairs.m() == task.prepared.source->rows()));
    const double unit = moments.unit(),
                 explained = std::accumulate(pairs.values.begin(), pairs.values.begin() + kept, 0.0),
                 left = (moments.variance() - explained) / moments.total * unit;
    out.exact = all;
    out.total_variance = {moments.variance() / moments.total * unit, all ? "exact" : "reduced-operator"};
    for (int64_t j = 0; j < kept; ++j) out.residuals.push_back(pairs.residuals[static_cast<size_t>(j)] * unit);
    out.most_negative = pairs.most_negative / moments.total * unit;
    if (!known.exact()) return disclaim(known, out);
    out.capabilities = MERCER_CAN_DENSITY | (is_centred(task) ? MERCER_CAN_MEAN : 0);
    if (known.positive && !(out.outcome & MERCER_INDEFINITE))
        out.capabilities |= MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL;
    if (all && kept > 0) {
        const Bounds bounds = bounds_of(pairs, moments, task.plan, kept);
        out.certificates = eigenvalue_certificates(bounds, kept, 0, moments.total / unit);
        out.worst_share = bounds.worst_share(kept);
    }
    // mse_components is the mean squared distance of the rows to the span of the components. Their
    // distance to the span of the centres, mse, is 0, because the centres are all rows.
    if (all && out.capabilities & MERCER_CAN_RESIDUAL) {
        out.mse = 0;
        out.mse_components = std::max(left, 0.0);
    }
    if (is_centred(task)) out.mean_square = moments.mean_square * unit;
    out.limits = centre_limits(task.run, pairs, moments, kept, out.capabilities & MERCER_CAN_RESIDUAL);
    // The components are orthonormal only to the accuracy of the kernel values that were
    // decomposed.
    if (out.capabilities & MERCER_CAN_ORTHONORMAL && (task.prepared.f32 || !task.plan.f32))
        make_mergeable(task.prepared, {.self = moments.mean_self * unit, .lost = left, .resid = 0}, out);
    out.limits->kind = all ? "exact" : "centres";
}

template <class T>
Lifted weighted_as(const LiftTask &task) {
    Run &run = task.run;
    const Centres &centres = task.centres;
    Lifted out;

    run.stage("gram");
    const KernelMatrix gram = kernel_matrix_of<T>(task);
    require_exact(task, gram.base().fidelity());
    Moments moments(run, gram.base(), centres.weights, static_cast<double>(task.prepared.source->rows()));

    run.stage("solve");
    const double started = start_share(*centres.source, task.plan, centres.m());
    WeightedOperator weighted(run, gram.both(), moments.scale(), is_centred(task));
    Counted op(run, weighted, started, task.plan.products.likely);
    Components choice(task.recipe.values(), centres.m());
    choice.room_for(task.plan.most_pairs);
    int64_t begun = 0; // kernel values of the start vectors
    SolveProgress progress(task, Json::object(), weighted, op, choice, [&] { return begun + gram.evaluations(); });
    if (progress.solver()) out.checkpointed = true;
    std::map<std::string, double> report;
    auto variance = [&] {
        if (is_centred(task)) moments.set_mean(weighted.mean(run));
        return moments.variance();
    };
    const Weighting problem{centres.weights.data(), moments.plain, is_centred(task)};
    const Eigenpairs pairs = solve_for({task, op, moments.trace(), nystrom_start(task, problem, 0, started, begun),
                                        choice, report, progress.solver(), variance});
    out.solver_report = std::move(report);
    out.kernel_evaluations = progress.evaluations();
    note_passes(task.plan, op, out);

    const Kept kept = choose_kept(task, pairs, moments, choice, out);
    out.kept = kept.wanted;
    run.stage("certify");
    write_facts(task, pairs, moments, gram.base().fidelity(), kept.wanted, out);
    run.stage("lift");
    write_tensors(task, pairs, moments, kept.all, out);
    return out;
}

} // namespace

Lifted weighted_model(const LiftTask &task) {
    return task.plan.f32 ? weighted_as<float>(task) : weighted_as<double>(task);
}

Plan plan_refined(const PlanTask &task) {
    Plan plan = plan_weighted(task);
    if (task.recipe.values().ritz > 0) plan_refinement(task, plan);
    plan_certificates(task, task.m * ((task.f32 ? 4 : 8) * plan.most_pairs + 40), plan);
    return plan;
}

Lifted lift_weighted(const LiftTask &task) {
    Lifted out = weighted_model(task);
    const bool refined = task.recipe.values().ritz > 0,
               reduced = task.recipe.reducer() && !out.exact && !out.approximate;
    Certificates quantisation;
    if (reduced) {
        task.run.stage("certify");
        quantisation = quantisation_certificates(reduced_model(task, out),
                                                 {.density = true, .values = !refined, .directions = !refined});
    }
    if (refined) refine(task, score_means(task, out), out);
    if (reduced) certify_reduction(reduced_model(task, out), true, quantisation);
    return out;
}

} // namespace mercer
