// The candidates of a round of pivoted partial Cholesky: their rows of L and the residual of K
// among them, both in f64, and the test that proves a kernel not to be positive semi-definite.
//
// An f32 factor also keeps the triangle L_P of its pivots in f64, computed from f64 kernel values,
// because errors at the pivots spread: a pivot of residual d causes errors of a few u / root(d) in
// every row, including those of later pivots, and the recurrence multiplies these errors. If each
// pivot has the largest residual, this growth is bounded; with drawn or given pivots it is
// exponential. A candidate's row of L is K_cP L_P^-T, so that all decisions about it (d, order,
// acceptance) are accurate to f64. A factor that is not stored does the same, because it has no
// columns from which these rows could be read. b candidates after s pivots cost b s f64 kernel
// values and b s^2 flops, in total at least m^2/2 values and m^3/3 flops; the memory is m^2.
#include "partial_cholesky.h"

#include <cinttypes>
#include <cmath>

namespace mercer {

template <class T>
void PartialCholesky<T>::reserve_triangle() {
    const int64_t old = count() > 0 ? triangle_rows_ : 0;
    Buffer<double> larger = run_.buffer<double>(capacity_, capacity_);
    for (int64_t k = 0; k < count(); ++k)
        std::copy(triangle_.data() + k * old + k, triangle_.data() + k * old + count(),
                  larger.data() + k * capacity_ + k);
    triangle_ = std::move(larger);
    triangle_rows_ = capacity_;
}

template <class T>
void PartialCholesky<T>::append_triangle(const Round &round) {
    const int64_t from = count();
    for (int64_t i = 0; i < round.count(); ++i) {
        double *row = triangle_.data() + from + i;
        for (int64_t k = 0; k < from; ++k) row[k * triangle_rows_] = round.earlier[i * from + k];
        for (int64_t k = 0; k <= i; ++k) row[(from + k) * triangle_rows_] = round.row(i)[k];
    }
}

template <class T>
Buffer<double> PartialCholesky<T>::triangle(Run &run) const {
    const int64_t m = count();
    Buffer<double> out = std::move(run.buffer<double>(m, m).zero());
    for (int64_t k = 0; k < m; ++k)
        for (int64_t i = k; i < m; ++i)
            out[i + k * m] = stores_triangle()
                                 ? triangle_[i + k * triangle_rows_]
                                 : static_cast<double>(factor_[index_[static_cast<size_t>(i)] * stride_ + k]);
    return out;
}

template <class T>
Points<double> PartialCholesky<T>::exact_points(const std::vector<int64_t> &numbers) const {
    Points<double> points(rows_.source, rows_.map, leaf_specs(rows_.kernel), numbers.data(),
                          static_cast<int64_t>(numbers.size()));
    points.lean();
    return points;
}

// Returns the candidates' rows of L, count() numbers each. They are read from the columns if these
// are stored in f64, and otherwise computed as K_cP L_P^-T.
template <class T>
Buffer<double> PartialCholesky<T>::rows_of_factor(const std::vector<int64_t> &rows) {
    const int64_t b = static_cast<int64_t>(rows.size()), s = count();
    Buffer<double> out = run_.buffer<double>(b, s);
    if (s == 0) return out;
    if (!stores_triangle()) {
        for (int64_t i = 0; i < b; ++i)
            std::copy_n(factor_.data() + rows[static_cast<size_t>(i)] * stride_, s, out.data() + i * s);
        return out;
    }
    const std::vector<int64_t> x_numbers = numbers_of(rows), y_numbers = numbers_of(index_);
    Points<double> xs = exact_points(x_numbers), ys = exact_points(y_numbers);
    const Tiles<double> tiles(rows_.kernel, xs, ys);
    std::vector<Panel<double>> pivots(static_cast<size_t>(blocks_of(s)));
    for_each(blocks_of(s), [&](int64_t p) { pivots[static_cast<size_t>(p)] = ys.load(run_, p); });
    Pool<TileScratch<double>> pool(
        [&] { return std::unique_ptr<TileScratch<double>>(new TileScratch<double>(tiles.scratch(run_))); });
    for_each((b + few_rows - 1) / few_rows, [&](int64_t p) {
        const Panel<double> x = xs.load(run_, p * few_rows, std::min(few_rows, b - p * few_rows));
        auto scratch = pool.take();
        scratch->by_differences = false;
        for (const Panel<double> &y : pivots) {
            if (run_.stopped(0)) return;
            tiles.compute(x, y, *scratch);
            for (int64_t i = 0; i < x.rows; ++i)
                std::copy_n(scratch->tile.data() + i * tile_rows, y.rows, out.data() + (x.row0 + i) * s + y.row0);
        }
        solve_lower(s, x.rows, triangle_.data(), triangle_rows_, out.data() + x.row0 * s, s);
    });
    again_ += b * s;
    return out;
}

// Computes the residual K - L L^T among the rows of the block, a symmetric matrix. Its diagonal is
// d. For an f64 factor this is the stored d, on which scores and draws were based. The stored d of
// an f32 factor is less accurate, so d is computed again from the f64 rows of L.
template <class T>
void PartialCholesky<T>::residual_among(Candidates &block) {
    const int64_t b = block.count(), s = count(), blocks = (b + few_rows - 1) / few_rows;
    block.residual = run_.buffer<double>(b, b);
    const std::vector<int64_t> numbers = numbers_of(block.rows);
    Points<double> points = exact_points(numbers);
    const Tiles<double> tiles(rows_.kernel, points, points);
    const double *factor = block.factor.data();
    if (b > 1) {
        std::vector<Panel<double>> panels(static_cast<size_t>(blocks));
        // The pairs of panels on and below the diagonal, which determine the symmetric residual.
        std::vector<std::pair<int64_t, int64_t>> pairs;
        for (int64_t i = 0; i < blocks; ++i)
            for (int64_t j = 0; j <= i; ++j) pairs.emplace_back(i, j);
        // -L^T of each panel, padded with zeros to few_rows columns.
        Buffer<double> turned = run_.buffer<double>(blocks * s, few_rows);
        for_each(blocks, [&](int64_t i) {
            const int64_t row0 = i * few_rows, rows = std::min(few_rows, b - row0);
            panels[static_cast<size_t>(i)] = points.load(run_, row0, rows);
            for (int64_t c = 0; c < s; ++c) {
                double *to = turned.data() + (i * s + c) * few_rows;
                for (int64_t k = 0; k < few_rows; ++k) to[k] = k < rows ? -factor[(row0 + k) * s + c] : 0;
            }
        });
        Pool<TileScratch<double>> pool(
            [&] { return std::unique_ptr<TileScratch<double>>(new TileScratch<double>(tiles.scratch(run_))); });
        for_each(static_cast<int64_t>(pairs.size()), [&](int64_t p) {
            const auto [bi, bj] = pairs[static_cast<size_t>(p)];
            const Panel<double> &x = panels[static_cast<size_t>(bi)], &y = panels[static_cast<size_t>(bj)];
            auto scratch = pool.take();
            scratch->by_differences = false;
            double *tile = scratch->tile.data();
            tiles.compute(x, y, *scratch);
            thin_table<double>().product(x.rows, few_rows, s, factor + x.row0 * s, s, 1,
                                         turned.data() + bj * s * few_rows, few_rows, tile, tile_rows, true);
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < (bi == bj ? i : y.rows); ++j)
                    block.residual[(x.row0 + i) * b + y.row0 + j] = block.residual[(y.row0 + j) * b + x.row0 + i] =
                        tile[i * tile_rows + j];
        });
        for (const auto &[bi, bj] : pairs)
            evaluations_ += panels[static_cast<size_t>(bi)].rows * panels[static_cast<size_t>(bj)].rows;
    }
    constexpr bool rounded = sizeof(T) == 4;
    std::vector<double> self(block.rows.size());
    if (rounded) self_values(run_, tiles, self.data());
    for (int64_t i = 0; i < b; ++i) {
        const size_t at = static_cast<size_t>(i);
        block.residual[i * b + i] =
            rounded ? std::max(self[at] - dot(factor + i * s, factor + i * s, s), 0.0) : residual_[block.rows[at]];
    }
}

