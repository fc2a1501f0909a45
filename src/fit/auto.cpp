// `auto` grows a randomly pivoted Cholesky factor until rows of its residual prove that every one of the r eigenvalues is
// right to the accuracy asked for (relative). A larger factor costs more and needs fewer rows: the next size is where what
// is left to do costs least, in the currency of flops at the speed of a matrix product:
//
//   a kernel value          c = 2 d + 15   (15: what the exponential costs; 0.45 ns against 100 Gflop/s in f32, FACTS B3.12)
//   factor from m to m'     n ((m' - m) c + m'^2 - m^2)
//   its projection          n m'^2
//   s rows                  s n (c + 2 p)
//   exact passes            2 n^2 / 2 (c + 4 * 24) where they begin from what is known and stop at this accuracy
//
// How many rows a factor will need follows from the trace of its residual, which each growth gives for nothing: tr ~ m^-a,
// a from the last two sizes, |E|_F ~ tr^1.5 (clusters: tr^1.4 to tr^1.6), theta as at the last projection (rows_expected).
// A step at most doubles the size, then the trace is asked again; only where growing no longer pays is the factor
// projected. Then certificates are tried in order of cost: the trace, the norm of the residual from pairs, rows of it.
//
// delta is spent over norms and over samples, on each half of what is left (certify.h). The size of a sample follows from
// a pilot of 500 rows, or from the sample before, which are left out of it. The exact road is taken when its passes cost
// less than what is left of the other, when the factor would pass the budget, or when the kernel has no more rank. Wrong
// forecasts cost time, never the proof.
#include "auto.h"

#include "components.h"
#include "evidence.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t first_ranks[] = {64, 128}; // two, for the decay of the trace
constexpr int64_t pilot_rows = 500, most_rows = int64_t{1} << 20;
constexpr double least_f32_accuracy = 1e-4; // less drowns in the rounding of an f32 factor (specification 6.5)

struct Costs {
    double n, c; // rows, and a kernel value in flops
    explicit Costs(const Source &source)
        : n(static_cast<double>(source.rows())),
          c(2.0 * static_cast<double>(std::max<int64_t>(source.cols(), 1)) + 15) {}
    double factor(int64_t from, int64_t to) const {
        const double a = static_cast<double>(from), b = static_cast<double>(to);
        return n * ((b - a) * c + b * b - a * a);
    }
    double projection(int64_t m) const { return n * static_cast<double>(m) * static_cast<double>(m); }
    double rows(double s, int64_t columns) const { return s * n * (c + 2.0 * static_cast<double>(columns)); }
    double exact() const { return n * n * (c + 96); }
    // The first look, with a pilot.
    double begun() const {
        return factor(0, first_ranks[1]) + projection(first_ranks[1]) + rows(pilot_rows, padded_columns<float>(1));
    }
};

template <class T>
class Search {
  public:
    Search(Run &run, const Recipe &recipe, const Prepared &prepared)
        : run_(run), values_(recipe.values()), prepared_(prepared), n_(prepared.source->rows()),
          weights_(prepared.weighted() ? prepared.weights.data() : nullptr),
          points_(prepared.source, prepared.map, leaf_specs(prepared.kernel)),
          pivots_(static_cast<uint64_t>(values_.seed), Stage::reducer),
          draws_(static_cast<uint64_t>(values_.seed), Stage::certificate), costs_(*prepared.source),
          shares_(share_failure(values_.delta, Sides::both)) {
        road_.report = {{"accuracy", values_.accuracy}, {"looks", Json::array()}};
    }

    Road run() {
        if (sizeof(T) == 4 && values_.accuracy < least_f32_accuracy)
            return exact(format("a factor in f32 proves no accuracy below %g", least_f32_accuracy));
        if (!prepared_.squares_hold) return exact("f64 does not hold the squares of kernel values");
        most_ = most_rank();
        if (most_ < 1) return exact("the memory budget holds no factor");
        if (costs_.exact() <= costs_.begun()) return exact("so few rows are cheaper to look at whole");
        const PivotRows all{prepared_.source, prepared_.map, prepared_.kernel, nullptr, n_, prepared_.weights.data()};
        factor_ = std::make_shared<PartialCholesky<T>>(run_, all, std::min(first_ranks[1], most_));
        for (int64_t m : first_ranks) grow(std::min(m, most_));
        if (factor_->count() == 0) return exact("all kernel values are 0");
        for (int64_t number = 1;; ++number) {
            auto found = std::make_shared<Findings>();
            const bool proved = step([&] { return look(*found, number); });
            if (proved) return projected(std::move(found));
            if (at_end())
                return exact(factor_->rank_reached() ? "the factor has no more rank"
                                                     : "the memory budget holds no larger factor");
            if (known_.m != factor_->count()) return exact("what varies is no more than rounding");
            if (!advance()) return exact("exact passes cost less than a larger factor");
        }
    }

