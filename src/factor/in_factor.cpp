// K ~ F F^T, where the rank columns of F are a pivoted Cholesky factor with randomly drawn pivots
// (RPCholesky). Everything the rules ask of K is then computed in rank dimensions: with the rows
// u_j of F and G = F^T diag(w) F = sum_t w_t u_t u_t^T,
//
//   d_j = |u_j|^2,  s_j = u_j^T G u_j.
//
// A pivot p adds the direction v of (I - V V^T) u_p to the orthonormal basis V of the pivots so
// far. With z = (I - V V^T) G v (V without v), c = v^T G v, a_j = v^T u_j and b_j = z^T u_j,
//
//   s_j <- s_j - 2 a_j b_j + a_j^2 c,   d_j <- d_j - a_j^2,   sum_t w_t d_t <- sum_t w_t d_t - c.
//
// Candidates are the random pivots and 4096 other rows, so that no step takes time in proportion to
// n. If F has the rank of K and all rows are candidates, the pivots are those of ColumnEnergy.
// Otherwise the mean error of the selected rows was at most 1.08 times that of the exact selection
// for rank = 4 m (seven data sets, n = 3000, m = 10 and 30), and 1.23 times for rank = 2 m.
//
// Cost: n rank kernel values, n rank^2 flops for G and as many for F, 4 (rank + 4096) rank flops a
// pivot. Memory: n rank numbers for F, or slabs of it if it is recomputed; 2 (rank + 4096) rank.
#include "in_factor.h"

#include "../core/blas.h"
#include "basis.h"
#include "nystrom_span.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t random_candidates = 4096;
constexpr int64_t stream = int64_t{1} << 41; // the numbers of Random are taken from here on

// The candidates and the state of the selection among them.
class Candidates {
  public:
    Candidates(Run &run, const KernelRows &rows, CountedVector<int64_t> numbers, int64_t rank, int64_t most,
               bool expands)
        : run_(run), numbers_(std::move(numbers)), rank_(rank), most_(most), u_(run.buffer<double>(count(), rank)),
          g_(run.buffer<double>(rank, rank)), v_(run.buffer<double>(rank, most)),
          residual_(run.buffer<double>(count())), energy_(run.buffer<double>(count())),
          weights_(run.buffer<double>(count())), scores_(run.buffer<double>(count())), a_(run.buffer<double>(count())) {
        for (int64_t j = 0; j < count(); ++j) weights_[j] = rows.weights ? rows.weights[number(j)] : 1;
        if (expands) expansions_.emplace(run, count(), most);
    }
    int64_t count() const { return static_cast<int64_t>(numbers_.size()); }
    int64_t number(int64_t j) const { return numbers_[static_cast<size_t>(j)]; }
    const CountedVector<int64_t> &picks() const { return picks_; }
    double largest_residual() const { return *std::max_element(residual_.begin(), residual_.end()); }

    template <class T>
    void start(const SpanRows<T> &span, const Buffer<double> &scatter);
    // Returns the candidate with the largest score; -1: none is left.
    int64_t best(const mercer_pivot_rule &rule, double floor);
    int64_t place_of(int64_t row) const {
        return std::lower_bound(numbers_.begin(), numbers_.end(), row) - numbers_.begin();
    }
    double residual(int64_t j) const { return residual_[j]; }
    // Appends candidate j, and returns by how much the sum of w d falls.
    double append(int64_t j);

  private:
    double *direction(int64_t k) { return v_.data() + k * rank_; }
    Run &run_;
    CountedVector<int64_t> numbers_, picks_; // picks_: row numbers
    int64_t rank_, most_;
    Buffer<double> u_, g_, v_; // u_: row-major; v_: the basis V, column-major
    Buffer<double> residual_, energy_, weights_, scores_, a_;
    std::optional<Expansions> expansions_; // for rules that read them
};

template <class T>
void Candidates::start(const SpanRows<T> &span, const Buffer<double> &scatter) {
    Buffer<T> rows = run_.buffer<T>(count(), rank_);
    span.gather(run_, numbers_.data(), count(), rows.data());
    std::copy(rows.begin(), rows.end(), u_.begin());
    for (int64_t j = 0; j < rank_; ++j)
        for (int64_t i = 0; i < rank_; ++i) g_[i + j * rank_] = scatter[std::max(i, j) + std::min(i, j) * rank_];
    Buffer<double> products = run_.buffer<double>(count(), rank_);
    gemm('N', 'N', rank_, count(), rank_, 1.0, g_.data(), rank_, u_.data(), rank_, 0.0, products.data(), rank_);
    for (int64_t j = 0; j < count(); ++j) {
        const double *u = u_.data() + j * rank_;
        residual_[j] = dot(u, u, rank_);
        energy_[j] = std::max(dot(u, products.data() + j * rank_, rank_), weights_[j] * residual_[j] * residual_[j]);
    }
}

