// `auto` grows a randomly pivoted Cholesky factor until sampled rows of its residual certify that
// each of the r eigenvalues has the requested relative accuracy. A larger factor costs more to grow
// but needs fewer rows to certify, so the next size is the one with the least remaining cost
// (Outlook in auto_budget.h).
//
// The number of rows that will certify a factor follows from the trace tr of its residual E, which
// each growth computes at no extra cost. The prediction assumes tr ~ m^-a, with a from the last two
// sizes, and |E|_F ~ tr^1.5 (measured on clusters: tr^1.4 to tr^1.6), and it uses the Ritz values
// theta of the last projection (rows_expected). One step at most doubles the size; then the
// prediction is made again. When growing no longer pays, the rows are projected on the span of the
// factor, and certificates are tried in order of cost: by the trace, by a bound of |E|_F from
// sampled pairs, by sampled rows of E.
//
// One part of the failure probability delta is for bounds by pairs, the other for bounds by rows,
// and each new bound takes half of what its part still has (bounds.h). The size of a sample follows
// from a pilot of 500 rows, or from the previous sample; the new sample draws rows of its own. The
// exact strategy is taken when its passes cost less than the rest of the projected strategy, when a
// larger factor would exceed the budget, when the factor has full rank, or when rounding or
// contradictory samples rule out a certificate. Wrong predictions cost time, but never invalidate a
// certificate. Exact passes use f64 if f32 is not known to keep the accuracy and f64 fits in the
// budget; the accuracy that their residuals certify is compared with the request.
//
// If the budget holds a factor but no exact passes, only the projection is possible: its factor
// grows as far as memory allows. If it certifies less than requested, the model reports this (not
// converged) and keeps the certificate that it has.
#include "../lift/components.h"
#include "auto_budget.h"
#include "fit_rows.h"
#include "reduce.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace mercer {
namespace {

// Largest tolerance of the exact strategy. With a looser one, the solver may stop at eigenpairs
// that are not the leading ones, if eigenvalues are close or if the start vectors favour other
// eigenvectors. Measured: errors of eigenvalues of 4 to 20 % at residuals of 1 %, and of 4 % at
// residuals of 1e-5.
constexpr double most_tol = 1e-6;

template <class T>
class Search {
  public:
    Search(Run &run, const Recipe &recipe, const Prepared &prepared, const Strategies &strategies)
        : run_(run), values_(recipe.values()), prepared_(prepared), strategies_(strategies),
          n_(prepared.source->rows()), weights_(prepared.weighted() ? prepared.weights.data() : nullptr),
          points_(prepared.source, prepared.map, leaf_specs(prepared.kernel)),
          pivots_(static_cast<uint64_t>(values_.seed), Stage::reducer),
          draws_(static_cast<uint64_t>(values_.seed), Stage::certificate),
          costs_(*prepared.source, likely_components(values_, n_)), shares_(share_failure(values_.delta, Sides::both)),
          most_(strategies.most_rank), most_rows_(strategies.most_rows),
          exact_cost_(strategies.exact ? costs_.exact() : INFINITY),
          outlook_(costs_, strategies, exact_cost_, sizeof(T) == 4),
          effort_(likely_attempt(costs_, values_, strategies).cost) {}

    Strategy run() {
        if (most_ == 0) return exact(strategies_.why);
        if (!prepared_.squares_hold && !strategies_.exact)
            fail(MERCER_E_DATA, "squares of kernel values overflow f64, so only exact passes are possible, but %s",
                 strategies_.why.c_str());
        if (!prepared_.squares_hold) return exact("squares of kernel values overflow f64");
        const KernelRows all{prepared_.source, prepared_.map, prepared_.kernel, nullptr, n_, prepared_.weights.data()};
        factor_ = std::make_shared<PartialCholesky<T>>(run_, all, std::min(first_ranks[1], most_));
        for (int64_t m : first_ranks) grow(std::min(m, most_));
        if (factor_->count() == 0) return strategies_.exact ? exact("all kernel values are 0") : nothing();
        for (int64_t number = 1;; ++number) {
            auto found = std::make_shared<Findings>();
            if (step(attempt_cost(), [&] { return attempt(*found, number); })) return projected(std::move(found));
            const char *end = found->proof.refuted      ? refuted_text
                              : factor_->rank_reached() ? "the factor has reached full rank"
                              : at_end()                ? "a larger factor does not fit in the memory budget (method "
                                                          "nystrom with reducer rpcholesky keeps more landmarks in it)"
                              : known_.m != factor_->count() ? "the remaining variance is within rounding"
                              : !advance()                   ? "exact passes cost less than a larger factor"
                                                             : nullptr;
            if (end) return strategies_.exact ? exact(end) : unproved(std::move(found), end);
        }
    }

