// One sweep over L gives mean and scatter:  sum w (l - c)(l - c)^T - W (mu - c)(mu - c)^T  with c the mean of the first
// slab, so that nothing is lost to a large mean. Cost n m^2 flops (the lower blocks of the symmetric scatter) in the tile's
// type, sums across slabs in f64 and in their order; an m x m eigenproblem. Memory O(m^2) a slab in flight.
#include "projected.h"

#include "../core/threads.h"

#include <cmath>

namespace mercer {
namespace {

int64_t slabs_of(int64_t n) { return (n + span_slab - 1) / span_slab; }

// Slabs whose scatter is held at once.
int64_t window_of(int64_t n, int64_t m, int64_t threads, int64_t size) {
    constexpr int64_t most_bytes = int64_t{32} << 20;
    return std::min(std::clamp<int64_t>(most_bytes / ((m * m + m) * size + 1), threads, 64), slabs_of(n));
}

} // namespace

int64_t project_bytes(int64_t n, int64_t m, int64_t count, int64_t threads, int64_t size) {
    const int64_t eigh = 8 * m * (count < m ? count + 80 : 2 * m + 12);
    return 8 * n + 8 * m * (m + count) + std::max(window_of(n, m, threads, size) * (m * m + m) * size, eigh);
}

template <class T>
SpanRows<T>::SpanRows(Run &run, const Expression &kernel, Points<T> rows, Points<T> basis_points,
                      std::shared_ptr<const PartialCholesky<T>> basis)
    : basis_(std::move(basis)), points_(std::make_unique<Points<T>>(std::move(rows))),
      basis_points_(std::make_unique<Points<T>>(std::move(basis_points))) {
    points_->lean();
    basis_points_->lean();
    tiles_ = std::make_unique<Tiles<T>>(kernel, *points_, *basis_points_);
    for (int64_t b = 0; b < blocks_of(basis_points_->rows()); ++b) basis_panels_.push_back(basis_points_->load(run, b));
    triangle_ = triangle(run);
}

template <class T>
Buffer<double> SpanRows<T>::triangle(Run &run) const {
    const PartialCholesky<T> &factor = held_ ? *held_ : *basis_;
    const int64_t m = factor.count();
    Buffer<double> out = std::move(run.buffer<double>(m, m).zero());
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j <= i; ++j)
            out[i + j * m] = static_cast<double>(factor.factor()[factor.index()[i] * factor.stride() + j]);
    return out;
}

template <class T>
const T *SpanRows<T>::rows(Run &run, int64_t row0, int64_t count, Buffer<T> &scratch, int64_t &stride) const {
    if (held_) {
        stride = held_->stride();
        return held_->factor() + row0 * stride;
    }
    const int64_t m = rank();
    if (scratch.empty()) scratch = run.buffer<T>(span_slab, m);
    Buffer<double> x = run.buffer<double>(count, m);
    TileScratch<T> tile = tiles_->scratch(run);
    std::vector<int64_t> column(static_cast<size_t>(basis_points_->rows()), -1);
    for (int64_t k = 0; k < m; ++k) column[static_cast<size_t>(basis_->index()[k])] = k;
    for (int64_t at = 0; at < count; at += tile_rows) {
        const Panel<T> panel = points_->load(run, row0 + at, std::min(tile_rows, count - at));
        for (const Panel<T> &y : basis_panels_)
            tiles_->strips(panel, y, tile, [&](const auto &strip) {
                for (int64_t j = 0; j < y.rows; ++j) {
                    const int64_t k = column[static_cast<size_t>(y.row0 + j)];
                    for (int64_t i = 0; k >= 0 && i < strip.rows; ++i)
                        x[at + strip.row0 + i + k * count] = static_cast<double>(tile.tile[i * tile_rows + j]);
                }
            });
    }
    evaluations_ += count * basis_points_->rows();
    trsm('T', count, m, triangle_.data(), m, x.data(), count);
    for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < m; ++k) scratch[i * m + k] = static_cast<T>(x[i + k * count]);
    stride = m;
    return scratch.data();
}

