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
#include "../core/tall.h"
#include "../gram/operator.h"
#include "certify_report.h"
#include "checkpoint.h"
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
    Counted(Run &run, const Operator &base, double start, double likely)
        : Operator(base.n(), base.f32()), base_(base), start_(start), likely_(std::max(likely, 1.0)) {
        rest(run);
    }
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override {
        next(run, p, rough || f32(), [&] { base_.product(run, rough, p, q, y); });
    }
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override {
        next(run, 0, f32(), [&] { base_.dense(run, a, lda); });
    }
    void diagonal(Run &run, double *d) const override { base_.diagonal(run, d); }

    struct Pass {
        int64_t width; // columns; 0: the whole matrix
        bool f32;
    };
    const std::vector<Pass> &passes() const { return passes_; }
    void passed(int64_t width, bool f32) { passes_.push_back({width, f32}); } // in an earlier run

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
    double start_, likely_;
    mutable std::vector<Pass> passes_;
    mutable std::optional<Run::Span> still_;
};

struct Eigenpairs {
    std::vector<double> values, residuals;
    Block vectors; // m x r
    double most_negative = 0;
    bool converged = false;
    int64_t m() const { return vectors.n(); }
    // body(j, u) for the first `count` vectors.
    template <class Body>
    void each(Run &run, int64_t count, Body &&body) const {
        Buffer<double> u = run.buffer<double>(m());
        for (int64_t j = 0; j < count; ++j) {
            vectors.read(j, 0, m(), u.data());
            body(j, u.data());
        }
    }
};

// What a solver may begin with.
struct Start {
    int64_t count = 0;
    std::function<void(Columns to)> write;
};

Eigenpairs solve(Run &run, const Recipe &recipe, const Plan &plan, const Operator &op, int64_t r, const Start &start,
                 std::map<std::string, double> &report, Keeper *keeper) {
    Eigenpairs out;
    out.values.resize(static_cast<size_t>(r));
    out.residuals.resize(static_cast<size_t>(r));
    out.vectors = Block(run, op.n(), r, op.f32());
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver), nullptr, &report);
    task.keeper = keeper;
    struct Asked {
        mercer_task &task;
        const Start &start;
    } asked{task, start};
    mercer_operator c_op = op.c_operator();
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = plan.tol;
    request.max_passes = recipe.values().max_passes;
    request.start_count = start.count;
    request.rough = op.has_rough();
    request.user = &asked;
    request.start = [](void *user, mercer_range to) -> int32_t {
        const Asked &from = *static_cast<Asked *>(user);
        return from.task.guard([&] { from.start.write(to); });
    };
    mercer_eigen_result result{
        sizeof result, out.values.data(), columns(out.vectors), out.residuals.data(), 0, 0, 0, 0, 0};
    task.check(plan.solver->solver.solve(&host_table(), &task, plan.solver_params.values(), &c_op, &request, &result),
               *plan.solver);
    std::vector<double> norms(static_cast<size_t>(r));
    tall_norms(run, columns(out.vectors), norms.data());
    for (const std::vector<double> &numbers : {out.values, norms})
        for (double value : numbers)
            if (!std::isfinite(value))
                fail(MERCER_E_NUMERICAL, "solver %s gave a pair that is not finite", plan.solver->name.c_str());
    out.most_negative = result.most_negative;
    out.converged = result.converged != 0;
    return out;
}

// Weights in the forms that are needed, and what the product with them says: K p, and the means behind total variance.
struct Moments {
    const CountedVector<double> &weights;
    double total;                // sum of the weights
    bool plain;                  // all of them 1
    Buffer<double> roots, self;  // roots: empty where plain; self: k(c, c)
    const double *ksu = nullptr; // K S u, S u = p sqrt(total); nullptr uncentred
    double mean_self = 0;        // sum p_i k(c_i, c_i)
    double mean_square = 0;      // p^T K p; 0 uncentred

