// `auto` grows a randomly pivoted Cholesky factor by doubling, and after each step asks what would prove that every one of
// the r eigenvalues is right to the accuracy asked for (relative; delta is spent over the looks, certify.h): the trace, then
// the norm of the residual from pairs, then rows of it. How many rows that takes is estimated before any is drawn, then
// from a pilot of 500; sizes are 500 times a power of 2, each of which could have been the last look (certify.h). Then the
// cheapest goes on, in the currency of flops at the speed of a matrix product:
//
//   a kernel value    c = 2 d + 15   (15: what the exponential costs; 0.45 ns against 100 Gflop/s in f32, FACTS B3.12)
//   s rows            s n (c + 2 p)
//   doubling m        n (m c + 9/2 m^2)      factor from m to 2 m, and its projection
//   exact passes      2 n^2 / 2 (c + 4 * 24) where they begin from what is known and stop at this accuracy
//
// The exact road is taken when its passes cost less than what is left of the other, when the factor would pass the budget,
// or when the kernel has no more rank. Wrong forecasts cost time, never the proof.
#include "auto.h"

#include "components.h"
#include "evidence.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t first_rank = 128, pilot_rows = 500, sizes = 8;

struct Costs {
    double n, c; // rows, and a kernel value in flops
    explicit Costs(const Source &source)
        : n(static_cast<double>(source.rows())),
          c(2.0 * static_cast<double>(std::max<int64_t>(source.cols(), 1)) + 15) {}
    double rows(int64_t s, int64_t p) const { return static_cast<double>(s) * n * (c + 2.0 * static_cast<double>(p)); }
    double doubling(int64_t m) const {
        const double order = static_cast<double>(m);
        return n * (order * c + 4.5 * order * order);
    }
    double exact() const { return n * n * (c + 96); }
};

template <class T>
class Search {
  public:
    Search(Run &run, const Recipe &recipe, const Prepared &prepared)
        : run_(run), values_(recipe.values()), prepared_(prepared), n_(prepared.source->rows()),
          weights_(prepared.weighted() ? prepared.weights.data() : nullptr),
          points_(prepared.source, prepared.map, leaf_specs(prepared.kernel)),
          pivots_(static_cast<uint64_t>(values_.seed), Stage::reducer),
          draws_(static_cast<uint64_t>(values_.seed), Stage::certificate), costs_(*prepared.source) {}

    Road run() {
        Road road;
        road.report = {{"accuracy", values_.accuracy}, {"looks", Json::array()}};
        const PivotRows all{prepared_.source, prepared_.map, prepared_.kernel, nullptr, n_, prepared_.weights.data()};
        int64_t m = std::min(first_rank, most_rank());
        if (m < 1 || costs_.exact() <= costs_.doubling(first_rank))
            return exact(road,
                         m < 1 ? "the memory budget holds no factor" : "so few rows are cheaper to look at whole");
        auto factor = std::make_shared<PartialCholesky<T>>(run_, all, m);
        self_ = run_.buffer<double>(n_);
        self_values(run_, Tiles<T>(prepared_.kernel, points_, points_), self_.data());
        for (int64_t look = 1;; ++look) {
            Run::Span span(run_, 1 - 1.0 / static_cast<double>(look), 1 - 1.0 / static_cast<double>(look + 1));
            {
                Run::Span growing(run_, 0, 0.4);
                factor->grow_sampled({m}, pivots_);
            }
            Run::Span looking(run_, 0.4, 1);
            if (factor->count() == 0) return exact(road, "all kernel values are 0");
            const SpanRows<T> rows(*factor);
            auto found = std::make_shared<Findings>();
            const Components choice(values_, factor->count());
            const int64_t ask = choice.ask();
            found->projection = project(run_, rows, self_.data(), weights_, values_.lift_centred != 0,
                                        std::min(factor->count(), 2 * ask + 20));
            const Projection &seen = found->projection;
            int64_t rank = 0; // above rounding; of those, what is asked for
            while (rank < std::min(ask, seen.count()) && seen.theta[static_cast<size_t>(rank)] > 1e-7 * seen.theta[0])
                ++rank;
            const int64_t r = std::max<int64_t>(choice.kept(seen.theta, rank, seen.trace, nullptr), 1);
            const bool last = factor->rank_reached() || 2 * m > most_rank();
            if (this->look(road, *found, rows, look, m, r, last)) return projected(road, factor, found);
            const double more = costs_.doubling(m) + wanted_ / 2; // a larger factor needs fewer rows
            if (factor->rank_reached() || 2 * m > most_rank() || costs_.exact() <= more) {
                tol_from(found->projection, r, road);
                return exact(road, factor->rank_reached() ? "the factor has no more rank"
                                   : 2 * m > most_rank()  ? "the memory budget holds no larger factor"
                                                          : "exact passes cost less than a larger factor");
            }
            m *= 2;
        }
    }

