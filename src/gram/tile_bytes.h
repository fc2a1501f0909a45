// The memory that tiles need, computed in advance from a kernel and the shape of the rows.
#pragma once
#include "../core/run.h"

namespace mercer {

class Expression;
class Source;

// The bytes that computing tiles needs. scratch: for each thread; panel: for each loaded panel;
// row: for each row of a loaded panel; loading_row: for each row of a panel that is just being
// loaded, in addition.
struct TileBytes {
    int64_t scratch = 0, panel = 0, row = 0, loading_row = 0;
    bool whole = false; // values are computed by whole tiles (Tiles::whole)
    // stored returns the bytes of loaded panels that have `rows` rows together, and loading the
    // bytes that are needed in addition while a panel of `rows` rows is loaded.
    int64_t stored(int64_t panels, int64_t rows) const { return panels * panel + rows * row; }
    int64_t loading(int64_t rows) const { return rows * loading_row; }
};

// Returns the bytes for tiles between all rows of `source`, prepared as in a fit.
template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source);
// Returns the bytes for a sweep over tiles by all threads. all: the rows of source are on both
// sides; few: one side has few points.
enum class Others { few, all };
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32,
                  Others others = Others::few);

} // namespace mercer