  private:
    bool at_end() const { return factor_->rank_reached() || factor_->count() >= most_; }
    double left() const { return factor_->trace_left() * factor_->trace(); }

    // Runs a step of the search and advances the progress bar. The number of steps is unknown, so a
    // step advances it by the share that its cost has in the remaining expected effort, but at most
    // by half of what remains.
    template <class Body>
    auto step(double cost, Body &&body) {
        effort_ = std::max(effort_, spent_ + 2 * cost);
        const double from = progress_;
        progress_ += (1 - from) * cost / (effort_ - spent_);
        spent_ += cost;
        Run::Span span(run_, from, progress_);
        return body();
    }
    // The cost of one attempt to certify, for the progress bar: the projection and, for sampled
    // rows, half of what remains of the expected effort.
    double attempt_cost() const { return costs_.projection(factor_->count()) + std::max(effort_ - spent_, 0.0) / 2; }

    void grow(int64_t m) {
        const int64_t before = factor_->count();
        const double trace = left();
        step(costs_.factor(factor_->count(), m), [&] { factor_->grow_sampled({m}, pivots_); });
        outlook_.grew(before, m, trace, left());
    }

    Outlook::Size cheapest(int64_t least) const {
        return outlook_.cheapest(factor_->count(), left(), least, next_failure());
    }

    // Grows the factor until growing no longer pays. Returns false if exact passes are cheaper.
    bool advance() {
        int64_t least = std::min(most_, factor_->count() * 9 / 8 + 1);
        for (;;) {
            Outlook::Size next = cheapest(least);
            if (next.cost >= exact_cost_ && strategies_.exact) return false;
            if (next.cost >= exact_cost_) next.m = most_; // no size is expected to suffice; the largest still may
            if (next.m == factor_->count()) return true;
            int64_t m = next.m;
            if (m > room_ && m <= room_ + room_ / 4 && room_ > factor_->count())
                m = room_; // growing beyond the reserved room would copy the whole factor
            run_.log(1,
                     format("auto: %" PRId64 " rows, about %" PRId64 " will be needed", factor_->count(), m).c_str());
            room_ = std::max(room_, m);
            factor_->reserve(room_);
            grow(std::min(m, 2 * factor_->count()));
            if (at_end()) return true;
            least = factor_->count();
        }
    }

    // Tries to certify the accuracy with the present factor. Returns false if this is impossible,
    // or if it costs more than with a larger factor or by exact passes.
    bool attempt(Findings &found, int64_t number) {
        const SpanRows<T> span(*factor_);
        const int64_t m = factor_->count();
        const Components choice(values_, m);
        const int64_t ask = choice.most_ask();
        found.projection = project(run_, span, weights_, values_.lift_centred != 0, std::min(m, 2 * ask + 20));
        const Projection &projection = found.projection;
        Proof &proof = found.proof;
        // Only components whose Ritz values are above rounding errors can be certified.
        const int64_t rank = std::min(ask, projection.above(std::max(projection.floor, 1e-7 * projection.theta[0])));
        if (rank == 0 && factor_->rank_reached()) return true; // the data have no variance
        const int64_t r = std::max<int64_t>(choice.kept(projection.theta, rank, projection.trace, nullptr), 1);
        Evidence<T> evidence(run_, prepared_.kernel, points_, span, projection, weights_, draws_, number);
        Attempt entry{.m = m};
        const bool enough = decide(evidence, proof, entry, r);
        proof.evaluations = evidence.evaluations();
        entry.proved = proof.bounds.worst_share(r);
        run_.log(1, format("auto: %" PRId64 " rows certify %.2g; by the trace %.2g, by pairs %.2g, %" PRId64
                           " rows of the residual",
                           m, entry.proved, entry.trace, entry.norm, entry.rows)
                        .c_str());
        strategy_.attempts.push_back(entry);
        return enough;
    }
    bool enough(const Proof &proof, int64_t r) const { return proof.bounds.worst_share(r) <= values_.accuracy; }
    double next_failure() const { return attempt_failure(shares_.rows, samples_ + 1); }

