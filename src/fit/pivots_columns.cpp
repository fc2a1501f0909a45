// Columns of pivoted partial Cholesky: those of the pivots P of a round, for any rows i whose earlier columns l_i are known,
//   x_i = (k_iP - l_i L_P^T) L_PP^-T = k_iP M^T - l_i (M L_P)^T,   M = L_PP^-1.
// The second form is two products: nothing is solved row by row, and tiles are multiplied where they were computed. Cost of
// p columns after s: p kernel values and 2 p s + p^2 flops a row (M is lower triangular, taken w = 16 or 32 columns at once:
// p^2 becomes p^2 + w p).
// Error: M and M L_P come from substitution in f64. Either form magnifies the rounding errors of k_iP and l_i L_P^T by |M|,
// at most the root of max d / floor; x is small where that is large, so that d is right to a few u_tile max k(x, x).
// A factor not held makes columns again by the same products: in r rounds r / 2 times the kernel values, r / 3 more times
// the flops.
#include "pivots.h"

namespace mercer {

template <class T>
PartialCholesky<T>::Step::Step(PartialCholesky &factor, const Round &round)
    : numbers(factor.numbers_of(round.rows)), from(factor.count()), made(round.count()), width(made),
      points(factor.points_of(numbers)), pivots(points.load(factor.run_, 0)),
      triangle(factor.run_.template buffer<T>(made, made)),
      solved(std::move(factor.run_.template buffer<T>(padded_columns<T>(made), depth()).zero())) {
    const Buffer<T> earlier = factor.rows_of_factor(round.rows);
    const int64_t earlier_stride = stride_of(from);
    Buffer<double> l = factor.run_.template buffer<double>(width, width); // column-major
    for (int64_t i = 0; i < width; ++i)
        for (int64_t k = 0; k < width; ++k) {
            l[i + k * width] = k > i ? 0 : round.row(i)[k];
            triangle[i * made + k] = static_cast<T>(l[i + k * width]);
        }
    parallel_for(factor.run_, (depth() + solve_part - 1) / solve_part, [&](int64_t p) {
        const int64_t first = p * solve_part, count = std::min(solve_part, depth() - first);
        Buffer<double> x = factor.run_.template buffer<double>(width, count); // row-major is X^T to BLAS
        for (int64_t i = 0; i < width; ++i)
            for (int64_t k = 0; k < count; ++k) {
                const int64_t at = first + k;
                x[i * count + k] = at < from ? static_cast<double>(earlier[i * earlier_stride + at]) : at - from == i;
            }
        trsm('T', count, width, l.data(), width, x.data(), count);
        for (int64_t i = 0; i < width; ++i) {
            const int64_t j0 = i / wide * wide, step = columns_from(j0);
            T *to = solved.data() + j0 * depth() + i - j0;
            for (int64_t k = first; k < first + count; ++k)
                to[k * step] = static_cast<T>(k < from ? -x[i * count + k - first] : x[i * count + k - first]);
        }
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

// Strip by strip and some columns at once, from the earlier ones and from kernel values of the same rows, while both are in
// the caches. What pads the last columns is undefined and lies where later columns will be.
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
                const int64_t p = step.columns_from(j0), j1 = std::min(step.width, j0 + wide);
                const T *solved = step.solved.data() + j0 * step.depth();
                T *x = l + step.from + j0;
                thin.product(strip.rows, p, step.from, l, block.stride, 1, solved, p, x, block.stride, false);
                thin.product(strip.rows, p, j1, scratch.tile.tile.data(), tile_rows, 1, solved + step.from * p, p, x,
                             block.stride, true);
            }
        });
    }
}

// What is known of rows of pivots is put in place of what was computed: those of earlier rounds are 0, the step's own are
// its triangle. numbers: which rows the block has; nullptr: row0 and those after it.
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

// Rows of slab s with all columns there are.
template <class T>
typename PartialCholesky<T>::Block PartialCholesky<T>::slab(int64_t s, Scratch &scratch) {
    Block out{points_, nullptr, s * slab_rows, std::min(slab_rows, n() - s * slab_rows), nullptr, stride_};
    if (panels_.empty()) scratch.panels.resize(static_cast<size_t>(slab_panels));
    Panel<T> *panels = panels_.empty() ? scratch.panels.data() : panels_.data() + s * slab_panels;
    for (int64_t at = 0; at < out.rows; at += tile_rows) {
        Panel<T> &panel = panels[at / tile_rows];
        if (panel.rows > 0 && panel.row0 == out.row0 + at) continue;
        panel = {}; // not both at once
        panel = points_.load(run_, out.row0 + at, std::min(tile_rows, out.rows - at));
    }
    out.panels = panels;
    if (held()) {
        out.l = factor_.data() + out.row0 * stride_;
        return out;
    }
    if (scratch.rows.empty()) scratch.rows = run_.buffer<T>(slab_rows, stride_);
    out.l = scratch.rows.data();
    make_again(out, nullptr, scratch);
    return out;
}

// L of these rows, each stride_of(count()) numbers.
template <class T>
Buffer<T> PartialCholesky<T>::rows_of_factor(const std::vector<int64_t> &rows) {
    const int64_t b = static_cast<int64_t>(rows.size()), s = count(), stride = stride_of(s);
    Buffer<T> out = run_.buffer<T>(b, stride);
    if (s == 0) return out;
    if (held()) {
        for (int64_t i = 0; i < b; ++i)
            std::copy_n(factor_.data() + rows[static_cast<size_t>(i)] * stride_, s, out.data() + i * stride);
        return out;
    }
    const std::vector<int64_t> numbers = numbers_of(rows);
    Points<T> points = points_of(numbers);
    Pool<Scratch> pool = scratch();
    for_each((b + few_rows - 1) / few_rows, [&](int64_t p) {
        const int64_t row0 = p * few_rows;
        auto work = pool.take();
        const Panel<T> panel = points.load(run_, row0, std::min(few_rows, b - row0));
        make_again({points, &panel, row0, panel.rows, out.data() + row0 * stride, stride}, rows.data() + row0, *work);
    });
    return out;
}

#define INSTANTIATE(T)                                                                                                 \
    template std::vector<int64_t> PartialCholesky<T>::numbers_of(const std::vector<int64_t> &) const;                  \
    template PartialCholesky<T>::Step::Step(PartialCholesky &, const Round &);                                         \
    template void PartialCholesky<T>::columns(Step &, const Block &, Scratch &);                                       \
    template void PartialCholesky<T>::patch(const Step &, const Block &, const int64_t *) const;                       \
    template void PartialCholesky<T>::make_again(const Block &, const int64_t *, Scratch &);                           \
    template Points<T> PartialCholesky<T>::points_of(const std::vector<int64_t> &) const;                              \
    template Pool<typename PartialCholesky<T>::Scratch> PartialCholesky<T>::scratch();                                 \
    template typename PartialCholesky<T>::Block PartialCholesky<T>::slab(int64_t, Scratch &);                          \
    template Buffer<T> PartialCholesky<T>::rows_of_factor(const std::vector<int64_t> &)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

} // namespace mercer