template <class T>
typename PartialCholesky<T>::Candidates PartialCholesky<T>::candidates(std::vector<int64_t> rows) {
    Candidates block{std::move(rows), {}, {}};
    block.factor = rows_of_factor(block.rows);
    residual_among(block);
    return block;
}

// Completes a round after its pivots are chosen: keeps their rows of L, and stores the d of all
// candidates that was computed for the round. Candidates whose d proves to be at most the floor are
// then not chosen again.
template <class T>
void PartialCholesky<T>::settle(Round &round, const Candidates &block) {
    const int64_t s = count(), b = block.count();
    for (int64_t i = 0; i < b; ++i) residual_[block.rows[static_cast<size_t>(i)]] = block.residual[i * b + i];
    round.earlier = run_.buffer<double>(round.count(), s);
    for (int64_t i = 0; i < round.count(); ++i)
        std::copy_n(block.factor.data() + round.places[static_cast<size_t>(i)] * s, s, round.earlier.data() + i * s);
}

// A d of this row far below 0 proves that the kernel is indefinite only if rounding cannot explain
// it. K is positive semi-definite if and only if z^T K z >= 0 for all z. Among the z that are 1 at
// this row x and 0 outside the pivots, the smallest value is obtained with -a at the pivots, where
// a = K_PP^-1 k_Px:
//   z^T K z = k(x, x) - |l|^2,   l = L_P^-1 k_Px,   a = L_P^-T l.
// If each entry of K has an error of at most eta (k(x, x) k(y, y))^1/2, the sum for this z has an
// error of at most eta (sum |z_j| k_jj^1/2)^2, so a value below minus this bound proves that the
// kernel is indefinite; otherwise this function returns. eta is the relative error of f64 kernel
// values, or of values supplied in f32, plus that of sums of count() terms.
template <class T>
void PartialCholesky<T>::check_definite(int64_t row) {
    const bool given = points_.objects() || rows_.kernel.calls_back();
    const int64_t s = count();
    const double eta = (given && sizeof(T) == 4 ? 64 * unit_roundoff(true) : 512 * unit_roundoff(false)) +
                       static_cast<double>(s) * unit_roundoff(false);
    const Buffer<double> l = rows_of_factor({row}), root = triangle(run_);
    std::vector<int64_t> all = index_;
    all.push_back(row);
    const std::vector<int64_t> numbers = numbers_of(all);
    Points<double> points = exact_points(numbers);
    std::vector<double> self(all.size());
    self_values(run_, Tiles<double>(rows_.kernel, points, points), self.data());
    const double k = self.back(), value = k - dot(l.data(), l.data(), s);
    Buffer<double> a = run_.buffer<double>(1, s);
    std::copy_n(l.data(), s, a.data());
    trsm('N', 1, s, root.data(), s, a.data(), 1);
    double sum = std::sqrt(std::max(k, 0.0));
    for (int64_t j = 0; j < s; ++j) sum += std::fabs(a[j]) * std::sqrt(std::max(self[static_cast<size_t>(j)], 0.0));
    if (value >= -eta * sum * sum) return;
    fail(MERCER_E_NUMERICAL,
         "kernel = %s is not positive semi-definite: %" PRId64 " pivots leave %g of k(x, x) of row %" PRId64
         ", but rounding explains at most -%g%s",
         rows_.kernel.text().c_str(), s, value, row, eta * sum * sum,
         sizeof(T) == 4 ? "; if the kernel is known to be positive semi-definite, use float64 (data.dtype = f64)" : "");
}

