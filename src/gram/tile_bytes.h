// The memory that tiles take, foreseen from a kernel and the shape of the rows.
#pragma once
#include "../core/run.h"

namespace mercer {

class Expression;
class Source;

// Bytes of what computes tiles: the scratch of a thread, panels of rows once they are loaded, what loading takes beside them.
struct TileBytes {
    int64_t scratch = 0, panel = 0, row = 0, loading_row = 0;
    bool whole = false; // values come a tile at a time, not a strip (Tiles::whole)
    int64_t held(int64_t panels, int64_t rows) const { return panels * panel + rows * row; }
    int64_t loading(int64_t rows) const { return rows * loading_row; }
};

// Of tiles of all rows of source, prepared as in a fit.
template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source);
// An upper bound for one thread with two panels of whole rows.
template <class T>
int64_t tile_bytes(const Expression &kernel, const Source &source);
// Of a sweep over tiles by all threads. all: the source's rows are on both sides; few: few points are on one side.
enum class Others { few, all };
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32,
                  Others others = Others::few);

} // namespace mercer
