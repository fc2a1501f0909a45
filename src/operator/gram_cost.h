// The cost of passes over a kernel matrix, computed in advance from the kernel and the shape of the
// rows.
#pragma once
#include "../gram/data.h"

namespace mercer {

// The number of kernel values in one pass over the tiles I <= J; diagonal tiles are computed whole.
int64_t pass_evaluations(int64_t n);

// What a kernel matrix keeps between passes: nothing (rows are read and prepared again in each
// pass), its prepared rows, or all values.
enum class Store { nothing, rows, matrix };

// Bytes that passes with p columns over n rows take.
// vectors: input, output and partial products of any pass.
// scratch: workspace of all threads, if kernel values are computed.
// panels: the prepared rows that all threads hold at once, if prepared rows are not kept.
// diagonal: the panels that all threads hold at once to compute the diagonal.
// loading: additional memory while the rows that are kept are prepared.
// rows: the prepared rows, if they are kept.
// matrix: the kernel values, if they are kept.
struct Need {
    Bytes vectors, scratch, panels, diagonal, loading;
    int64_t rows, matrix;
};

template <class T>
Need gram_need(const Run &run, int64_t n, int64_t p, const TileBytes &tiles);
// The same for m rows of source and this number of columns.
template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns) {
    return gram_need<T>(run, m, columns, tiles_of<T>(kernel, source));
}

// store: what the service `gram` of plugin.h keeps of the kernel matrix between passes. bytes: the
// memory of what is kept, plus that of one call with `columns` columns. The decision depends on the
// limit of the budget, and not on what is left of it, so that a forecast and the fit decide alike.
struct GramService {
    Store store;
    Bytes bytes;
};
template <class T>
GramService gram_service(const Run &run, int64_t n, int32_t flags, int64_t columns, const TileBytes &tiles);

// The number of super-panels in which a pass gathers the blocks of rows: an even number, or 1, that
// exceeds the number of blocks by at most 1 and is at most 512. With 512, all rows are read 512
// times in a pass, which takes 1 % of its time at n = 10^6, and a pair of super-panels is about
// 10 ms of work.
int64_t super_panels(int64_t blocks);

// True if kernel values can be recomputed about as fast as stored ones can be read.
bool streams_well(const Expression &kernel, const Source &source);

} // namespace mercer
