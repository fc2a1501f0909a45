#include "object_matrix.h"

#include "../core/rounding.h"
#include "../core/run.h"
#include "../core/structs.h"
#include "../core/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

MatrixSource::MatrixSource(const mercer_view &view, int32_t values)
    : ObjectSource(
          {sizeof(mercer_objects), view.rows, values, MERCER_THREAD_SAFE | MERCER_PSD, look_up, nullptr, this, nullptr},
          "the matrix contains"),
      view_(view) {}

template <class T>
std::shared_ptr<MatrixSource> MatrixSource::read_whole(Run &run, const Source &rows, int32_t values) {
    constexpr int64_t window = 1 << 20; // entries
    const int64_t n = rows.rows(), cols = rows.cols(), step = std::max<int64_t>(window / std::max<int64_t>(cols, 1), 1);
    Buffer<unsigned char> stored = run.buffer<unsigned char>(checked_bytes("the matrix", n, cols, sizeof(T)));
    T *to = reinterpret_cast<T *>(stored.data());
    for (int64_t i = 0; i < n; i += step) {
        rows.read(i, std::min(step, n - i), to + i * cols);
        run.progress(static_cast<double>(i) / static_cast<double>(n));
    }
    auto out = std::make_shared<MatrixSource>(view_of_rows(rows.dtype(), n, cols, to), values);
    out->stored_ = std::move(stored);
    return out;
}

std::shared_ptr<MatrixSource> MatrixSource::from_rows(Run &run, const Source &rows, int32_t values) {
    return rows.dtype() == MERCER_F32 ? read_whole<float>(run, rows, values) : read_whole<double>(run, rows, values);
}

double MatrixSource::entry(int64_t i, int64_t j) const {
    const int64_t at = i * view_.row_stride + j * view_.col_stride;
    return view_.dtype == MERCER_F32 ? static_cast<double>(static_cast<const float *>(view_.data)[at])
                                     : static_cast<const double *>(view_.data)[at];
}

int32_t MatrixSource::look_up(void *self, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const MatrixSource &matrix = *static_cast<const MatrixSource *>(self);
    for (int64_t k = 0; k < count; ++k) values[k] = matrix.entry(i[k], j[k]);
    return 0;
}

// Entries carry rounding errors of a few u times the magnitude of the numbers from which the caller
// computed them, which is of the order of the largest entry. Asymmetry of up to 1000 u times the
// largest entry is therefore allowed. The two triangles are compared block by block, so that both
// are read by whole cache lines.
void MatrixSource::check_fit(Run &run) const {
    constexpr int64_t side = 64;
    const int64_t n = rows(), blocks = (n + side - 1) / side;
    if (columns() != n)
        fail(MERCER_E_SHAPE, "the matrix is %" PRId64 " x %" PRId64 ", must be square to be fitted on", n, columns());
    const bool by_rows = view_.col_stride == 1;
    std::vector<double> largest(static_cast<size_t>(blocks));
    parallel_for(run, blocks, [&](int64_t b) {
        for (int64_t i = b * side; i < std::min(n, (b + 1) * side); ++i)
            for (int64_t j = 0; j < n; ++j) {
                const double value = by_rows ? entry(i, j) : entry(j, i);
                if (!std::isfinite(value) || (is_distance() && value < 0))
                    pair_is_wrong(value, by_rows ? i : j, by_rows ? j : i);
                largest[static_cast<size_t>(b)] = std::max(largest[static_cast<size_t>(b)], std::fabs(value));
            }
    });
    const double allowed = 1000 * unit_roundoff(view_.dtype == MERCER_F32) *
                           (largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end()));
    auto is_wrong = [&](int64_t i, int64_t j) {
        return i == j ? is_distance() && entry(i, i) > allowed : std::fabs(entry(i, j) - entry(j, i)) > allowed;
    };
    parallel_for(run, blocks, [&](int64_t b) {
        std::pair<int64_t, int64_t> first{n, n};
        for (int64_t column = b; column < blocks; ++column)
            for (int64_t i = b * side; i < std::min({n, (b + 1) * side, first.first + 1}); ++i)
                for (int64_t j = std::max(i, column * side); j < std::min(n, (column + 1) * side); ++j)
                    if (is_wrong(i, j)) first = std::min(first, {i, j});
        const auto [i, j] = first;
        if (i == j && i < n)
            fail(MERCER_E_DATA, "the matrix contains %g as the distance of row %" PRId64 " to itself, must be 0",
                 entry(i, i), i);
        if (i < n)
            fail(MERCER_E_DATA,
                 "the matrix is not symmetric: row %" PRId64 ", column %" PRId64 " is %.9g, row %" PRId64
                 ", column %" PRId64 " is %.9g",
                 i, j, entry(i, j), j, i, entry(j, i));
    });
}

} // namespace mercer
