// The memory that tiles need, computed in advance from a kernel and the shape of the rows.
#pragma once
#include "../core/run.h"

namespace mercer {

class Expression;
class Source;

// Bytes that computing tiles needs. scratch: per thread; panel and row: per loaded panel, and in
// addition per row in it; loading_row: in addition per row, while its panel is being loaded.
struct TileBytes {
    int64_t scratch = 0, panel = 0, row = 0, loading_row = 0;
    bool whole = false; // values are computed by whole tiles (Tiles::whole)
    int64_t stored(int64_t panels, int64_t rows) const { return panels * panel + rows * row; }
    int64_t loading(int64_t rows) const { return rows * loading_row; }
};

// For tiles of all rows of source, prepared as in a fit.
template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source);
// For a sweep over tiles by all threads. all: the rows of source are on both sides; few: one side
// has few points.
enum class Others { few, all };
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32,
                  Others others = Others::few);

} // namespace mercer
