#include "operator.h"

#include "../core/blas.h"
#include "../core/slabs.h"
#include "../gram/points.h"

#include <algorithm>

namespace mercer {

namespace {

constexpr int64_t slab_rows = 2048;

} // namespace

Buffer<double> dots(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const Fill &q) {
    Buffer<double> out = std::move(run.buffer<double>(k, p).zero());
    Pool<Buffer<double>> pool([&] {
        return std::unique_ptr<Buffer<double>>(new Buffer<double>(run.buffer<double>(std::min(n, slab_rows), k + p)));
    });
    reduce_slabs<Buffer<double>>(
        run, {n, slab_rows},
        [&](int64_t row0, int64_t rows, Buffer<double> &part) {
            auto values = pool.take();
            part = run.buffer<double>(k, p);
            u(row0, rows, values->data(), k);
            q(row0, rows, values->data() + rows * k, p);
            gemm('N', 'T', k, p, rows, 1.0, values->data(), k, values->data() + rows * k, p, 0.0, part.data(), k);
        },
        [&](const Buffer<double> &part) {
            for (int64_t i = 0; i < k * p; ++i) out[i] += part[i];
        });
    return out;
}

void add_product(Run &run, int64_t n, int64_t k, const Fill &u, int64_t p, const double *s, double *y, int64_t stride) {
    parallel_for(run, (n + slab_rows - 1) / slab_rows, [&](int64_t slab) {
        const int64_t row0 = slab * slab_rows, count = std::min(slab_rows, n - row0);
        Buffer<double> rows = run.buffer<double>(k, count);
        u(row0, count, rows.data(), k);
        gemm('T', 'N', p, count, k, 1.0, s, k, rows.data(), k, 1.0, y + row0 * stride, stride);
    });
}

Fill rows_of(Columns x) {
    return [x](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t j = 0; j < x.count; ++j) x.block->read(x.first + j, row0, rows, to + j, stride);
    };
}

void Operator::apply(Run &run, bool rough, Columns q, Columns y) const {
    q.block->use(q.first, q.count);
    product(run, rough, q.count, rows_of(q), [&](double *from, int64_t stride) {
        y.block->use(y.first, y.count);
        parallel_for(run, blocks_of(n_), [&](int64_t b) {
            const int64_t row0 = b * tile_rows, rows = std::min(tile_rows, n_ - row0);
            for (int64_t j = 0; j < y.count; ++j)
                y.block->write(y.first + j, row0, rows, from + row0 * stride + j, stride);
        });
    });
}

void Operator::columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const {
    const Fill unit = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) std::fill_n(to + i * stride, count, 0.0);
        for (int64_t k = 0; k < count; ++k)
            if (index[k] >= row0 && index[k] < row0 + rows) to[(index[k] - row0) * stride + k] = 1;
    };
    product(run, false, count, unit, [&](const double *y, int64_t stride) {
        for (int64_t k = 0; k < count; ++k)
            for (int64_t i = 0; i < n_; ++i) out[i + k * ldo] = y[i * stride + k];
    });
}

void Operator::row_squares(Run &run, const Squares &of, double *out) const {
    const int64_t width = std::min(tile_rows, n_);
    Buffer<double> part = run.buffer<double>(n_, width);
    std::vector<int64_t> index(static_cast<size_t>(width));
    for_windows(run, n_, width, [&](int64_t first, int64_t count) {
        for (int64_t k = 0; k < count; ++k) index[static_cast<size_t>(k)] = first + k;
        columns(run, index.data(), count, part.data(), n_);
        parallel_for(run, count, [&](int64_t k) { // A is symmetric: column j is row j
            const double *column = part.data() + k * n_;
            const double own = of.shift ? of.shift[first + k] : 0;
            double sum = 0;
            for (int64_t i = 0; i < n_; ++i) {
                const double value = column[i] - own - (of.shift ? of.shift[i] : 0);
                sum += (of.weights ? of.weights[i] : 1) * value * value;
            }
            out[first + k] = sum;
        });
        return true;
    });
}

} // namespace mercer