    bool decide(Evidence<T> &evidence, Proof &proof, Attempt &entry, int64_t r) {
        const RitzSpectrum first = evidence.spectrum(r);
        proof.begin(first);
        entry.trace = proof.bounds.worst_share(r);
        const double target = values_.accuracy * first.theta.back();
        plan_residuals(first, target);
        if (enough(proof, r)) return true;
        const double failure = attempt_failure(shares_.pairs, ++norms_);
        const Norm norm = evidence.norm(failure);
        // Adds the failure probability of all earlier bounds by pairs, because the report takes the
        // best of all bounds.
        proof.add_norm(norm, norm.failure > 0 ? shares_.pairs - failure : 0);
        entry.norm = proof.bounds.worst_share(r);
        if (enough(proof, r)) return true;
        if (proof.refuted || !(target > 0)) return false;
        known_ = {factor_->count(),
                  r,
                  left(),
                  proof.bound_of_norm(),
                  target,
                  evidence.spectrum(std::min(evidence.known(), strategies_.most_width)),
                  1};
        if (most_rows_ == 0) return false;
        const Outlook::Size next = cheapest(factor_->count());
        return next.m == factor_->count() && next.cost < exact_cost_ && by_rows(evidence, proof, entry);
    }

    // Chooses the tolerance and the type of exact passes, in case they are taken. If r residuals
    // are at most rho, an eigenvalue is uncertain by (1 + sqrt r) rho (residual_bounds). The
    // rounding of kernel values to f32 makes it uncertain by u times the trace of K, and residuals
    // in f32 do not fall below 4 u theta_1.
    void plan_residuals(const RitzSpectrum &spectrum, double target) {
        const double together = 1 + std::sqrt(static_cast<double>(spectrum.p())), u = 0x1p-24;
        tol_ = std::max(0.0, std::min(target / spectrum.theta[0] / together / 2, most_tol));
        strategy_.f32 = u * factor_->trace() <= target / 4 && 4 * u * spectrum.theta[0] * together <= target / 4;
    }

    bool by_rows(Evidence<T> &evidence, Proof &proof, Attempt &entry) {
        const auto [p, forecast] = outlook_.expected(known_.trace, next_failure());
        const RitzSpectrum spectrum = leading(known_.all, p);
        const int64_t r = known_.r;
        entry.directions = p;
        for (int64_t s = pilot_rows;;) {
            const RowMoments moments = evidence.rows(p, s);
            const bool pilot = entry.needed == 0 && !moments.all;
            if (!pilot) {
                const double failure = next_failure();
                ++samples_;
                entry.rows = moments.s;
                // The bounds state the failure probability of all samples so far: the k-th sample
                // may use 1 / 2^k of shares_.rows, so all of them may use shares_.rows - failure.
                if (!proof.add_rows(spectrum, moments, failure, shares_.rows - failure)) return false;
                if (enough(proof, r)) {
                    proof.turn(spectrum, moments, failure);
                    return true;
                }
            }
            if (moments.all) return false;
            const int64_t needed = rows_needed(spectrum, moments, proof.bound_of_norm(), next_failure(), Sides::both, r,
                                               0.9 * known_.target, most_rows_);
            entry.needed = needed;
            s = pilot ? needed : std::max(needed, s + s / 4);
            known_.correction = static_cast<double>(needed) / static_cast<double>(forecast);
            const Outlook::Size next = cheapest(factor_->count());
            if (std::max(needed, s) > most_rows_ || next.m != factor_->count() || next.cost >= exact_cost_)
                return false;
        }
    }

    Strategy projected(std::shared_ptr<Findings> found) {
        strategy_.exact = false;
        conclude(1, found->proof.r() == 0 ? "the data have no variance" : proved(found->proof));
        return take(std::move(found));
    }

    // Takes the best projection that fits in memory, although it does not certify the accuracy.
    Strategy unproved(std::shared_ptr<Findings> found, const char *end) {
        const std::string text = proved(found->proof) + "; " + end + "; " + strategies_.why;
        if (values_.solver_strict) fail(MERCER_E_NUMERICAL, "auto: %s", text.c_str());
        strategy_.exact = strategy_.proved = false;
        conclude(2, text);
        return take(std::move(found));
    }

    // The result if all k(x, x) are 0: one row represents all rows.
    Strategy nothing() {
        strategy_.exact = false;
        conclude(1, "all kernel values are 0");
        Reduction &out = strategy_.reduction;
        int64_t first = 0;
        while (!(prepared_.weights[static_cast<size_t>(first)] > 0)) ++first;
        out.index.push_back(first);
        out.m = 1;
        out.weights.push_back(static_cast<double>(n_));
        out.kernel_evaluations = factor_->evaluations();
        return std::move(strategy_);
    }

    std::string proved(const Proof &proof) const {
        const double share = proof.bounds.worst_share(proof.r());
        const std::string rows = format("projection on %" PRId64 " rows: ", factor_->count());
        if (!(share <= 1)) return rows + format("no accuracy is certified (%g %% requested)", 100 * values_.accuracy);
        return rows + format("certified to %.2g %% (%g %% requested), by %s", 100 * share, 100 * values_.accuracy,
                             std::strcmp(proof.bounds.kind, "frobenius") == 0 ? "pairs" : proof.bounds.kind);
    }

