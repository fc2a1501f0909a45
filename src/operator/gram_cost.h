// What passes over a kernel matrix cost, foreseen from the kernel and the shape of the rows.
#pragma once
#include "../gram/data.h"

namespace mercer {

// Kernel values of one pass over the tiles I <= J (those on the diagonal are computed whole).
int64_t pass_evaluations(int64_t n);

// What a kernel matrix keeps between passes: nothing (rows are read and prepared again), its prepared rows, or all values.
enum class Hold { nothing, rows, matrix };

// Bytes of passes with p columns over n rows: blocks of vectors in any pass, scratch and panels of the threads where values
// are computed and where rows are not held, panels for the diagonal, held rows and what loading them takes, held values.
struct Need {
    Bytes vectors, scratch, panels, diagonal, loading;
    int64_t rows, matrix;
};

template <class T>
Need gram_need(const Run &run, int64_t n, int64_t p, const TileBytes &tiles);
// The same of m rows of source.
template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns) {
    return gram_need<T>(run, m, columns, tiles_of<T>(kernel, source));
}

// The number of groups that a pass gathers the blocks of rows in: even, no more than there are blocks, and at most 512. The rows
// are then read 512 times a pass, 1 % of its time at n = 10^6, and a pair of groups is some 10 ms of work.
int64_t super_panels(int64_t blocks);

// True if kernel values can be recomputed as fast as stored ones can be read.
bool streams_well(const Expression &kernel, const Source &source);

} // namespace mercer
