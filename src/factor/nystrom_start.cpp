// Start vectors of iterations: the leading eigenvectors of a Nystrom approximation in f32. They
// come from kernel PCA projected on the span of m points (nystrom_span.h) that randomly pivoted
// Cholesky draws (Chen, Epperly, Tropp and Webber 2023). In measurements they saved at least half
// of the passes over K. Errors in them can cost further passes, but never accuracy. The points are
// drawn from all rows if n is at most sample_rows. Otherwise they are drawn from a sample, one row
// from each of sample_rows equal parts, so that no n x m factor exists. The cost is 2 n m kernel
// values (n m if n is at most sample_rows, because the factor that draws the points then contains
// L) and 2 n m^2 flops in f32. The memory is O(m) per row of the sample, and a slab for each
// thread.
#include "nystrom_start.h"

#include "basis.h"
#include "nystrom_span.h"

namespace mercer {
namespace {

constexpr int64_t sample_rows = 16384;
// Eigenvalues of at most this fraction of the largest one are rounding errors of f32, so their
// eigenvectors are not used.
constexpr double least = 1e-6;

int64_t number_of(const KernelRows &rows, int64_t i) { return rows.numbers ? rows.numbers[i] : i; }

// Returns the pivots that are drawn from a sample, as row numbers of the source.
std::vector<int64_t> sampled_pivots(Run &run, const StartTask &task, int64_t &evaluations) {
    std::vector<int64_t> numbers;
    std::vector<double> weights;
    for (int64_t s = 0; s < sample_rows; ++s) {
        const int64_t row = row_of_part(task.random, s, sample_rows, task.rows.n);
        numbers.push_back(number_of(task.rows, row));
        weights.push_back(task.weights ? task.weights[row] : 1);
    }
    const KernelRows sample{task.rows.source, task.rows.map, task.rows.kernel,
                            numbers.data(),   sample_rows,   weights.data()};
    PartialCholesky<float> factor(run, sample, task.m);
    factor.grow_sampled({task.m}, task.random);
    evaluations += factor.evaluations();
    std::vector<int64_t> out;
    for (int64_t k = 0; k < factor.count(); ++k) out.push_back(numbers[static_cast<size_t>(factor.index()[k])]);
    return out;
}

void write(Run &run, const StartTask &task, const SpanRows<float> &span, Columns to) {
    if (span.rank() == 0) return;
    const Projection projection = project(run, span, task.weights, task.centred, to.count);
    to.count = 0;
    while (to.count < projection.count() &&
           projection.theta[static_cast<size_t>(to.count)] > least * projection.theta[0])
        ++to.count;
    if (to.count > 0) directions(run, span, projection, task.weights, to);
}

} // namespace

int64_t start_vectors(Run &run, const StartTask &task, Columns to) {
    const KernelRows &rows = task.rows;
    if (rows.n <= sample_rows) {
        PartialCholesky<float> factor(run, rows, task.m);
        factor.grow_sampled({task.m}, task.random);
        write(run, task, SpanRows<float>(factor), to);
        return factor.evaluations();
    }
    int64_t evaluations = 0;
    const std::vector<int64_t> pivots = sampled_pivots(run, task, evaluations);
    const int64_t m = static_cast<int64_t>(pivots.size());
    const KernelRows points{rows.source, rows.map, rows.kernel, pivots.data(), m, nullptr};
    const SpanRows<float> span(run, rows.kernel, points_of<float>(rows), points_of<float>(points),
                               basis_of<float>(run, points));
    write(run, task, span, to);
    return evaluations + span.evaluations() + rows.n;
}

mercer_figure start_evaluations(int64_t n, int64_t m) {
    if (m == 0) return {};
    using Pivots = PartialCholesky<float>;
    const int64_t few = std::min(n, sample_rows), sweeps = n <= sample_rows ? 0 : 2 * n * m + n,
                  basis = n <= sample_rows ? 0 : Pivots::evaluations(m, m);
    return {static_cast<double>(few * (m + 1) + sweeps + basis),
            static_cast<double>(Pivots::evaluations(few, m) + sweeps + basis)};
}

Bytes start_bytes(const Run &run, int64_t n, int64_t m, int64_t p, const TileBytes &tiles) {
    if (m == 0) return 0;
    using Pivots = PartialCholesky<float>;
    const int64_t threads = run.threads(), few = std::min(n, sample_rows),
                  active = std::min(threads, (n + span_slab - 1) / span_slab), width = padded_columns<float>(p),
                  turning = projection_bytes(n, m, p) + 4 * m * width + active * span_slab * (4 * width + 8);
    const Bytes sweep = larger(project_bytes(n, m, p, threads, 4), turning);
    if (n <= sample_rows)
        return Pivots::stored_bytes_of(n, m, false, tiles) +
               larger(Pivots::growing_bytes(n, m, false, threads, tiles), sweep);
    const int64_t again = active * (span_slab * 4 * m + tiles.scratch + tiles.stored(1, tile_rows)),
                  basis =
                      8 * n + Pivots::stored_bytes_of(m, m, false, tiles) + 4 * m * m + tiles.stored(blocks_of(m), m);
    const Bytes growing = Pivots::growing_bytes(m, m, false, threads, tiles),
                chosen = 16 * few + Pivots::bytes(few, m, false, threads, tiles);
    return larger(chosen, basis + larger(growing, sweep + Bytes(again, again + active * tiles.loading(tile_rows))));
}

} // namespace mercer