  private:
    struct Size {
        int64_t m;
        double cost; // of all that is left to do from here
    };
    // What the last look leaves for forecasts.
    struct Known {
        int64_t m = 0, r = 0;
        double trace = 0, norm = 0, target = 0;
        RitzSpectrum all;
        double correction = 1; // rows needed over rows expected
    };
    struct Sample {
        int64_t p, s;
    };

    // The largest factor that fits, with as much again for what is done with it.
    int64_t most_rank() const {
        const int64_t left = run_.budget()->left() - 8 * n_ * (4 * foreseen_components(values_, n_) + 48);
        return std::min(n_, std::max<int64_t>(left, 0) / (3 * n_ * static_cast<int64_t>(sizeof(T))));
    }
    bool at_end() const { return factor_->rank_reached() || factor_->count() >= most_; }
    double left() const { return factor_->trace_left() * factor_->trace(); }

    // How many there will be is not known: each takes half of the progress that is left.
    template <class Body>
    auto step(Body &&body) {
        Run::Span span(run_, 1 - std::ldexp(1, -steps_), 1 - std::ldexp(1, -steps_ - 1));
        ++steps_;
        return body();
    }

    void grow(int64_t m) {
        const double before = static_cast<double>(factor_->count()), trace = left();
        step([&] { factor_->grow_sampled({m}, pivots_); });
        if (before > 0 && left() > 0)
            decay_ = std::clamp(std::log(trace / left()) / std::log(static_cast<double>(m) / before), 0.1, 20.0);
    }

    // Directions and rows that should prove the accuracy where the residual has this trace; s > most_rows: none do.
    Sample expected(double trace) const {
        RitzSpectrum all = known_.all;
        all.trace = trace;
        const double norm = known_.norm * std::pow(trace / known_.trace, 1.5);
        Sample out{0, 4000};
        for (int round = 0; round < 2; ++round) {
            out.p = choose_width(all, norm, known_.r, std::min(out.s, most_rows), next_failure(), Sides::both);
            out.s = rows_expected(leading(all, out.p), norm, next_failure(), Sides::both, known_.r, known_.target,
                                  most_rows);
        }
        return out;
    }

    // Of the sizes from `least` on, the one where what is left to do costs least; infinite where no size will do.
    Size cheapest(int64_t least) const {
        Size best{least, INFINITY};
        for (int64_t m = least;; m = std::min(most_, m + (m + 7) / 8)) {
            const double grown = static_cast<double>(m) / static_cast<double>(factor_->count());
            const Sample sample = expected(left() * std::pow(grown, -decay_));
            const double s = known_.correction * static_cast<double>(sample.s),
                         fixed = costs_.factor(factor_->count(), m) + (m == known_.m ? 0 : costs_.projection(m)),
                         cost = sample.s > most_rows ? INFINITY : fixed + costs_.rows(s, padded_columns<T>(sample.p));
            if (cost < best.cost) best = {m, cost};
            if (m == most_ || fixed > std::min(best.cost, costs_.exact())) return best;
        }
    }

    // Grows to where growing no longer pays; false: exact passes are cheaper.
    bool advance() {
        int64_t least = std::min(most_, factor_->count() * 9 / 8 + 1);
        for (;;) {
            const Size next = cheapest(least);
            if (next.cost >= costs_.exact()) return false;
            if (next.m == factor_->count()) return true;
            int64_t m = next.m;
            if (m > room_ && m <= room_ + room_ / 4 && room_ > factor_->count()) m = room_; // more is a copy of all
            run_.log(1, format("auto: %" PRId64 " rows, about %" PRId64 " will do", factor_->count(), m).c_str());
            room_ = std::max(room_, m);
            factor_->reserve(room_);
            grow(std::min(m, 2 * factor_->count()));
            if (at_end()) return true;
            least = factor_->count();
        }
    }