  private:
    // The largest factor that fits, with as much again for what is done with it.
    int64_t most_rank() const {
        const int64_t left = run_.budget()->left() - 8 * n_ * (4 * foreseen_components(values_, n_) + 48);
        return std::min(n_, std::max<int64_t>(left, 0) / (3 * n_ * static_cast<int64_t>(sizeof(T))));
    }

    // Tries to prove the accuracy with what there is; false: not, or not for less than a larger factor would cost.
    bool look(Road &road, Findings &found, const SpanRows<T> &span, int64_t number, int64_t m, int64_t r, bool last) {
        const Projection &projection = found.projection;
        Proof &proof = found.proof;
        const double target = values_.accuracy * projection.theta[static_cast<size_t>(r - 1)];
        const double delta = look_failure(values_.delta, number, sizes);
        const Shares shares = share_failure(delta, Sides::both);
        Evidence<T> evidence(run_, prepared_.kernel, points_, span, projection, weights_, draws_, number);
        const RitzSpectrum first = evidence.spectrum(r);
        proof.theta.assign(projection.theta.begin(), projection.theta.begin() + r);
        proof.trace = first.total();
        proof.bounds = trace_bounds(first);
        Json entry = {{"m", m}, {"trace", proof.bounds.worst_share(r)}};
        auto decided = [&](bool enough) {
            entry["proved"] = proof.bounds.worst_share(r);
            road.report["looks"].push_back(entry);
            proof.evaluations = evidence.evaluations();
            return enough;
        };
        if (proof.bounds.worst_share(r) <= values_.accuracy) return decided(true);
        proof.norm_failure = shares.pairs;
        proof.norm = std::min(proof.trace, evidence.norm(shares.pairs));
        const Bounds by_norm = norm_bounds(first, proof.norm, shares.pairs);
        entry["norm"] = by_norm.worst_share(r);
        if (by_norm.worst_share(r) < proof.bounds.worst_share(r)) proof.bounds = by_norm;
        if (by_norm.worst_share(r) <= values_.accuracy) return decided(true);
        if (!(target > 0)) return decided(false);

        const RitzSpectrum all = evidence.spectrum(projection.count());
        const int64_t guess = std::min(first_sample(leading(all, r), target, shares.rows, Sides::both), n_);
        const int64_t p = choose_width(all, proof.norm, r, guess, shares.rows, Sides::both);
        wanted_ = costs_.rows(first_sample(leading(all, p), target, shares.rows, Sides::both), p);
        const double larger = std::min(costs_.doubling(m) + wanted_ / 2, costs_.exact());
        const RitzSpectrum spectrum = leading(all, p);
        if (wanted_ > 2 * larger && !last) return decided(false);
        int64_t s = std::min(pilot_rows, n_);
        RowMoments moments = evidence.rows(p, s);
        const int64_t needed = rows_needed(spectrum, moments, proof.norm, shares.rows, Sides::both, r, 0.9 * target,
                                           pilot_rows << (sizes - 1));
        while (s < needed && s < pilot_rows << (sizes - 1)) s *= 2;
        entry["pilot_says"] = needed;
        wanted_ = costs_.rows(needed, p);
        if (needed > s || (costs_.rows(s, p) > larger && !last) || costs_.rows(s, p) > costs_.exact())
            return decided(false);
        moments = evidence.rows(p, s);
        const Bounds sharp = row_bounds(spectrum, moments, proof.norm, shares.rows, Sides::both);
        entry["rows"] = s;
        entry["directions"] = p;
        if (sharp.consistent && sharp.worst_share(r) < proof.bounds.worst_share(r)) proof.bounds = sharp;
        const bool enough = proof.bounds.worst_share(r) <= values_.accuracy;
        if (enough)
            proof.sines = subspace_sines(spectrum, &moments, proof.norm, proof.bounds, shares.rows, Sides::both, r);
        return decided(enough);
    }

