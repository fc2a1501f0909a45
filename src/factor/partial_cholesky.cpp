// Pivoted partial Cholesky K ~ L L^T in rounds: pivots are chosen among a block of candidates whose
// residual is exact, and then one sweep over all rows appends their columns (sweep.cpp). K is never
// formed or updated. m pivots of n rows cost n m kernel values and n m^2 flops. Residuals among
// candidates take at most n (m + 32)/4 values more, and in f32, or if columns are recomputed, the
// candidates' rows of L take some, too (rounds.cpp). The memory is n m numbers for a stored factor,
// and m^2 for the triangle of the pivots in f32 or if columns are recomputed (columns.cpp).
//
// Greedy (Fine & Scheinberg, JMLR 2 (2001); Franc & Hlavac, CAIP (2003)). Residual diagonals can
// only decrease, so their values from before the round are upper bounds. The rows of largest d are
// the candidates. As long as the best exact residual among them is no less than the largest bound
// of any other row, it is the best of all. This takes about m/35 sweeps (measured).
//
// Sampled (Epperly, Tropp & Webber, Embrace rejection, arXiv 2410.03969, accelerated RPCholesky;
// the distribution is that of Chen et al., Randomly pivoted Cholesky, CPAM 2025). Candidates are
// drawn independently with probability w d / sum w d. In order, each is accepted with probability
// (its present d) / (its d at the draw), until enough are accepted. This thinning gives the
// accepted rows the distribution of rows that are drawn one by one. Later candidates of a round are
// discarded; this does not change the distribution, because they are independent of the earlier
// ones. This takes about m/128 sweeps.
//
// The floor. Kernel values in the tile's type have errors of a few u max k(x, x), so the column of
// a pivot with residual d has errors of a few u / root(d), which add u^2 / d to the residual of
// every row. At d = u this equals the rounding of k(x, x) itself; at a smaller d, a column adds
// more noise than it explains. Therefore, under all rules, no row becomes a pivot whose d is at
// most max(u, 1e-10) max k(x, x); if no other row is left, the rank is reached. The d of a
// candidate is accurate enough for this decision because it is computed in f64 (rounds.cpp), while
// the d of all other rows has errors of a few u max k(x, x). A row that is wrongly taken as a
// candidate is detected in a round and dropped. The rank also counts as reached after eight rounds
// in succession without a pivot.
//
// A d far below 0 arises from rounding or from a kernel that is not positive semi-definite. It is
// an error only if rounding provably cannot explain it (check_definite).
#include "partial_cholesky.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <optional>

namespace mercer {

// The Cholesky factor of the candidates accepted so far, which grows by one row at a time in the
// triangle of the round. The row after the accepted ones serves as workspace for the candidate
// under test.
template <class T>
class PartialCholesky<T>::Border {
  public:
    Border(Round &round, const Candidates &block) : round_(round), residual_(block.residual), b_(block.count()) {}

    // Returns the residual d of candidate p after the rows accepted so far.
    double left(int64_t p) {
        double *g = round_.row(count()), sum = 0;
        for (int64_t k = 0; k < count(); ++k) {
            const double *l = round_.row(k);
            double value = residual_[p * b_ + round_.places[static_cast<size_t>(k)]];
            for (int64_t q = 0; q < k; ++q) value -= g[q] * l[q];
            g[k] = value / l[k];
            sum += g[k] * g[k];
        }
        return std::max(residual_[p * b_ + p] - sum, 0.0);
    }
    // Accepts candidate p; left(p) must have been called before and returned d > 0.
    void take(int64_t p, int64_t row, double d) {
        round_.row(count())[count()] = std::sqrt(d);
        round_.places.push_back(p);
        round_.rows.push_back(row);
    }
    bool taken(int64_t p) const {
        return std::find(round_.places.begin(), round_.places.end(), p) != round_.places.end();
    }

