// Where iterations begin: the leading eigenvectors of a Nystrom approximation K ~ L L^T, L by randomly pivoted Cholesky in
// f32 (Chen, Epperly, Tropp and Webber 2023). They save half of the passes over K or more (FACTS B3.4); their error costs
// nothing but passes.
//
//   P S L = U diag(sigma) V^T,  sigma^2 and V from the m x m matrix L^T S P S L;  start = P S L V_count
//
// S = diag(sqrt w), P = 1 - u u^T as in WeightedOperator. Cost: n m kernel values, 2 n m^2 flops in f32; memory n (4 m + 8
// count) bytes.
#include "start.h"

#include "../core/threads.h"

namespace mercer {
namespace {

constexpr int64_t slab_rows = 1024, slab_window = 16; // whose parts are held at once

// Adds up what slabs of rows give, in their order.
class SlabSum {
  public:
    SlabSum(Run &run, int64_t size, int64_t n)
        : size_(size), n_(n), slabs_((n + slab_rows - 1) / slab_rows), run_(run) {}
    // part(row0, rows, out) fills size numbers.
    template <class Part>
    Buffer<double> operator()(Part &&part) {
        Buffer<double> sum = std::move(run_.buffer<double>(size_).zero());
        Buffer<float> parts = run_.buffer<float>(std::min(slab_window, slabs_), size_);
        for (int64_t first = 0; first < slabs_; first += slab_window) {
            const int64_t count = std::min(slab_window, slabs_ - first);
            parallel_for(run_, count, [&](int64_t s) {
                const int64_t row0 = (first + s) * slab_rows;
                part(row0, std::min(slab_rows, n_ - row0), parts.data() + s * size_);
            });
            for (int64_t s = 0; s < count; ++s)
                for (int64_t k = 0; k < size_; ++k) sum[k] += static_cast<double>(parts[s * size_ + k]);
        }
        return sum;
    }

  private:
    int64_t size_, n_, slabs_;
    Run &run_;
};

} // namespace

int64_t start_bytes(const Run &run, int64_t n, int64_t m, int64_t count, int64_t tile_bytes) {
    if (m == 0) return 0;
    const int64_t threads = run.threads(), slabs = (n + slab_rows - 1) / slab_rows,
                  sums = 4 * m * m * std::min(slab_window, slabs) + 8 * m * m, eigh = 8 * m * (m + 2 * count + 80);
    return PartialCholesky<float>::kept_bytes(n, m, false) +
           std::max(PartialCholesky<float>::growing_bytes(n, m, false, threads, tile_bytes),
                    8 * n * count + std::max(sums, eigh) + 4 * m * count + threads * 4 * slab_rows * (m + count));
}

Buffer<double> start_vectors(Run &run, const PivotRows &rows, const WeightedOperator &op, const double *root, int64_t m,
                             int64_t count, const Random &random, int64_t &evaluations) {
    const int64_t n = rows.n;
    PartialCholesky<float> factor(run, rows, m);
    factor.grow_sampled({m}, random);
    evaluations += factor.evaluations();
    m = factor.count();
    count = std::min(count, m);
    const int64_t ld = factor.stride();
    const float *l = factor.factor();

    // The mean u^T S L, and the matrix of what is left.
    const double *u = op.unit();
    SlabSum row_sum(run, m, n), square_sum(run, m * m, n);
    auto weight = [&](int64_t i) { return static_cast<float>(root ? root[i] : 1); };
    Buffer<double> mean = std::move(run.buffer<double>(m).zero());
    if (op.centred())
        mean = row_sum([&](int64_t row0, int64_t count_rows, float *out) {
            std::fill_n(out, m, 0.0f);
            for (int64_t i = row0; i < row0 + count_rows; ++i) {
                const float factor_i = static_cast<float>(u[i]) * weight(i);
                for (int64_t k = 0; k < m; ++k) out[k] += factor_i * l[i * ld + k];
            }
        });
    auto centred_slab = [&](int64_t row0, int64_t count_rows, float *out) { // P S L, row-major
        for (int64_t i = 0; i < count_rows; ++i) {
            const float w = weight(row0 + i), ui = static_cast<float>(u[row0 + i]);
            for (int64_t k = 0; k < m; ++k)
                out[i * m + k] = w * l[(row0 + i) * ld + k] - ui * static_cast<float>(mean[k]);
        }
    };
    Pool<Buffer<float>> slabs(
        [&] { return std::unique_ptr<Buffer<float>>(new Buffer<float>(run.buffer<float>(slab_rows, m))); });
    Buffer<double> gram = square_sum([&](int64_t row0, int64_t count_rows, float *out) {
        auto slab = slabs.take();
        centred_slab(row0, count_rows, slab->data());
        gemm('N', 'T', m, m, count_rows, 1.0f, slab->data(), m, slab->data(), m, 0.0f, out, m);
    });
    Buffer<double> values = run.buffer<double>(count), vectors = run.buffer<double>(m, count);
    eigh_top(m, gram.data(), m, count, values.data(), vectors.data(), m);
    Buffer<float> v = run.buffer<float>(m, count);
    std::copy(vectors.begin(), vectors.end(), v.begin());

    Buffer<double> start = run.buffer<double>(n, count);
    parallel_for(run, (n + slab_rows - 1) / slab_rows, [&](int64_t s) {
        const int64_t row0 = s * slab_rows, count_rows = std::min(slab_rows, n - row0);
        auto slab = slabs.take();
        centred_slab(row0, count_rows, slab->data());
        Buffer<float> part = run.buffer<float>(count_rows, count);
        gemm('T', 'N', count_rows, count, m, 1.0f, slab->data(), m, v.data(), m, 0.0f, part.data(), count_rows);
        for (int64_t j = 0; j < count; ++j)
            std::copy_n(part.data() + j * count_rows, count_rows, start.data() + row0 + j * n);
    });
    return start;
}

} // namespace mercer