    // Residuals of accuracy lambda_r are enough, and more than enough where eigenvalues lie apart.
    void tol_from(const Projection &projection, int64_t r, Road &road) const {
        const double last = projection.theta[static_cast<size_t>(r - 1)];
        road.tol = std::max(0.0, values_.accuracy * last / projection.theta[0] / 4);
    }

    Road projected(Road &road, std::shared_ptr<PartialCholesky<T>> factor, std::shared_ptr<Findings> found) {
        road.exact = false;
        if (found->proof.sines.own.empty()) {
            const int64_t r = static_cast<int64_t>(found->proof.theta.size());
            found->proof.sines.own.assign(static_cast<size_t>(r), 1.0);
            found->proof.sines.span = found->proof.sines.own;
        }
        say(road,
            format("projection on %" PRId64 " rows: %s prove %.2g of %.2g", factor->count(), found->proof.bounds.kind,
                   found->proof.bounds.worst_share(static_cast<int64_t>(found->proof.theta.size())), values_.accuracy));
        Reduction &out = road.reduction;
        out.index.assign(factor->index(), factor->index() + factor->count());
        out.m = factor->count();
        double sum = 0;
        for (int64_t row : out.index)
            out.weights.push_back(prepared_.weights[static_cast<size_t>(row)]), sum += out.weights.back();
        for (double &weight : out.weights) weight = weight / sum * static_cast<double>(n_);
        out.kernel_evaluations = factor->evaluations();
        out.flops = static_cast<double>(n_) * static_cast<double>(out.m) * static_cast<double>(out.m);
        out.report["sweeps"] = static_cast<double>(factor->sweeps());
        out.factor = std::move(factor);
        found->self_values = std::move(self_);
        out.findings = std::move(found);
        return std::move(road);
    }

    Road exact(Road &road, const char *why) {
        road.exact = true;
        say(road, format("exact passes over the kernel matrix: %s", why));
        return std::move(road);
    }

    void say(Road &road, const std::string &text) {
        road.report["taken"] = road.exact ? "exact" : "projected";
        road.report["why"] = text;
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
    Buffer<double> self_;
    double wanted_ = 0; // what rows at the last look would have cost
};

} // namespace

// Each look may draw as many rows as cost no more than exact passes; of the factor there are at most n columns.
void foresee_road(const Source &source, bool f32, Forecast &ahead) {
    constexpr double rank = 512, rows = 500; // of a typical proof, one look's pilot and pairs beside them
    const Costs costs(source);
    mercer_forecast &exact = ahead.figures;
    const double n = costs.n, looks = 1 + std::log2(std::max(n / first_rank, 1.0)), pairs = Evidence<double>::pairs,
                 most_rows = std::min<double>(pilot_rows << (sizes - 1), n * (1 + 96 / costs.c)) + pilot_rows;
    exact.kernel_evaluations.most +=
        static_cast<double>(PartialCholesky<double>::evaluations(source.rows(), source.rows())) +
        looks * (n * most_rows + pairs);
    exact.flops.most +=
        flops_of(source, n, exact.kernel_evaluations.most, 0) + 3 * n * n * n + looks * n * most_rows * 1024;
    if (costs.exact() <= costs.doubling(first_rank)) return;
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