    // Tries to prove the accuracy with the factor there is; false: not, or not for less than a larger one would cost.
    bool look(Findings &found, int64_t number) {
        const SpanRows<T> span(*factor_);
        const int64_t m = factor_->count();
        const Components choice(values_, m);
        const int64_t ask = choice.ask();
        found.projection = project(run_, span, weights_, values_.lift_centred != 0, std::min(m, 2 * ask + 20));
        const Projection &projection = found.projection;
        Proof &proof = found.proof;
        // Components that are more than rounding; of those, what is asked for.
        const int64_t rank = std::min(ask, projection.above(std::max(projection.floor, 1e-7 * projection.theta[0])));
        if (rank == 0 && factor_->rank_reached()) return true; // nothing varies
        const int64_t r = std::max<int64_t>(choice.kept(projection.theta, rank, projection.trace, nullptr), 1);
        Evidence<T> evidence(run_, prepared_.kernel, points_, span, projection, weights_, draws_, number);
        Json entry = {{"m", m}};
        const bool enough = decide(evidence, proof, entry, r);
        proof.evaluations = evidence.evaluations();
        entry["proved"] = proof.bounds.worst_share(r);
        run_.log(1, ("auto: " + entry.dump()).c_str());
        road_.report["looks"].push_back(std::move(entry));
        return enough;
    }
    bool enough(const Proof &proof, int64_t r) const { return proof.bounds.worst_share(r) <= values_.accuracy; }
    double next_failure() const { return look_failure(shares_.rows, samples_ + 1); }

    bool decide(Evidence<T> &evidence, Proof &proof, Json &entry, int64_t r) {
        const RitzSpectrum first = evidence.spectrum(r);
        proof.trace = first.total();
        proof.bounds = trace_bounds(first);
        entry["trace"] = proof.bounds.worst_share(r);
        const double target = values_.accuracy * first.theta.back();
        tol_ = std::max(0.0, target / first.theta[0] / 4);
        proof.sines = subspace_sines(first, nullptr, proof.trace, proof.bounds, 0, Sides::both, r);
        if (enough(proof, r)) return true;
        const double failure = look_failure(shares_.pairs, ++norms_);
        proof.norm_failure = shares_.pairs - failure; // spent so far: the best of all looks is what is claimed
        proof.norm = std::min(proof.trace, evidence.norm(failure));
        const Bounds by_norm = norm_bounds(first, proof.norm, proof.norm_failure);
        entry["norm"] = by_norm.worst_share(r);
        if (by_norm.worst_share(r) < proof.bounds.worst_share(r)) proof.bounds = by_norm;
        proof.sines = subspace_sines(first, nullptr, proof.norm, proof.bounds, 0, Sides::both, r);
        if (enough(proof, r)) return true;
        if (!(target > 0)) return false;
        known_ = {factor_->count(), r, left(), proof.norm, target, evidence.spectrum(evidence.known()), 1};
        const Size next = cheapest(factor_->count());
        return next.m == factor_->count() && next.cost < costs_.exact() && by_rows(evidence, proof, entry);
    }

    bool by_rows(Evidence<T> &evidence, Proof &proof, Json &entry) {
        const auto [p, forecast] = expected(known_.trace);
        const RitzSpectrum spectrum = leading(known_.all, p);
        const int64_t r = known_.r;
        entry["directions"] = p;
        for (int64_t s = pilot_rows;;) {
            const RowMoments moments = evidence.rows(p, s);
            const bool pilot = !entry.contains("needed");
            if (!pilot) {
                const double failure = next_failure();
                ++samples_;
                Bounds sharp = row_bounds(spectrum, moments, proof.norm, failure, Sides::both);
                sharp.failure = shares_.rows - failure; // spent so far
                entry["rows"] = s;
                if (!sharp.consistent) return false;
                if (sharp.worst_share(r) < proof.bounds.worst_share(r)) proof.bounds = sharp;
                if (enough(proof, r)) {
                    proof.sines = subspace_sines(spectrum, &moments, proof.norm, proof.bounds, failure, Sides::both, r);
                    return true;
                }
            }
            const int64_t needed = rows_needed(spectrum, moments, proof.norm, next_failure(), Sides::both, r,
                                               0.9 * known_.target, most_rows);
            entry["needed"] = needed;
            s = pilot ? needed : std::max(needed, s + s / 4);
            known_.correction = static_cast<double>(needed) / static_cast<double>(forecast);
            const Size next = cheapest(factor_->count());
            if (needed > most_rows || next.m != factor_->count() || next.cost >= costs_.exact()) return false;
        }
    }