    Moments(Run &run, const Operator &gram, const CountedVector<double> &weights, double total)
        : weights(weights), total(total),
          plain(std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; })),
          roots(run.buffer<double>(plain ? 0 : gram.n())), self(run.buffer<double>(gram.n())) {
        gram.diagonal(run, self.data());
        for (int64_t i = 0; i < self.size(); ++i) {
            if (!plain) roots[i] = std::sqrt(weights[static_cast<size_t>(i)]);
            mean_self += p(i) * self[i];
        }
    }
    double root(int64_t i) const { return plain ? 1 : roots[i]; }
    double p(int64_t i) const { return weights[static_cast<size_t>(i)] / total; }
    double kp(int64_t i) const { return ksu ? ksu[i] / std::sqrt(total) : 0; }
    const double *scale() const { return plain ? nullptr : roots.data(); }
    void set_mean(const double *product) {
        ksu = product;
        mean_square = 0;
        for (int64_t i = 0; i < self.size(); ++i) mean_square += p(i) * kp(i);
    }
};

// How many of the pairs are more than rounding, and what is to be said of them.
int64_t cut_rank(const Recipe &recipe, const Plan &plan, const Eigenpairs &pairs, double trace, uint32_t *outcome) {
    const double u_tile = plan.f32 ? 0x1p-24 : 0x1p-53, m = static_cast<double>(pairs.m());
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
    const int64_t m = pairs.m();
    Buffer<double> z = run.buffer<double>(m, p);
    pairs.each(run, p, [&](int64_t j, const double *u) {
        const double factor = std::sqrt(std::max(pairs.values[static_cast<size_t>(j)], 0.0));
        for (int64_t i = 0; i < m; ++i) z[i + j * m] = factor * u[i] / moments.root(i);
    });
    return z;
}