int64_t Candidates::best(const mercer_pivot_rule &rule, double floor) {
    mercer_pivot_state state{};
    state.struct_size = sizeof state;
    state.n = count(), state.step = static_cast<int64_t>(picks_.size());
    state.residual = residual_.data(), state.energy = energy_.data(), state.weights = weights_.data();
    state.expansion = expansions_ ? expansions_->lengths() : nullptr;
    state.index = picks_.data(), state.least = floor;
    rule.score(rule.user, &state, 0, count(), scores_.data());
    int64_t best = -1;
    for (int64_t j = 0; j < count(); ++j) {
        if (!(weights_[j] > 0 && residual_[j] > floor && scores_[j] >= 0)) continue;
        if (best < 0 || scores_[j] * pivot_tie > scores_[best]) best = j;
    }
    return best;
}

double Candidates::append(int64_t j) {
    const auto k = static_cast<int64_t>(picks_.size());
    const double root = std::sqrt(residual_[j]);
    double *v = direction(k);
    std::copy_n(u_.data() + j * rank_, rank_, v);
    const auto project = [&](double *x) { // x <- (I - V V^T) x
        for (int64_t q = 0; q < k; ++q) {
            const double part = dot(direction(q), x, rank_);
            for (int64_t i = 0; i < rank_; ++i) x[i] -= part * direction(q)[i];
        }
    };
    project(v), project(v);
    const double length = std::sqrt(dot(v, v, rank_));
    for (int64_t i = 0; i < rank_; ++i) v[i] /= length;
    std::vector<double> z(static_cast<size_t>(rank_));
    for (int64_t i = 0; i < rank_; ++i) z[static_cast<size_t>(i)] = dot(g_.data() + i * rank_, v, rank_);
    const double c = dot(z.data(), v, rank_);
    project(z.data());
    constexpr int64_t slab = 512;
    parallel_for(run_, (count() + slab - 1) / slab, [&](int64_t s) {
        for (int64_t i = s * slab; i < std::min(count(), (s + 1) * slab); ++i) {
            const double *u = u_.data() + i * rank_, a = a_[i] = dot(u, v, rank_), b = dot(u, z.data(), rank_);
            residual_[i] = std::max(residual_[i] - a * a, 0.0);
            energy_[i] = std::max(energy_[i] - 2 * a * b + a * a * c, weights_[i] * residual_[i] * residual_[i]);
        }
    });
    if (expansions_) {
        std::vector<double> row; // of L: V^T u_j, without v
        for (int64_t q = 0; q < k; ++q) row.push_back(dot(direction(q), u_.data() + j * rank_, rank_));
        expansions_->append(row.data(), root, a_.data());
    }
    residual_[j] = energy_[j] = 0;
    picks_.push_back(number(j));
    return c;
}

// The random pivots, the rows that must be pivots, and random rows, in ascending order. Rows that
// must not be pivots are left out.
CountedVector<int64_t> candidate_rows(const KernelRows &rows, const int64_t *pivots, int64_t count,
                                      const EnergySelection &selection, const Random &random) {
    CountedVector<int64_t> out(selection.must.begin(), selection.must.end());
    out.insert(out.end(), pivots, pivots + count);
    if (rows.n <= random_candidates) {
        for (int64_t i = 0; i < rows.n; ++i) out.push_back(i);
    } else {
        for (int64_t k = 0; k < random_candidates; ++k)
            out.push_back(
                std::min(static_cast<int64_t>(random.uniform(stream, k) * static_cast<double>(rows.n)), rows.n - 1));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    const auto barred = [&](int64_t row) {
        return std::find(selection.never.begin(), selection.never.end(), row) != selection.never.end();
    };
    out.erase(std::remove_if(out.begin(), out.end(), barred), out.end());
    return out;
}

} // namespace

int64_t in_factor_rank(int64_t rank, int64_t m, int64_t n) { return std::min(n, rank > 0 ? std::max(rank, m) : 4 * m); }