  private:
    int64_t count() const { return round_.count(); }
    Round &round_;
    const Buffer<double> &residual_;
    int64_t b_;
};

template <class T>
PartialCholesky<T>::PartialCholesky(Run &run, const KernelRows &rows, int64_t capacity, Factor kind)
    : run_(run), rows_(rows), kind_(kind),
      points_(rows.numbers ? Points<T>(rows.source, rows.map, leaf_specs(rows.kernel), rows.numbers, rows.n)
                           : Points<T>(rows.source, rows.map, leaf_specs(rows.kernel))),
      residual_(run.buffer<double>(rows.n)) {
    rows.kernel.need_psd("pivoted Cholesky");
    points_.lean();
    {
        Run::Span span(run_, 0, 0);
        start();
    }
    for (int64_t i = 0; i < n(); ++i) {
        if (residual_[i] < -relative_floor(0) * scale_)
            fail(MERCER_E_NUMERICAL, "kernel = %s is not positive semi-definite: k(x, x) of row %" PRId64 " is %g",
                 rows.kernel.text().c_str(), i, residual_[i]);
        residual_[i] = std::max(residual_[i], 0.0);
    }
    reserve(std::max<int64_t>(capacity, 1));
    TileBytes tiles;
    points_.measure(tiles);
    const int64_t ready = tiles.stored(blocks_of(n()), n());
    if (stored() && ready <= std::min(factor_.bytes() / panels_share, run.budget()->left() / 4))
        panels_.resize(static_cast<size_t>(blocks_of(n())));
}

template <class T>
bool PartialCholesky<T>::reached(const PivotStop &stop, double residual_sum, double largest) const {
    return (stop.mse > 0 && residual_sum <= stop.mse * weight_sum_) || (stop.maxerr > 0 && largest <= stop.maxerr) ||
           (stop.trace > 0 && residual_sum <= stop.trace * trace_);
}

// Returns how many of the wanted candidates the remaining allowance for residual blocks permits.
template <class T>
int64_t PartialCholesky<T>::affordable(int64_t candidates) const {
    const double left = static_cast<double>(allowance(n(), count()) - spent_);
    return std::clamp<int64_t>(static_cast<int64_t>(std::sqrt(std::max(left, 0.0))), 1, candidates);
}

// Adds rounds of pivots until `stop` holds or the rank is reached. choose(limit) returns the next
// round, of at most `limit` pivots; the limit is the number of pivots still missing, or
// most_accepted if that is smaller.
template <class T>
template <class Choose>
void PartialCholesky<T>::grow(const PivotStop &stop, Choose &&choose) {
    const int64_t most = std::min(stop.m, n());
    constexpr int64_t patience = 8;
    int64_t in_vain = 0;
    rank_reached_ = false;
    while (count() < most && !(count() > 0 && reached(stop))) {
        auto share = [&](int64_t pivots) { return static_cast<double>(pivots) / static_cast<double>(most); };
        std::optional<Round> round;
        {
            Run::Span span(run_, share(count()), share(count()));
            run_.progress(1);
            // Kernel values that are evaluated only to recompute columns are counted in again_, not
            // in spent_, which limits the candidates. So the pivots do not depend on whether the
            // factor is stored.
            const int64_t before = evaluations_;
            round = choose(std::min(most - count(), most_accepted));
            spent_ += evaluations_ - before;
        }
        if (round->rows.empty()) {
            rank_reached_ = ++in_vain == patience || largest_rows(1).empty();
            if (rank_reached_) break;
            continue;
        }
        in_vain = 0;
        const int64_t next = count() + round->count();
        if (next > capacity_) {
            Run::Span span(run_, share(count()), share(count()));
            reserve(stop.early() ? std::min(most, std::max(next, 2 * capacity_)) : most);
        }
        Run::Span span(run_, share(count()), share(next));
        add(*round, stop);
    }
}

template <class T>
void PartialCholesky<T>::grow_greedy(const PivotStop &stop) {
    const int64_t wanted = greedy_candidates(stop.m);
    read_contents();
    grow(stop, [&](int64_t most) { return choose_greedy(most, affordable(std::min(wanted, n()))); });
}

template <class T>
void PartialCholesky<T>::grow_sampled(const PivotStop &stop, const Random &random) {
    const int64_t enough = enough_accepted(stop.m);
    grow(stop, [&](int64_t most) {
        // The missing pivots are divided among rounds of nearly equal size.
        const int64_t left = std::min(stop.m, n()) - count(), rounds = (left + enough - 1) / enough;
        const int64_t draws = (count() == 0 ? first_draws : later_draws) * enough;
        return choose_sampled(std::min(most, (left + rounds - 1) / rounds), affordable(draws), random);
    });
}

// Returns the rows of largest d among those that may become pivots, at most `wanted`, in descending
// order of d.
template <class T>
std::vector<int64_t> PartialCholesky<T>::largest_rows(int64_t wanted) const {
    auto before = [&](int64_t i, int64_t j) {
        return residual_[i] != residual_[j] ? residual_[i] > residual_[j] : precedes(i, j);
    };
    // A heap whose top is the last of its rows in this order.
    std::vector<int64_t> heap;
    const double least = floor(count());
    for (int64_t i = 0; i < n(); ++i) {
        if (!(residual_[i] > least) || weight(i) == 0) continue;
        if (static_cast<int64_t>(heap.size()) == wanted) {
            if (!before(i, heap[0])) continue;
            std::pop_heap(heap.begin(), heap.end(), before);
            heap.pop_back();
        }
        heap.push_back(i);
        std::push_heap(heap.begin(), heap.end(), before);
    }
    std::sort_heap(heap.begin(), heap.end(), before);
    return heap;
}

// Returns the first row, in the order of precedes(), among the rows that may become pivots, have a d
// that ties with `score`, and are not in `sorted`; -1 if there is none. `sorted` must be in the order
// of precedes(), too.
template <class T>
int64_t PartialCholesky<T>::first_tied(double score, const std::vector<int64_t> &sorted) const {
    auto before = [&](int64_t i, int64_t j) { return precedes(i, j); };
    int64_t first = -1;
    for (int64_t i = 0; i < n(); ++i)
        if (residual_[i] >= pivot_tie * score && candidate(i) && (first < 0 || precedes(i, first)) &&
            !std::binary_search(sorted.begin(), sorted.end(), i, before))
            first = i;
    return first;
}

template <class T>
typename PartialCholesky<T>::Round PartialCholesky<T>::choose_greedy(int64_t most, int64_t candidates) {
    Round round(run_, most);
    std::vector<int64_t> rows = largest_rows(candidates + 1);
    if (rows.empty()) return round;
    const int64_t first = first_tied(residual_[rows[0]], {});
    // The row of largest d outside the candidates; -1: all rows are candidates.
    int64_t next = -1;
    if (static_cast<int64_t>(rows.size()) > candidates) next = rows.back(), rows.pop_back();
    if (std::find(rows.begin(), rows.end(), first) == rows.end()) next = rows.back(), rows.back() = first;
    std::sort(rows.begin(), rows.end(), [&](int64_t i, int64_t j) { return precedes(i, j); });
    const double bound = next < 0 ? -1 : residual_[next];
    // The first row outside the candidates whose d ties with the bound. Where the best residual and
    // the bound tie, a candidate is the best row only if it precedes this one.
    const int64_t tied_outside = next < 0 ? -1 : first_tied(bound, rows);

    // No row outside the candidates has a residual above the bound. The first pivot needs no test:
    // it is the best of all rows, because all d are exact at the start of a round.
    take_largest(round, rows, most, [&](int64_t row, double best) {
        return bound < pivot_tie * best || (bound <= best && (tied_outside < 0 || precedes(row, tied_outside)));
    });
    return round;
}

// Takes the given row of largest residual (the first one on a tie), then the row of largest
// residual after that, and so on, up to `most` rows. Before each row but the first it asks
// go(row, largest residual), and it ends if this is false.
template <class T>
template <class Go>
void PartialCholesky<T>::take_largest(Round &round, std::vector<int64_t> rows, int64_t most, Go &&go) {
    const Candidates block = candidates(std::move(rows));
    const Buffer<double> &residual = block.residual;
    const int64_t b = block.count();
    Buffer<double> columns = run_.buffer<double>(most, b), d = run_.buffer<double>(b);
    for (int64_t i = 0; i < b; ++i) d[i] = residual[i * b + i];
    for (int64_t k = 0; k < most; ++k) {
        const double least = floor(count() + k);
        const double best = *std::max_element(d.begin(), d.end());
        if (!(best > least)) break;
        int64_t p = 0;
        while (!(d[p] > least && d[p] >= pivot_tie * best)) ++p;
        const int64_t row = block.rows[static_cast<size_t>(p)];
        if (k > 0 && !go(row, best)) break;
        double *column = columns.data() + k * b;
        std::copy_n(residual.data() + p * b, b, column);
        for (int64_t q = 0; q < k; ++q) {
            const double *earlier = columns.data() + q * b, factor = earlier[p];
            for (int64_t i = 0; i < b; ++i) column[i] -= factor * earlier[i];
        }
        const double root = std::sqrt(d[p]);
        for (int64_t i = 0; i < b; ++i) {
            column[i] /= root;
            d[i] = std::max(d[i] - column[i] * column[i], 0.0);
        }
        column[p] = root;
        d[p] = 0;
        round.places.push_back(p);
        for (int64_t q = 0; q <= k; ++q) round.row(k)[q] = columns[q * b + p];
        round.rows.push_back(row);
    }
    settle(round, block);
}

template <class T>
typename PartialCholesky<T>::Round PartialCholesky<T>::choose_sampled(int64_t most, int64_t draws,
                                                                      const Random &random) {
    Round round(run_, most);
    Buffer<double> until = run_.buffer<double>(n()); // cumulative sums of w d
    double sum = 0;
    int64_t last = -1;
    for (int64_t i = 0; i < n(); ++i) {
        if (candidate(i)) sum += weight(i) * residual_[i], last = i;
        until[i] = sum;
    }
    if (last < 0) return round;
    std::vector<int64_t> drawn;
    // Draws the first row whose cumulative sum exceeds a random point of [0, sum). If rounding
    // makes the point equal to the whole sum, the last candidate is drawn.
    for (int64_t t = 0; t < draws; ++t) {
        const double at = random.uniform(draws_ + t, 0) * sum;
        drawn.push_back(std::min(last, std::upper_bound(until.begin(), until.end(), at) - until.begin()));
    }
    std::vector<int64_t> rows = drawn;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const Candidates block = candidates(std::move(rows));
    Border border(round, block);
    for (int64_t t = 0; t < draws && round.count() < most; ++t) {
        const int64_t row = drawn[static_cast<size_t>(t)],
                      p = std::lower_bound(block.rows.begin(), block.rows.end(), row) - block.rows.begin();
        if (border.taken(p)) continue;
        const double d = border.left(p);
        if (d > floor(count() + round.count()) && random.uniform(draws_ + t, 1) * residual_[row] < d)
            border.take(p, row, d);
    }
    draws_ += draws;
    settle(round, block);
    return round;
}

// A column is divided by the root of the residual of its pivot, and so are the rounding errors in
// it. If rows were taken in the given order, a small pivot before a large one would magnify these
// errors and spread them to all later columns. Therefore a round takes the row of largest residual
// first, and it ends when the residuals left in it are far below those of the waiting rows.
template <class T>
int64_t PartialCholesky<T>::append(const int64_t *rows, int64_t given) {
    constexpr double far_below = 1e-3;
    const int64_t before = count();
    check_rows(rows, given);
    if (before + given > capacity_) {
        Run::Span span(run_, 0, 0);
        reserve(before + given);
    }
    std::vector<int64_t> left(rows, rows + given);
    auto share = [&](size_t waiting) { return 1 - static_cast<double>(waiting) / static_cast<double>(given); };
    while (!left.empty()) {
        std::stable_sort(left.begin(), left.end(), [&](int64_t i, int64_t j) { return residual_[i] > residual_[j]; });
        const size_t part = std::min(left.size(), static_cast<size_t>(most_accepted));
        const double waiting = part < left.size() ? far_below * residual_[left[part]] : 0;
        Round round(run_, static_cast<int64_t>(part));
        {
            Run::Span span(run_, share(left.size()), share(left.size()));
            run_.progress(1);
            take_largest(round, {left.begin(), left.begin() + static_cast<int64_t>(part)}, round.most,
                         [&](int64_t, double best) { return best >= waiting; });
        }
        // Only rows that were candidates may be skipped, because only their d is accurate enough.
        const double least = floor(count() + round.count());
        const auto tried = left.begin() + static_cast<int64_t>(part);
        left.erase(std::remove_if(left.begin(), tried,
                                  [&](int64_t row) {
                                      return !(residual_[row] > least) ||
                                             std::find(round.rows.begin(), round.rows.end(), row) != round.rows.end();
                                  }),
                   tried);
        if (round.rows.empty()) continue;
        Run::Span span(run_, share(left.size() + round.rows.size()), share(left.size()));
        add(round, {n()});
    }
    return count() - before;
}

template PartialCholesky<float>::PartialCholesky(Run &, const KernelRows &, int64_t, Factor);
template PartialCholesky<double>::PartialCholesky(Run &, const KernelRows &, int64_t, Factor);
template void PartialCholesky<float>::grow_greedy(const PivotStop &);
template void PartialCholesky<double>::grow_greedy(const PivotStop &);
template void PartialCholesky<float>::grow_sampled(const PivotStop &, const Random &);
template void PartialCholesky<double>::grow_sampled(const PivotStop &, const Random &);
template int64_t PartialCholesky<float>::append(const int64_t *, int64_t);
template int64_t PartialCholesky<double>::append(const int64_t *, int64_t);
template bool PartialCholesky<float>::reached(const PivotStop &, double, double) const;
template bool PartialCholesky<double>::reached(const PivotStop &, double, double) const;

} // namespace mercer