template <class T>
Projection project(Run &run, const SpanRows<T> &span, const double *self, const double *weights, bool centred,
                   int64_t count) {
    const int64_t n = span.n(), m = span.rank(), slabs = slabs_of(n);
    auto weight = [&](int64_t i) { return weights ? weights[i] : 1.0; };
    Projection out;
    out.mean.assign(static_cast<size_t>(m), 0.0);
    out.residual.resize(static_cast<size_t>(n));
    std::vector<T> origin(static_cast<size_t>(m), T(0));
    Buffer<T> scratch;
    int64_t stride = 0;
    if (centred) {
        const int64_t rows = std::min(n, span_slab);
        const T *l = span.rows(run, 0, rows, scratch, stride);
        std::vector<double> sum(static_cast<size_t>(m));
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t k = 0; k < m; ++k) sum[static_cast<size_t>(k)] += static_cast<double>(l[i * stride + k]);
        for (int64_t k = 0; k < m; ++k)
            origin[static_cast<size_t>(k)] = static_cast<T>(sum[static_cast<size_t>(k)] / static_cast<double>(rows));
    }
    // Parts of a few slabs at once: scatter (lower blocks) and sums, in the tile's type.
    constexpr int64_t block = 256;
    const int64_t part_size = m * m + m;
    const int64_t window = window_of(n, m, run.threads(), sizeof(T));
    Buffer<T> parts = run.buffer<T>(window, part_size);
    Buffer<double> scatter = std::move(run.buffer<double>(m, m).zero()), sums = std::move(run.buffer<double>(m).zero());
    struct Work {
        Buffer<T> made, rows;
    };
    Pool<Work> pool([&] { return std::unique_ptr<Work>(new Work{{}, run.buffer<T>(span_slab, m)}); });
    double total = 0;
    for (int64_t first = 0; first < slabs; first += window) {
        const int64_t now = std::min(window, slabs - first);
        Run::Span span_of(run, static_cast<double>(first) / static_cast<double>(slabs),
                          static_cast<double>(first + now) / static_cast<double>(slabs));
        parallel_for(run, now, [&](int64_t s) {
            const int64_t row0 = (first + s) * span_slab, rows = std::min(span_slab, n - row0);
            auto work = pool.take();
            int64_t ld = 0;
            const T *l = span.rows(run, row0, rows, work->made, ld);
            T *x = work->rows.data(), *part = parts.data() + s * part_size, *sum = part + m * m;
            std::fill_n(sum, m, T(0));
            for (int64_t i = 0; i < rows; ++i) {
                const T root = static_cast<T>(std::sqrt(weight(row0 + i)));
                double square = 0;
                for (int64_t k = 0; k < m; ++k) {
                    const T value = l[i * ld + k];
                    square += static_cast<double>(value) * static_cast<double>(value);
                    x[i * m + k] = root * (value - origin[static_cast<size_t>(k)]);
                    sum[k] += root * x[i * m + k];
                }
                out.residual[static_cast<size_t>(row0 + i)] = std::max(self[row0 + i] - square, 0.0);
            }
            for (int64_t j = 0; j < m; j += block) // column-major scatter: rows from j on
                gemm('N', 'T', m - j, std::min(block, m - j), rows, T(1), x + j, m, x + j, m, T(0), part + j + j * m,
                     m);
        });
        for (int64_t s = 0; s < now; ++s) {
            const T *part = parts.data() + s * part_size;
            for (int64_t j = 0; j < m; ++j)
                for (int64_t i = j; i < m; ++i) scatter[i + j * m] += static_cast<double>(part[i + j * m]);
            for (int64_t k = 0; k < m; ++k) sums[k] += static_cast<double>(part[m * m + k]);
        }
    }
    for (int64_t i = 0; i < n; ++i) total += weight(i);
    double mean_square = 0;
    for (int64_t k = 0; centred && k < m; ++k) {
        const size_t at = static_cast<size_t>(k);
        const double shift = sums[k] / total; // mu - c
        out.mean[at] = shift + static_cast<double>(origin[at]);
        mean_square += out.mean[at] * out.mean[at];
        for (int64_t j = 0; j <= k; ++j) scatter[k + j * m] -= total * shift * (sums[j] / total);
    }
    for (int64_t i = 0; i < n; ++i) {
        out.trace += weight(i) * (self[i] - mean_square);
        out.left += weight(i) * out.residual[static_cast<size_t>(i)];
    }
    count = std::min(count, m);
    out.theta.resize(static_cast<size_t>(count));
    out.v = run.buffer<double>(m, count);
    eigh_top(m, scatter.data(), m, count, out.theta.data(), out.v.data(), m);
    return out;
}

template <class T>
Buffer<double> directions(Run &run, const SpanRows<T> &span, const Projection &projection, const double *weights,
                          int64_t p) {
    const int64_t n = span.n(), m = span.rank();
    Buffer<double> out = run.buffer<double>(n, p);
    Buffer<T> v = run.buffer<T>(m, p); // V theta^-1/2
    std::vector<double> offset(static_cast<size_t>(p));
    for (int64_t j = 0; j < p; ++j)
        for (int64_t k = 0; k < m; ++k) {
            v[k + j * m] =
                static_cast<T>(projection.v[k + j * m] / std::sqrt(projection.theta[static_cast<size_t>(j)]));
            offset[static_cast<size_t>(j)] +=
                static_cast<double>(v[k + j * m]) * projection.mean[static_cast<size_t>(k)];
        }
    Pool<Buffer<T>> pool([&] { return std::unique_ptr<Buffer<T>>(new Buffer<T>()); });
    parallel_for(run, slabs_of(n), [&](int64_t s) {
        const int64_t row0 = s * span_slab, rows = std::min(span_slab, n - row0);
        auto made = pool.take();
        int64_t stride = 0;
        const T *l = span.rows(run, row0, rows, *made, stride);
        Buffer<T> part = run.buffer<T>(rows, p);
        gemm('T', 'N', rows, p, m, T(1), l, stride, v.data(), m, T(0), part.data(), rows);
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < rows; ++i) {
                const double root = weights ? std::sqrt(weights[row0 + i]) : 1;
                out[row0 + i + j * n] =
                    root * (static_cast<double>(part[i + j * rows]) - offset[static_cast<size_t>(j)]);
            }
    });
    return out;
}

template class SpanRows<float>;
template class SpanRows<double>;
template Projection project(Run &, const SpanRows<float> &, const double *, const double *, bool, int64_t);
template Projection project(Run &, const SpanRows<double> &, const double *, const double *, bool, int64_t);
template Buffer<double> directions(Run &, const SpanRows<float> &, const Projection &, const double *, int64_t);
template Buffer<double> directions(Run &, const SpanRows<double> &, const Projection &, const double *, int64_t);

} // namespace mercer