// |K u - theta u| bounds what is wrong with the values of an exact fit, if no eigenvalue above the last was missed. Products
// in f32 err by some u of theta_1 (0.3 were seen), which residuals contain where they matter.
Json residual_certificates(const Eigenpairs &pairs, int64_t kept, double total, bool f32) {
    if (kept == 0) return Json::array();
    const std::vector<double> theta(pairs.values.begin(), pairs.values.begin() + kept),
        residuals(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    const double worst = *std::max_element(residuals.begin(), residuals.end()),
                 image = f32 ? std::min(worst, 4 * 0x1p-24 * theta[0]) : 0;
    return eigenvalue_entries(residual_bounds(theta, residuals, theta.back() + residuals.back(), 0, true, image), kept,
                              0, total);
}

// A = D^1/2 U Lambda^-1/2 in the model's type T, and b = A^T K p of the rounded A. Each column's entry of largest modulus (the
// first on a tie) is positive.
template <class T>
Tensor coefficients(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t kept, std::vector<double> &b) {
    const int64_t m = pairs.m();
    Tensor a = make_tensor<T>(m, kept);
    b.assign(static_cast<size_t>(kept), 0.0);
    pairs.each(run, kept, [&](int64_t j, const double *u) {
        const double factor = sign_of(m, [&](int64_t i) { return u[i] * moments.root(i); }) /
                              std::sqrt(pairs.values[static_cast<size_t>(j)]);
        double sum = 0;
        for (int64_t i = 0; i < m; ++i) {
            const T entry = static_cast<T>(moments.root(i) * u[i] * factor);
            tensor_data<T>(a)[i * kept + j] = entry;
            sum += static_cast<double>(entry) * moments.kp(i);
        }
        b[static_cast<size_t>(j)] = sum;
    });
    return a;
}

// Limits from the centres themselves, whose scores are z_l = sqrt(Lambda_l / w) u_l: T^2 = n sum u_l^2 / w, residual =
// k(c, c) - 2 (K p) + p^T K p - sum z_l^2. No kernel value is needed.
Json centre_limits(Run &run, const Eigenpairs &pairs, const Moments &moments, int64_t kept, bool residual) {
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
    for (double &value : spe) value = std::max(value, 0.0);
    Json out = {{"t2", limits_of(run, m, t2.data(), moments.weights.data())}};
    if (residual) out["residual"] = limits_of(run, m, spe.data(), moments.weights.data());
    return out;
}

// What a checkpoint must have been made with: recipe, and digests of rows and weights.
Json identity_of(const LiftTask &task) {
    if (task.centres.numbers() || task.prepared.kernel.has_user())
        fail(MERCER_E_UNSUPPORTED, "checkpoint: objects and a user's kernel have no digest to be known again by");
    Json out = {{"version", MERCER_VERSION}, {"recipe", Json::object()}, {"dtype", task.plan.f32 ? "f32" : "f64"},
                {"rough", task.plan.rough},  {"tol", task.plan.tol},     {"solver", task.plan.solver->name},
                {"m", task.centres.m()}};
    for (const auto &[name, value] : task.recipe.stored()) // but for what may change from run to run
        if (name != "solver.max_passes" && name != "solver.strict" && name.rfind("report.", 0) != 0)
            out["recipe"][name] = value;
    out["recipe"]["kernel"] = task.prepared.kernel.text();
    for (const auto &[name, value] : task.prepared.kernel.stored()) out["recipe"][name] = value;
    for (const auto &[name, tensor] : task.centres.tensors)
        out["data"][name] = crc_of(tensor.bytes.data(), tensor.bytes.size());
    out["data"]["weights"] = crc_of(task.centres.weights.data(), 8 * task.centres.m());
    return out;
}

// The host's state beside the solver's: the mean that rides along, what the report counts, how many pairs were asked for.
class Progress {
  public:
    Progress(const LiftTask &task, WeightedOperator &weighted, Counted &counted, Components &choice,
             std::function<int64_t()> evaluations)
        : weighted_(weighted), counted_(counted), choice_(choice), evaluations_(std::move(evaluations)) {
        if (task.run.checkpoint().empty() || !(task.plan.solver->solver.flags & MERCER_KEEPS_STATE)) return;
        file_ = std::make_unique<Checkpoint>(task.run, task.run.checkpoint(), identity_of(task));
        file_->say = [this](Json &said, auto &tensors) { say(said, tensors); };
        if (!file_->said().is_null()) read(file_->said());
    }
    Checkpoint *file() { return file_.get(); }
    int64_t evaluations() const { return before_ + evaluations_(); }

  private:
    void say(Json &said, std::map<std::string, TensorView> &tensors) const {
        said = {{"ask", choice_.ask()},
                {"evaluations", evaluations()},
                {"mean", static_cast<int>(weighted_.known())},
                {"passes", Json::array()}};
        for (const Counted::Pass &pass : counted_.passes()) said["passes"].push_back({pass.width, pass.f32});
        const Buffer<double> &mean = weighted_.known_mean();
        if (weighted_.known() == WeightedOperator::Mean::unknown) return;
        TensorView &view = tensors["mean"];
        view.dtype = MERCER_F64, view.rows = mean.size(), view.vector = true;
        view.data = mean.data(), view.bytes = mean.bytes();
    }
    void read(const Json &said) {
        try {
            choice_.ask(said.at("ask").get<int64_t>());
            before_ = said.at("evaluations").get<int64_t>();
            for (const Json &pass : said.at("passes"))
                counted_.passed(pass.at(0).get<int64_t>(), pass.at(1).get<bool>());
            const auto known = static_cast<WeightedOperator::Mean>(said.at("mean").get<int>());
            if (known == WeightedOperator::Mean::unknown) return;
            const Tensor *mean = file_->tensor("mean");
            if (!mean || mean->dtype != MERCER_F64 || mean->rows != weighted_.known_mean().size() || mean->cols != 1)
                fail(MERCER_E_MODEL, "checkpoint: it holds no mean");
            weighted_.know(known, reinterpret_cast<const double *>(mean->bytes.data()));
        } catch (const Json::exception &) {
            fail(MERCER_E_MODEL, "checkpoint: its text is not one that this version writes");
        }
    }
    WeightedOperator &weighted_;
    Counted &counted_;
    Components &choice_;
    std::function<int64_t()> evaluations_;
    int64_t before_ = 0;
    std::unique_ptr<Checkpoint> file_;
};

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
    const double started = start_share(*centres.source, plan, m);
    Counted op(run, weighted, started, plan.products.likely);
    std::map<std::string, double> report;
    Start start{plan.start_columns, [&](Columns to) {
                    Run::Span span(run, 0, started);
                    const PivotRows rows{centres.source,    {}, prepared.kernel,
                                         centres.numbers(), m,  centres.weights.data()};
                    out.kernel_evaluations +=
                        start_vectors(run,
                                      {rows, moments.plain ? nullptr : centres.weights.data(), centred, plan.start_rank,
                                       Random(static_cast<uint64_t>(recipe.values().seed), Stage::solver)},
                                      to);
                }};
    Components choice(recipe.values(), m);
    Progress progress(task, weighted, op, choice, [&] {
        return out.kernel_evaluations + exact.kernel_evaluations() + (rough ? rough->kernel_evaluations() : 0);
    });
    if (progress.file()) out.text["checkpointed"] = true;
    Eigenpairs pairs;
    Block known;         // vectors, where more are wanted
    double variance = 0; // total, in the unit of the values
    for (;;) {
        pairs = solve(run, recipe, plan, op, choice.ask(), start, report, progress.file());
        if (centred) moments.set_mean(weighted.mean(run));
        variance = std::max(moments.mean_self - moments.mean_square, 0.0) * total;
        if (!choice.more(pairs.values, variance)) break;
        known = std::move(pairs.vectors);
        start = {known.cols(), [&](Columns to) { tall_copy(run, columns(known, 0, to.count), to); }};
    }
    out.kernel_evaluations = progress.evaluations();
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
    if (m == n) out.text["certificates"] = residual_certificates(pairs, kept, total, plan.f32 || plan.rough);
    std::vector<double> b, lambda;
    for (int64_t j = 0; j < kept; ++j) lambda.push_back(pairs.values[static_cast<size_t>(j)] / total);
    out.tensors["A"] = prepared.f32 ? coefficients<float>(run, pairs, moments, kept, b)
                                    : coefficients<double>(run, pairs, moments, kept, b);
    out.tensors["b"] = vector_tensor(b);
    out.tensors["lambda"] = vector_tensor(lambda);
    out.tensors["w"] = vector_tensor(centres.weights);
    if (centred) {
        Tensor nu = make_tensor<double>(m, 1, true);
        for (int64_t i = 0; i < m; ++i) tensor_data<double>(nu)[i] = moments.p(i);
        out.tensors["nu"] = std::move(nu);
    }
    out.capabilities = MERCER_CAN_DENSITY;
    if (centred) out.capabilities |= MERCER_CAN_MEAN;
    if (prepared.kernel.is_psd() && !(out.outcome & MERCER_INDEFINITE))
        out.capabilities |= MERCER_CAN_ORTHONORMAL | MERCER_CAN_MERGE | MERCER_CAN_RESIDUAL;
    out.text["total_variance"] = {{"value", variance / total},
                                  {"kind", m == n && moments.plain && centres.rows ? "exact" : "reduced-operator"}};
    if (centred) out.text["mean_square"] = moments.mean_square;
    out.text["limits"] = centre_limits(run, pairs, moments, kept, out.capabilities & MERCER_CAN_RESIDUAL);
    out.text["limits"]["kind"] = recipe.reducer() ? "centres" : "exact";
    out.text["residuals"] = std::vector<double>(pairs.residuals.begin(), pairs.residuals.begin() + kept);
    out.text["most_negative"] = pairs.most_negative / total;
    for (auto &[name, value] : report) out.text["reported"]["solver." + name] = value;
    return out;
}

} // namespace

Lifted lift_weighted(const LiftTask &task) { return task.plan.f32 ? lift_as<float>(task) : lift_as<double>(task); }

} // namespace mercer
