#include "kernel_matrix.h"

#include "../gram/fused.h"
#include "../gram/tile.h"
#include "prepare.h"

#include <cinttypes>
#include <limits>

namespace mercer {
namespace {

template <class T>
void kernel_matrix_as(Run &run, const Prepared &x, const std::shared_ptr<const Source> &y, const mercer_view &out) {
    Points<T> xs(x.source, x.map, leaf_specs(x.kernel)), ys = xs;
    if (y) ys = Points<T>(y, x.map, leaf_specs(x.kernel));
    xs.lean();
    ys.lean();
    Tiles<T> tiles(x.kernel, xs, ys);
    advise_huge(out.data, out.rows * out.cols * static_cast<int64_t>(sizeof(T)));
    const FusedTable<T> &table = fused_table<T>();
    const bool by_rows = out.col_stride == 1;
    const int64_t stride = by_rows ? out.row_stride : out.col_stride;
    // The address of entry (row, col) if `out` is row-major; if it is column-major, of (col, row).
    auto at = [&](int64_t row, int64_t col) { return static_cast<T *>(out.data) + row * stride + col; };
    auto store = [&](int64_t, const Panel<T> &p, const Panel<T> &q, TileScratch<T> &scratch) {
        tiles.strips(p, q, scratch, [&](const typename Tiles<T>::Strip &strip) {
            const int64_t row = p.row0 + strip.row0, col = q.row0;
            T *values = scratch.tile.data();
            // In a tile on the diagonal, each entry below the diagonal is replaced by its mirror
            // image above it, which is in this strip or already in `out`, so that the matrix is
            // exactly symmetric.
            for (int64_t i = 0; !y && row >= col && i < strip.rows; ++i)
                for (int64_t j = 0; j < strip.row0 + i; ++j)
                    values[i * tile_rows + j] =
                        j >= strip.row0 ? values[(j - strip.row0) * tile_rows + strip.row0 + i] : *at(row + i, col + j);
            if (by_rows || !y) table.store(strip.rows, q.rows, values, at(row, col), stride);
            if (!by_rows || !y) table.store_transposed(strip.rows, q.rows, values, at(col, row), stride);
        });
        return true;
    };
    sweep_panels<T>(run, tiles, 0, xs.rows(), store, y ? Range::all : Range::upper);
}

// Moves the entries of complete rows and columns, which were written to the upper left corner of
// `out`, to the places that the caller expects, and sets all others to NaN. It works from the end
// to the beginning: no entry moves towards the beginning, so none is overwritten before it has
// moved.
template <class T>
void spread_complete(const Source &x, const Source &y, const mercer_view &out) {
    auto at = [&](int64_t i, int64_t j) -> T & {
        return static_cast<T *>(out.data)[i * out.row_stride + j * out.col_stride];
    };
    int64_t row = x.rows();
    for (int64_t i = out.rows - 1; i >= 0; --i) {
        const bool has_row = row > 0 && x.number(row - 1) == i;
        row -= has_row;
        int64_t col = y.rows();
        for (int64_t j = out.cols - 1; j >= 0; --j) {
            const bool has_col = col > 0 && y.number(col - 1) == j;
            col -= has_col;
            at(i, j) = has_row && has_col ? at(row, col) : std::numeric_limits<T>::quiet_NaN();
        }
    }
}

template <class T>
void kernel_matrix_of(Run &run, const Prepared &x, const std::shared_ptr<const Source> &y, const mercer_view &out) {
    const Source &other = y ? *y : *x.source;
    mercer_view complete = out; // the upper left corner of out, for rows and columns without missing values
    complete.rows = x.source->rows(), complete.cols = other.rows();
    if (complete.rows > 0 && complete.cols > 0) kernel_matrix_as<T>(run, x, y, complete);
    if (complete.rows < out.rows || complete.cols < out.cols) spread_complete<T>(*x.source, other, out);
}

} // namespace

void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out) {
    run.expect({{"read", 1}, {"gram", 9}});
    run.stage("read");
    const Prepared prepared = prepare(run, recipe, data_of(run, recipe, x), out.dtype == MERCER_F32);
    for (const std::string &warning : prepared.warnings) run.log(2, warning.c_str());
    run.stage("gram");
    std::shared_ptr<const Source> other;
    if (y) {
        other = rows_of(run, recipe, y->source);
        if (other->kind() == Source::Kind::objects || prepared.source->kind() == Source::Kind::objects)
            fail(MERCER_E_UNSUPPORTED, "kernel matrix: objects have values only among themselves, so y must be NULL");
        if (other->cols() != prepared.source->cols())
            fail(MERCER_E_SHAPE, "y has %" PRId64 " columns, but x has %" PRId64, other->cols(),
                 prepared.source->cols());
    }
    const int64_t rows = prepared.source->given_rows(), cols = other ? other->given_rows() : rows;
    if (out.rows != rows || out.cols != cols)
        fail(MERCER_E_SHAPE, "out is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, out.rows, out.cols,
             rows, cols);
    check_apart("out", out, "x", *x.source);
    if (y) check_apart("out", out, "y", *y->source);
    if (prepared.f32)
        kernel_matrix_of<float>(run, prepared, other, out);
    else
        kernel_matrix_of<double>(run, prepared, other, out);
    run.progress(1);
}

} // namespace mercer
