// The residual matrix R = K - L L^T, of which pivot rules may ask for columns, products and sums of
// squares (MERCER_PIVOT_FULL in plugin.h). R is never stored: each pass computes kernel values by
// tiles. K, L and, for the sums of squares, the entries of R are in the tile's type; all other sums
// are in f64. After s pivots of n rows, a column costs n kernel values and 2 n s flops, a product
// n^2 kernel values and 2 n^2 + 4 n s flops, and the sums of squares n^2 kernel values and 2 n^2 s
// flops.
//
// Error. An entry of R errs by a few u max k(x, x), where u is the unit roundoff of the tile's
// type. A row whose d is 0 is a pivot or lies in the span of the pivots. Its entries are set to 0,
// which is exact, because |R_ij| <= root(d_i d_j) = 0, and are not left to rounding.
//
// One thread processes all tiles of a slab of rows in ascending order, and L^T v is an ordered
// reduction, so that any number of threads gives the same bits.
#include "../core/slabs.h"
#include "partial_cholesky.h"

#include <array>
#include <cinttypes>
#include <cmath>

namespace mercer {

// Calls body(i, col0, cols, values) with the kernel values between row i and points col0 ... col0 +
// cols - 1 of ys. Any thread may process a row, but the calls for one row are made in ascending
// order of col0.
template <class T>
template <class Body>
void PartialCholesky<T>::kernel_rows(Points<T> &ys, Body &&body) {
    const Tiles<T> tiles(rows_.kernel, points_, ys);
    auto panel = [&](int64_t, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) {
        tiles.strips(x, y, scratch, [&](const auto &strip) {
            for (int64_t i = 0; i < strip.rows; ++i)
                body(x.row0 + strip.row0 + i, y.row0, y.rows, scratch.tile.data() + i * tile_rows);
        });
        return true;
    };
    sweep_panels<T>(run_, tiles, 0, n(), panel);
    evaluations_ += n() * ys.rows();
}

// Returns R_ij, given the kernel value k of rows i and j.
template <class T>
double PartialCholesky<T>::residual_entry(int64_t i, int64_t j, double k) const {
    if (residual_[i] == 0 || residual_[j] == 0) return 0;
    return k - dot(factor_.data() + i * stride_, factor_.data() + j * stride_, count());
}

template <class T>
void PartialCholesky<T>::check_rows(const int64_t *rows, int64_t count) const {
    for (int64_t k = 0; k < count; ++k)
        if (rows[k] < 0 || rows[k] >= n())
            fail(MERCER_E_VALUE, "row %" PRId64 " (entry %" PRId64 "), must be 0 to %" PRId64, rows[k], k, n() - 1);
}

// A rule cannot compare residuals that are not finite, so they are refused here.
template <class T>
void PartialCholesky<T>::check_residuals(const double *values) const {
    for (int64_t i = 0; i < n(); ++i)
        if (!std::isfinite(values[i]))
            fail(MERCER_E_NUMERICAL,
                 "kernel = %s: a sum of the kernel values of row %" PRId64 " is %g, must be finite%s",
                 rows_.kernel.text().c_str(), i, values[i],
                 sizeof(T) == 4 ? "; if the values are beyond float32, use data.dtype = f64" : "");
}

template <class T>
void PartialCholesky<T>::residual_columns(const int64_t *rows, int64_t count, double *out, int64_t ldo) {
    check_rows(rows, count);
    const std::vector<int64_t> numbers = numbers_of({rows, rows + count});
    Points<T> points = points_of(numbers);
    kernel_rows(points, [&](int64_t i, int64_t col0, int64_t cols, const T *values) {
        for (int64_t j = 0; j < cols; ++j)
            out[(col0 + j) * ldo + i] = residual_entry(i, rows[col0 + j], static_cast<double>(values[j]));
    });
    for (int64_t j = 0; j < count; ++j) check_residuals(out + j * ldo);
}

template <class T>
void PartialCholesky<T>::residual_product(const double *v, double *out) {
    const int64_t m = count();
    Buffer<double> masked = run_.buffer<double>(n()), sums = std::move(run_.buffer<double>(m).zero());
    for (int64_t i = 0; i < n(); ++i) {
        if (!std::isfinite(v[i])) fail(MERCER_E_PLUGIN, "product: entry %" PRId64 " is %g, must be finite", i, v[i]);
        masked[i] = residual_[i] == 0 ? 0 : v[i];
    }
    {
        Run::Span span(run_, 0, 0);
        auto add_rows = [&](int64_t row0, int64_t rows, Buffer<double> &sum) {
            sum = std::move(run_.buffer<double>(m).zero());
            for (int64_t i = row0; i < row0 + rows; ++i)
                for (int64_t k = 0; k < m; ++k) sum[k] += masked[i] * static_cast<double>(factor_[i * stride_ + k]);
        };
        reduce_slabs<Buffer<double>>(run_, {n(), slab_rows}, add_rows, [&](const Buffer<double> &sum) {
            for (int64_t k = 0; k < m; ++k) sums[k] += sum[k];
        });
    }
    kernel_rows(points_, [&](int64_t i, int64_t col0, int64_t cols, const T *values) {
        if (col0 == 0) out[i] = 0;
        out[i] += dot(values, masked.data() + col0, cols);
        if (col0 + cols == n())
            out[i] = residual_[i] == 0 ? 0 : out[i] - dot(factor_.data() + i * stride_, sums.data(), m);
    });
    check_residuals(out);
}

// Computes the entries of R tile by tile: subtracts the products of rows of L from the kernel
// values while these are in the cache. The columns of a tile beyond y.rows are undefined and not
// used.
template <class T>
void PartialCholesky<T>::residual_row_squares(const double *weights, double *out) {
    const int64_t m = count();
    Buffer<double> masked = run_.buffer<double>(n());
    for (int64_t i = 0; i < n(); ++i) {
        masked[i] = residual_[i] == 0 ? 0 : weights ? weights[i] : weight(i);
        out[i] = 0;
    }
    const Tiles<T> tiles(rows_.kernel, points_, points_);
    Pool<Buffer<T>> pool([&] { return std::make_unique<Buffer<T>>(run_.buffer<T>(m, tile_rows)); });
    auto panel = [&](int64_t, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) {
        auto turned = pool.take(); // -L^T for the rows of y: m x tile_rows, row-major
        for (int64_t k = 0; k < m; ++k)
            for (int64_t j = 0; j < tile_rows; ++j)
                (*turned)[k * tile_rows + j] = j < y.rows ? -factor_[(y.row0 + j) * stride_ + k] : 0;
        tiles.strips(x, y, scratch, [&](const auto &strip) {
            const int64_t row0 = x.row0 + strip.row0;
            T *tile = scratch.tile.data();
            if (m > 0)
                thin_table<T>().product(strip.rows, tile_rows, m, factor_.data() + row0 * stride_, stride_, 1,
                                        turned->data(), tile_rows, tile, tile_rows, true);
            std::array<double, tile_rows> scaled;
            for (int64_t i = 0; i < strip.rows; ++i, tile += tile_rows) {
                for (int64_t j = 0; j < y.rows; ++j)
                    scaled[static_cast<size_t>(j)] = masked[y.row0 + j] * static_cast<double>(tile[j]);
                if (residual_[row0 + i] > 0) out[row0 + i] += dot(tile, scaled.data(), y.rows);
            }
        });
        return true;
    };
    sweep_panels<T>(run_, tiles, 0, n(), panel);
    evaluations_ += n() * n();
    check_residuals(out);
}

template <class T>
void PartialCholesky<T>::factor_rows(const int64_t *rows, int64_t count, double *out) const {
    const int64_t m = this->count();
    check_rows(rows, count);
    for (int64_t k = 0; k < count; ++k) std::copy_n(factor_.data() + rows[k] * stride_, m, out + k * m);
}

// Each thread holds two panels of points, and a transposed copy of the rows of L that belong to one
// of them. Each pass holds one vector of n numbers (`masked`). A product also holds L^T v, which is a
// sum over slabs, and the contributions of up to 64 slabs to it.
template <class T>
Bytes PartialCholesky<T>::residual_bytes(int64_t n, int64_t m, int64_t threads, const TileBytes &tiles) {
    const int64_t rows = std::min(n, tile_rows), ready = tiles.stored(blocks_of(n), n),
                  turned = tile_rows * m * static_cast<int64_t>(sizeof(T)),
                  each = tiles.scratch + turned + 2 * (tiles.stored(1, rows) + tiles.loading(rows)),
                  sums = std::min<int64_t>(slabs_of(n), 64);
    return Bytes(held_by(threads, blocks_of(n), tiles.scratch + turned + tiles.stored(1, rows)).likely,
                 threads * each + (ready <= sweep_keeps ? ready : 0)) +
           8 * (n + (sums + 1) * m);
}

#define INSTANTIATE(T)                                                                                                 \
    template void PartialCholesky<T>::check_rows(const int64_t *, int64_t) const;                                      \
    template void PartialCholesky<T>::residual_columns(const int64_t *, int64_t, double *, int64_t);                   \
    template void PartialCholesky<T>::residual_product(const double *, double *);                                      \
    template void PartialCholesky<T>::residual_row_squares(const double *, double *);                                  \
    template void PartialCholesky<T>::factor_rows(const int64_t *, int64_t, double *) const;                           \
    template Bytes PartialCholesky<T>::residual_bytes(int64_t, int64_t, int64_t, const TileBytes &)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

} // namespace mercer