template <class T>
CountedVector<int64_t> select_in_factor(Run &run, const mercer_task &task, const KernelRows &rows,
                                        const mercer_pivot_rule &rule, const PivotStop &stop,
                                        const EnergySelection &selection, int64_t rank, bool stored,
                                        int64_t *evaluations, bool *rank_reached) {
    const int64_t most = std::min(stop.m, rows.n);
    PartialCholesky<T> sample(run, rows, in_factor_rank(rank, stop.m, rows.n),
                              stored ? Factor::stored : Factor::recomputed);
    {
        Run::Span span(run, 0, 0.5);
        sample.grow_sampled({in_factor_rank(rank, stop.m, rows.n)}, task.random);
    }
    std::unique_ptr<SpanRows<T>> span;
    CountedVector<int64_t> pivots(sample.index(), sample.index() + sample.count());
    if (stored) {
        span = std::make_unique<SpanRows<T>>(sample);
    } else {
        CountedVector<int64_t> numbers; // of the source
        for (int64_t row : pivots) numbers.push_back(rows.numbers ? rows.numbers[row] : row);
        KernelRows basis = rows;
        basis.numbers = numbers.data(), basis.n = sample.count(), basis.weights = nullptr;
        span = std::make_unique<SpanRows<T>>(run, rows.kernel, points_of<T>(rows), points_of<T>(basis),
                                             basis_of<T>(run, basis));
    }
    SpanMoments sums;
    Buffer<double> scatter;
    {
        Run::Span part(run, 0.5, 0.9);
        scatter = scatter_of_rows(run, *span, rows.weights, false, sums);
    }
    Run::Span part(run, 0.9, 1);
    Candidates candidates(run, rows, candidate_rows(rows, pivots.data(), sample.count(), selection, task.random),
                          span->rank(), most, rule.needs == MERCER_PIVOT_EXPANSION);
    if (span->rank() > 0) candidates.start(*span, scatter);
    const double largest = candidates.count() > 0 ? candidates.largest_residual() : 0,
                 floor = energy_floor(sizeof(T) == 4) * largest;
    double left = sums.uncentred;
    size_t given = 0;
    *rank_reached = false;
    const auto reached = [&] {
        return (stop.mse > 0 && left <= stop.mse * sums.weight) ||
               (stop.trace > 0 && left <= stop.trace * sums.uncentred);
    };
    while (static_cast<int64_t>(candidates.picks().size()) < most) {
        if (given < selection.must.size()) {
            const int64_t place = candidates.place_of(selection.must[given++]);
            if (candidates.residual(place) > floor) left -= candidates.append(place);
            continue;
        }
        if (!candidates.picks().empty() && reached()) break;
        const int64_t place = span->rank() > 0 ? candidates.best(rule, floor) : -1;
        if (place < 0) {
            *rank_reached = true;
            break;
        }
        left -= candidates.append(place);
    }
    *evaluations += sample.evaluations() + span->evaluations();
    return candidates.picks();
}

template <class T>
Bytes in_factor_bytes(const Run &run, int64_t n, int64_t m, int64_t rank, bool stored, const TileBytes &tiles) {
    const int64_t rho = in_factor_rank(rank, m, n), count = std::min(n, random_candidates + rho), size = sizeof(T);
    const Factor kind = stored ? Factor::stored : Factor::recomputed;
    const Bytes sample = PartialCholesky<T>::bytes(n, rho, false, run.threads(), tiles, kind),
                held = stored ? Bytes(PartialCholesky<T>::stored_bytes_of(n, rho, false, tiles)) : sample;
    const int64_t slabs = stored ? 0 : run.threads() * span_slab * rho * size + 8 * rho * rho,
                  own = 8 * count * (2 * rho + m + 8) + 8 * rho * (rho + m) + count * rho * size;
    return larger(sample, held + larger(project_bytes(n, rho, 0, run.threads(), size) + slabs, own) + 8 * n);
}

template <class T>
mercer_figure in_factor_evaluations(int64_t n, int64_t rank, bool stored) {
    const double rows = static_cast<double>(n), columns = static_cast<double>(rank),
                 again = stored ? 0 : rows * columns + columns * (columns + 4096);
    const auto most =
        static_cast<double>(PartialCholesky<T>::evaluations(n, rank, stored ? Factor::stored : Factor::recomputed));
    return {rows * columns + again, most + again};
}

#define MERCER_INSTANTIATE(T)                                                                                          \
    template CountedVector<int64_t> select_in_factor<T>(Run &, const mercer_task &, const KernelRows &,                \
                                                        const mercer_pivot_rule &, const PivotStop &,                  \
                                                        const EnergySelection &, int64_t, bool, int64_t *, bool *);    \
    template Bytes in_factor_bytes<T>(const Run &, int64_t, int64_t, int64_t, bool, const TileBytes &);                \
    template mercer_figure in_factor_evaluations<T>(int64_t, int64_t, bool);
MERCER_INSTANTIATE(float)
MERCER_INSTANTIATE(double)
#undef MERCER_INSTANTIATE

} // namespace mercer