// Fails because the residual of this row is NaN: either the kernel gave a value that is not finite,
// or squares of its values overflowed.
template <class T>
void PartialCholesky<T>::refuse_values(int64_t row) const {
    std::vector<int64_t> all = index_;
    all.push_back(row);
    const std::vector<int64_t> one = numbers_of({row}), others = numbers_of(all);
    Points<T> x = points_of(one), y = points_of(others);
    const Tiles<T> tiles(rows_.kernel, x, y);
    TileScratch<T> scratch = tiles.scratch(run_);
    const char *advice = sizeof(T) == 4 ? ", use data.dtype = f64" : "";
    for (int64_t b = 0; b < blocks_of(y.rows()); ++b) {
        const Panel<T> pivots = y.load(run_, b);
        tiles.compute(x.load(run_, 0), pivots, scratch);
        for (int64_t j = 0; j < pivots.rows; ++j) {
            const double value = static_cast<double>(scratch.tile[j]);
            if (std::isfinite(value)) continue;
            fail(MERCER_E_NUMERICAL, "kernel = %s gave %g for rows %" PRId64 " and %" PRId64 ", must be finite%s%s",
                 rows_.kernel.text().c_str(), std::isnan(value) ? NAN : value, rows_.source->number(one[0]),
                 rows_.source->number(others[static_cast<size_t>(b * tile_rows + j)]),
                 sizeof(T) == 4 ? "; if the value is beyond float32" : "", advice);
        }
    }
    fail(MERCER_E_NUMERICAL, "kernel = %s: values of row %" PRId64 " with %" PRId64 " pivots overflow float%d%s",
         rows_.kernel.text().c_str(), rows_.source->number(one[0]), count(), 8 * static_cast<int>(sizeof(T)), advice);
}

#define INSTANTIATE(T)                                                                                                 \
    template Buffer<double> PartialCholesky<T>::triangle(Run &) const;                                                 \
    template Points<double> PartialCholesky<T>::exact_points(const std::vector<int64_t> &) const;                      \
    template Buffer<double> PartialCholesky<T>::rows_of_factor(const std::vector<int64_t> &);                          \
    template void PartialCholesky<T>::reserve_triangle();                                                              \
    template void PartialCholesky<T>::append_triangle(const Round &);                                                  \
    template void PartialCholesky<T>::residual_among(Candidates &);                                                    \
    template typename PartialCholesky<T>::Candidates PartialCholesky<T>::candidates(std::vector<int64_t>);             \
    template void PartialCholesky<T>::settle(Round &, const Candidates &);                                             \
    template void PartialCholesky<T>::refuse_values(int64_t) const;                                                    \
    template void PartialCholesky<T>::check_definite(int64_t)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

} // namespace mercer
