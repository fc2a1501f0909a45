// Columns of pivoted partial Cholesky: how the columns of the pivots P of a round are computed, for
// any rows i whose earlier columns l_i are known. P is split into parts Q of w = 16 (f64) or 32
// (f32) pivots. If l_i holds all columns before a part, the part's columns are
//   x_i = (k_iQ - l_i L_Q^T) M^T,
// where M is the inverse of the triangle of L between the pivots of Q. Both steps are products, so
// that nothing is solved entry by entry, and kernel values are used in the tile in which they were
// computed. The cost of p columns after s columns is p kernel values and 2 p s + p^2 + w p flops
// per row.
//
// Error. L_Q and M are f64 numbers rounded to the tile's type, with unit roundoff u. The sum begins
// with k_iQ and shrinks as the products with the columns are subtracted, beginning with the
// earliest columns, which explain most. Each rounding is therefore relative to what is left of the
// sum, and the total error is about u max k(x, x), whatever the number of columns. (Sums that begin
// with l_i L_Q^T stay near k to the end and err by root(s) u.) Solving part by part is backward
// stable: the computed l_i are exact for kernel values with errors of a few u, which
// partial_cholesky.cpp analyses. A factor that is not stored recomputes columns by the same
// products: over r rounds this takes r / 2 times the kernel values and r / 3 times the flops in
// addition.
#include "partial_cholesky.h"

#include <array>