    Strategy take(std::shared_ptr<Findings> found) {
        Reduction &out = strategy_.reduction;
        out.index.assign(factor_->index(), factor_->index() + factor_->count());
        out.m = factor_->count();
        for (int64_t row : out.index) out.weights.push_back(prepared_.weights[static_cast<size_t>(row)]);
        scale_weights(out.weights, n_);
        out.kernel_evaluations = factor_->evaluations();
        out.flops = static_cast<double>(n_) * static_cast<double>(out.m) * static_cast<double>(out.m);
        out.report["sweeps"] = static_cast<double>(factor_->sweeps());
        out.factor = std::move(factor_);
        out.findings = std::move(found);
        return std::move(strategy_);
    }

    Strategy exact(const std::string &why) {
        strategy_.tol = tol_;
        conclude(1, "exact passes over the kernel matrix: " + why);
        return std::move(strategy_);
    }

    void conclude(int32_t level, const std::string &text) {
        strategy_.why = text;
        run_.log(level, ("auto: " + text).c_str());
    }

    Run &run_;
    const CoreValues &values_;
    const Prepared &prepared_;
    const Strategies &strategies_;
    int64_t n_;
    const double *weights_;
    Points<T> points_;
    Random pivots_, draws_;
    Costs costs_;
    Shares shares_;
    int64_t most_,      // largest number of columns of the factor
        most_rows_;     // largest number of rows in a sample
    double exact_cost_; // of exact passes, in flops; infinite: they are impossible
    Strategy strategy_;
    std::shared_ptr<PartialCholesky<T>> factor_;
    Outlook outlook_;
    Outlook::Known &known_ = outlook_.known;
    double tol_ = 0;   // of exact passes
    int64_t room_ = 0, // columns for which the factor has reserved memory
        norms_ = 0,    // number of bounds by pairs so far
        samples_ = 0;  // number of bounds by rows so far
    double effort_,    // flops expected for the whole search
        spent_ = 0,    // flops spent so far
        progress_ = 0; // share of the stage that is done
};

} // namespace

Plan plan_exact(PlanTask task, bool f32) {
    Plan plan = plan_weighted(task);
    if (!plan.f32 || f32 || !task.f32) return plan;
    task.f32 = false;
    Plan wide = plan_weighted(task);
    return wide.f32 || wide.bytes > task.budget_left ? plan : wide;
}

void judge_exact(const FitTask &task, const Fitted &fitted, Strategy &strategy) {
    const double worst_share = fitted.lifted.worst_share, accuracy = task.recipe.values().accuracy;
    if (worst_share <= accuracy) return;
    const std::string much = std::isfinite(worst_share) ? format("%.2g", worst_share) : "no accuracy",
                      text = strategy.why + "; residuals certify " + much +
                             format(" instead of %.2g, in %s", accuracy, fitted.plan.f32 ? "f32" : "f64");
    if (task.recipe.values().solver_strict) fail(MERCER_E_NUMERICAL, "auto: %s", text.c_str());
    strategy.proved = false;
    strategy.why = text;
    task.run.log(2, ("auto: " + text).c_str());
}

namespace {

Strategy choose_strategy(const FitTask &task, const Fitted &fitted) {
    const Prepared &prepared = fitted.prepared;
    const Strategies &strategies = fitted.ahead.strategies;
    prepared.kernel.need_psd("the method 'auto'", " ('kpca' does not)");
    return prepared.f32 ? Search<float>(task.run, task.recipe, prepared, strategies).run()
                        : Search<double>(task.run, task.recipe, prepared, strategies).run();
}

} // namespace

void fit_auto(const FitTask &task, Fitted &out) {
    const auto &[run, recipe, data] = task;
    run.stage("reduce");
    Strategy &strategy = out.strategy.emplace(choose_strategy(task, out));
    if (strategy.exact) {
        out.reducer = "all";
        take_centres(task, lift_named("weighted"), reduce(run, recipe, data, out.prepared, out.ahead.stores_factor),
                     out);
        PlanTask exact = plan_task_of(task, out);
        exact.tol = strategy.tol;
        lift_centres(task, plan_exact(exact, strategy.f32), out);
        judge_exact(task, out, strategy);
    } else {
        out.reducer = "rpcholesky";
        take_centres(task, lift_named("projected"), std::move(strategy.reduction), out);
        lift_centres(task, out.lift->plan(plan_task_of(task, out)), out);
    }
    if (!strategy.proved) out.lifted.outcome |= MERCER_NOT_CONVERGED;
}

} // namespace mercer
