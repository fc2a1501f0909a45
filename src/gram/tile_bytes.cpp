#include "tile_bytes.h"

#include "../core/threads.h"
#include "tile.h"

namespace mercer {

template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source) {
    std::vector<LeafSpec> specs = leaf_specs(kernel);
    // For this form a fit shifts the rows, and so needs a copy of them. Here it matters only that
    // there is a shift: no row is loaded.
    for (LeafSpec &leaf : specs)
        if (leaf.form == MERCER_SQDIST && source.kind() == Source::Kind::dense) leaf.shift.resize(1);
    Points<T> points(std::shared_ptr<const Source>(std::shared_ptr<const Source>(), &source), {}, specs);
    points.lean();
    return Tiles<T>(kernel, points, points).bytes();
}

// In the worst case, each thread loads two panels and also holds all columns of their rows in f64.
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32, Others others) {
    const TileBytes of = f32 ? tiles_of<float>(kernel, source) : tiles_of<double>(kernel, source);
    const int64_t rows = std::min(tile_rows, std::max<int64_t>(source.rows(), 1)), mapped = rows * source.cols() * 8,
                  each = of.scratch + 2 * (of.stored(1, rows) + std::max(of.loading(rows), mapped)),
                  ready = others == Others::all ? of.stored(blocks_of(source.rows()), source.rows()) : 0;
    return {held_by(run.threads(), blocks_of(source.rows()), of.scratch + of.stored(1, rows)).likely,
            run.threads() * each + (ready <= sweep_keeps ? ready : 0)};
}

template TileBytes tiles_of<float>(const Expression &, const Source &);
template TileBytes tiles_of<double>(const Expression &, const Source &);

} // namespace mercer