namespace mercer {

template <class T>
PartialCholesky<T>::Step::Step(PartialCholesky &factor, const Round &round, int64_t from_column)
    : numbers(factor.numbers_of(round.rows)), from(from_column), made(round.count()), width(made),
      points(factor.points_of(numbers)), pivots(points.load(factor.run_, 0)),
      triangle(factor.run_.template buffer<T>(made, made)),
      solved(std::move(factor.run_.template buffer<T>(padded_columns<T>(made), depth()).zero())) {
    for (int64_t i = 0; i < made; ++i)
        for (int64_t k = 0; k < made; ++k) triangle[i * made + k] = k > i ? T(0) : static_cast<T>(round.row(i)[k]);
    parallel_for(factor.run_, (made + wide - 1) / wide, [&](int64_t part) {
        const int64_t j0 = part * wide, count = std::min(wide, made - j0), step = columns_from(j0);
        T *to = solved.data() + j0 * depth();
        // The triangle of L between the pivots of the part, and its inverse M; both column-major.
        std::array<double, wide * wide> own{}, inverse{};
        for (int64_t i = 0; i < count; ++i) {
            const double *earlier = round.earlier.data() + (j0 + i) * from, *row = round.row(j0 + i);
            for (int64_t k = 0; k < from; ++k) to[k * step + i] = static_cast<T>(-earlier[k]);
            for (int64_t k = 0; k < j0; ++k) to[(from + k) * step + i] = static_cast<T>(-row[k]);
            for (int64_t k = 0; k <= i; ++k) own[static_cast<size_t>(i + k * wide)] = row[j0 + k];
            inverse[static_cast<size_t>(i + i * wide)] = 1;
        }
        solve_lower(count, count, own.data(), wide, inverse.data(), wide);
        for (int64_t k = 0; k < count; ++k)
            for (int64_t i = k; i < count; ++i)
                to[(from + j0 + k) * step + i] = static_cast<T>(inverse[static_cast<size_t>(i + k * wide)]);
    });
}

template <class T>
std::vector<int64_t> PartialCholesky<T>::numbers_of(const std::vector<int64_t> &rows) const {
    std::vector<int64_t> numbers = rows;
    if (rows_.numbers)
        for (int64_t &number : numbers) number = rows_.numbers[number];
    return numbers;
}

template <class T>
Points<T> PartialCholesky<T>::points_of(const std::vector<int64_t> &numbers) const {
    Points<T> points = points_.only(numbers.data(), static_cast<int64_t>(numbers.size()));
    points.lean();
    return points;
}

// Computes the columns of a step, for one strip of rows and `wide` columns at a time, from the
// earlier columns and the kernel values of the same rows, while both are in the caches. The last
// product also writes its padding, which is undefined and lies where later columns will be written.
template <class T>
void PartialCholesky<T>::columns(Step &step, const Block &block, Scratch &scratch) {
    const Tiles<T> tiles(rows_.kernel, block.points, step.points);
    const ThinTable<T> &thin = thin_table<T>();
    scratch.tile.by_differences = false;
    for (int64_t at = 0; at < block.rows; at += tile_rows) {
        if (run_.stopped(static_cast<double>(block.row0) / static_cast<double>(n()))) return;
        tiles.strips(block.panels[at / tile_rows], step.pivots, scratch.tile, [&](const auto &strip) {
            T *l = block.l + (at + strip.row0) * block.stride;
            for (int64_t j0 = 0; j0 < step.width; j0 += wide) {
                const int64_t p = step.columns_from(j0), before = step.from + j0;
                const T *solved = step.solved.data() + j0 * step.depth();
                T *rest = scratch.tile.tile.data() + j0;
                thin.product(strip.rows, p, before, l, block.stride, 1, solved, p, rest, tile_rows, true);
                thin.product(strip.rows, p, std::min(wide, step.width - j0), rest, tile_rows, 1, solved + before * p, p,
                             l + before, block.stride, false);
            }
        });
    }
}

// Replaces the columns of a step in the rows of pivots by their exact values: 0 for pivots of
// earlier rounds, and the step's triangle for its own pivots. numbers: the positions of the block's
// rows among all rows; nullptr: they are row0, row0 + 1 ...
template <class T>
void PartialCholesky<T>::patch(const Step &step, const Block &block, const int64_t *numbers) const {
    auto known = [&](int64_t i, int64_t column) {
        if (column >= step.from + step.width) return;
        T *x = block.l + i * block.stride + step.from;
        std::fill_n(x, step.width, T(0));
        if (column >= step.from)
            std::copy_n(step.triangle.data() + (column - step.from) * step.made, column - step.from + 1, x);
    };
    auto from = [&](int64_t row) {
        return std::lower_bound(chosen_.begin(), chosen_.end(), std::pair<int64_t, int64_t>(row, -1));
    };
    if (!numbers) {
        for (auto at = from(block.row0); at != chosen_.end() && at->first < block.row0 + block.rows; ++at)
            known(at->first - block.row0, at->second);
        return;
    }
    for (int64_t i = 0; i < block.rows; ++i)
        if (const auto at = from(numbers[i]); at != chosen_.end() && at->first == numbers[i]) known(i, at->second);
}

// Computes all columns of the block again, step by step. numbers: as for patch.
template <class T>
void PartialCholesky<T>::make_again(const Block &block, const int64_t *numbers, Scratch &scratch) {
    for (const std::unique_ptr<Step> &step : steps_) {
        columns(*step, block, scratch);
        patch(*step, block, numbers);
        again_ += block.rows * step->width;
    }
}

template <class T>
Pool<typename PartialCholesky<T>::Scratch> PartialCholesky<T>::scratch() {
    const Tiles<T> tiles(rows_.kernel, points_, points_);
    return Pool<Scratch>([this, tiles] { return std::make_unique<Scratch>(run_, tiles); });
}

// Returns the rows of slab s with their panels and all columns so far.
template <class T>
typename PartialCholesky<T>::Block PartialCholesky<T>::slab(int64_t s, Scratch &scratch) {
    Block out{points_, nullptr, s * slab_rows, std::min(slab_rows, n() - s * slab_rows), nullptr, stride_};
    if (panels_.empty()) scratch.panels.resize(static_cast<size_t>(slab_panels));
    Panel<T> *panels = panels_.empty() ? scratch.panels.data() : panels_.data() + s * slab_panels;
    for (int64_t at = 0; at < out.rows; at += tile_rows) {
        Panel<T> &panel = panels[at / tile_rows];
        if (panel.rows > 0 && panel.row0 == out.row0 + at) continue;
        panel = {}; // frees the old panel before the new one is loaded
        panel = points_.load(run_, out.row0 + at, std::min(tile_rows, out.rows - at));
    }
    out.panels = panels;
    if (stored()) {
        out.l = factor_.data() + out.row0 * stride_;
        return out;
    }
    if (scratch.rows.empty()) scratch.rows = run_.buffer<T>(slab_rows, stride_);
    out.l = scratch.rows.data();
    make_again(out, nullptr, scratch);
    return out;
}

#define INSTANTIATE(T)                                                                                                 \
    template std::vector<int64_t> PartialCholesky<T>::numbers_of(const std::vector<int64_t> &) const;                  \
    template PartialCholesky<T>::Step::Step(PartialCholesky &, const Round &, int64_t);                                \
    template void PartialCholesky<T>::columns(Step &, const Block &, Scratch &);                                       \
    template void PartialCholesky<T>::patch(const Step &, const Block &, const int64_t *) const;                       \
    template void PartialCholesky<T>::make_again(const Block &, const int64_t *, Scratch &);                           \
    template Points<T> PartialCholesky<T>::points_of(const std::vector<int64_t> &) const;                              \
    template Pool<typename PartialCholesky<T>::Scratch> PartialCholesky<T>::scratch();                                 \
    template typename PartialCholesky<T>::Block PartialCholesky<T>::slab(int64_t, Scratch &)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

} // namespace mercer
