#include "row_sums.h"

#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {

template <class T>
void RowSums<T>::accumulate(int64_t width, const Add &add, const Done &done, int64_t row0, int64_t rows) const {
    const int64_t m = tiles_.y().rows();
    if (width == 0 || m == 0) {
        Buffer<double> zeros = std::move(run_.buffer<double>(tile_rows, std::max<int64_t>(width, 1)).zero());
        for (int64_t at = 0; at < rows; at += tile_rows)
            done(tiles_.x().load(run_, row0 + at, std::min(tile_rows, rows - at)), zeros.data());
        return;
    }
    std::vector<Buffer<double>> open(static_cast<size_t>(blocks_of(rows)));
    sweep_panels<T>(run_, tiles_, row0, rows, [&](int64_t slab, const Panel<T> &x, const Panel<T> &y, auto &scratch) {
        Buffer<double> &sums = open[static_cast<size_t>(slab)];
        if (sums.empty()) sums = std::move(run_.buffer<double>(x.rows, width).zero());
        add(x, y, scratch, sums.data());
        if (y.row0 + y.rows < m) return true;
        done(x, sums.data());
        sums = Buffer<double>();
        return true;
    });
}

template <class T>
void RowSums<T>::evaluate(const Weights<T> &w, const Done &done, int64_t row0, int64_t rows) const {
    Pool<Buffer<T>> pool(
        [&] { return std::unique_ptr<Buffer<T>>(new Buffer<T>(run_.buffer<T>(tile_rows, w.stride))); });
    accumulate(
        w.stride,
        [&](const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, double *sums) {
            auto product = pool.take();
            if (!frequencies_ && tiles_.turns(x, y)) return add_turned(w, x, y, scratch, product->data(), sums);
            tiles_.strips(x, y, scratch, [&](const auto &strip) {
                add(w, y, strip.rows, scratch.tile.data(), product->data(), sums + strip.row0 * w.stride);
            });
        },
        done, row0, rows);
}

// Adds K W to sums, for a strip of values K between rows and the centres of y.
template <class T>
void RowSums<T>::add(const Weights<T> &w, const Panel<T> &y, int64_t rows, T *values, T *product, double *sums) const {
    if (!frequencies_) return add_values(w, y.row0, y.rows, rows, values, product, sums);
    // The features of a frequency are the cosine and the sine of its product with x. W first has
    // the rows that belong to all cosines, and then those that belong to all sines.
    Buffer<T> sine = run_.buffer<T>(rows, tile_rows);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = i * tile_rows; k < i * tile_rows + y.rows; ++k) {
            sine[k] = std::sin(values[k]);
            values[k] = std::cos(values[k]);
        }
    add_values(w, y.row0, y.rows, rows, values, product, sums);
    add_values(w, tiles_.y().rows() + y.row0, y.rows, rows, sine.data(), product, sums);
}

// Adds to sums the product of `values` (n x m) and m rows of W, the first of which is row0.
template <class T>
void RowSums<T>::add_values(const Weights<T> &w, int64_t row0, int64_t m, int64_t n, const T *values, T *product,
                            double *sums) const {
    thin_table<T>().product(n, w.stride, m, values, tile_rows, 1, w.values.data() + row0 * w.stride, w.stride, product,
                            w.stride, false);
    for (int64_t k = 0; k < n * w.stride; ++k) sums[k] += static_cast<double>(product[k]);
}

// Adds the same numbers to sums as add(), but computes them as the transpose of W^T K(C, x), in
// strips of centres. The columns of the product are then the rows of x, so registers hold adjacent
// rows of x, and the padding columns of W are not computed.
template <class T>
void RowSums<T>::add_turned(const Weights<T> &w, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch,
                            T *product, double *sums) const {
    tiles_.strips(y, x, scratch, [&](const auto &strip) {
        thin_table<T>().product(w.cols, padded_columns<T>(x.rows), strip.rows,
                                w.values.data() + (y.row0 + strip.row0) * w.stride, 1, w.stride, scratch.tile.data(),
                                tile_rows, product, tile_rows, strip.row0 > 0);
    });
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < w.cols; ++j) sums[i * w.stride + j] += static_cast<double>(product[j * tile_rows + i]);
}

template class RowSums<float>;
template class RowSums<double>;

} // namespace mercer