    Road projected(std::shared_ptr<Findings> found) {
        road_.exact = false;
        const Proof &proof = found->proof;
        say(proof.r() == 0 ? std::string("the data have no variance")
                           : format("projection on %" PRId64 " rows: %s prove %.2g of %.2g", factor_->count(),
                                    proof.bounds.kind, proof.bounds.worst_share(proof.r()), values_.accuracy));
        Reduction &out = road_.reduction;
        out.index.assign(factor_->index(), factor_->index() + factor_->count());
        out.m = factor_->count();
        for (int64_t row : out.index) out.weights.push_back(prepared_.weights[static_cast<size_t>(row)]);
        scale_weights(out.weights, n_);
        out.kernel_evaluations = factor_->evaluations();
        out.flops = static_cast<double>(n_) * static_cast<double>(out.m) * static_cast<double>(out.m);
        out.report["sweeps"] = static_cast<double>(factor_->sweeps());
        out.factor = std::move(factor_);
        out.findings = std::move(found);
        return std::move(road_);
    }

    Road exact(const std::string &why) {
        road_.tol = tol_;
        say("exact passes over the kernel matrix: " + why);
        return std::move(road_);
    }

    void say(const std::string &text) {
        road_.report["taken"] = road_.exact ? "exact" : "projected";
        road_.report["why"] = text;
        run_.log(1, ("auto: " + text).c_str());
    }

    Run &run_;
    const CoreValues &values_;
    const Prepared &prepared_;
    int64_t n_;
    const double *weights_;
    Points<T> points_;
    Random pivots_, draws_;
    Costs costs_;
    Shares shares_;
    Road road_;
    std::shared_ptr<PartialCholesky<T>> factor_;
    Known known_;
    double decay_ = 1,
           tol_ = 0; // tol_: residuals of accuracy lambda_r are enough, more than enough where values lie apart
    int64_t most_ = 0, room_ = 0, norms_ = 0, samples_ = 0;
    int steps_ = 0;
};

} // namespace

// A sample may be as large as costs no more than exact passes, and follow smaller ones, a quarter more each time; the factor
// grows by an eighth at the least, to n columns at the most.
void foresee_road(const Source &source, bool f32, Forecast &ahead) {
    constexpr double rank = 512, rows = 500; // of a typical proof, one look's pilot and pairs beside them
    const Costs costs(source);
    mercer_forecast &exact = ahead.figures;
    const double n = costs.n, pairs = Evidence<double>::pairs,
                 looks = 1 + std::log(std::max(n / static_cast<double>(first_ranks[0]), 1.0)) / std::log(9.0 / 8),
                 largest = std::min(static_cast<double>(most_rows), n * (1 + 96 / costs.c)),
                 drawn = 5 * largest + static_cast<double>(pilot_rows);
    exact.kernel_evaluations.most +=
        static_cast<double>(PartialCholesky<double>::evaluations(source.rows(), source.rows())) +
        looks * (n * drawn + pairs);
    exact.flops.most +=
        flops_of(source, n, exact.kernel_evaluations.most, 0) + 3 * n * n * n + looks * n * drawn * 1024;
    if (costs.exact() <= costs.begun()) return;
    exact.kernel_evaluations.likely = n * (rank + rows) + pairs;
    exact.passes.likely = 0;
    exact.flops.likely = flops_of(source, n, exact.kernel_evaluations.likely, 0) + 3 * n * rank * rank;
    exact.bytes.likely = std::min(exact.bytes.most, n * rank * 1.5 * (f32 ? 4 : 8) + 8 * n * 64);
    exact.streams = 1;
    for (auto &[stage, cost] : ahead.stages)
        if (stage == std::string_view("reduce")) cost = exact.flops.likely * (f32 ? 1 : 2);
}

Road choose_road(Run &run, const Recipe &recipe, const Prepared &prepared) {
    if (!prepared.kernel.is_psd())
        fail(MERCER_E_UNSUPPORTED,
             "kernel = %s: the method 'auto' needs a positive semi-definite kernel ('kpca' does not)",
             prepared.kernel.text().c_str());
    return prepared.f32 ? Search<float>(run, recipe, prepared).run() : Search<double>(run, recipe, prepared).run();
}

} // namespace mercer
