#include "tile.h"

#include "../core/threads.h"

#include <algorithm>

namespace mercer {

template <class T>
void sweep_panels(Run &run, const Tiles<T> &tiles, int64_t row0, int64_t rows, const PanelBody<T> &body, Range range) {
    // Panels of y are prepared once if they fit in the limits of sweep_keeps, and otherwise again
    // for each slab, which costs 1/256 of the arithmetic of the slab.
    const int64_t y_blocks = blocks_of(tiles.y().rows());
    std::vector<Panel<T>> kept;
    TileBytes y;
    tiles.y().measure(y);
    const int64_t stored = y.stored(y_blocks, tiles.y().rows());
    if (stored + y.loading(tile_rows) <= std::min(sweep_keeps, run.budget()->left() / 4)) {
        kept.resize(static_cast<size_t>(y_blocks));
        auto load = [&](int64_t b) { kept[static_cast<size_t>(b)] = tiles.y().load(run, b); };
        Run::Span span(run, 0, 0);
        // On a busy machine, waking a team of threads may take longer than copying a mebibyte, and
        // the transform of a single row would have to wait for it.
        constexpr int64_t quick = int64_t{1} << 20;
        parallel_for(run, y_blocks, load, tiles.serial() || stored <= quick);
    }
    Pool<TileScratch<T>> pool([&] { return std::unique_ptr<TileScratch<T>>(new TileScratch<T>(tiles.scratch(run))); });
    auto slab = [&](int64_t s) {
        auto stored = pool.take();
        TileScratch<T> &scratch = *stored;
        scratch.by_differences = false;
        Panel<T> x = tiles.x().load(run, row0 + s * tile_rows, std::min(tile_rows, rows - s * tile_rows));
        for (int64_t b = range == Range::upper ? s : 0; b < y_blocks; ++b) {
            if (run.stopped(static_cast<double>(s) / static_cast<double>(blocks_of(rows)))) return;
            Panel<T> loaded;
            if (kept.empty()) loaded = tiles.y().load(run, b);
            if (!body(s, x, kept.empty() ? loaded : kept[static_cast<size_t>(b)], scratch)) break;
        }
    };
    parallel_for(run, blocks_of(rows), slab, tiles.serial());
    run.progress(1);
}

template <class T>
void sweep(Run &run, const Tiles<T> &tiles, int64_t row0, int64_t rows,
           const std::function<bool(const Tile<T> &)> &body, Range range) {
    auto whole = [&](int64_t slab, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) {
        tiles.compute(x, y, scratch);
        return body({slab, x, y, scratch.tile.data()});
    };
    sweep_panels<T>(run, tiles, row0, rows, whole, range);
}

template <class T>
void self_values(Run &run, const Tiles<T> &tiles, double *out) {
    auto block = [&](int64_t b) {
        const Panel<T> panel = tiles.x().load(run, b);
        Buffer<T> values = run.buffer<T>(panel.rows);
        tiles.self(run, panel, false, values.data());
        std::copy(values.begin(), values.end(), out + b * tile_rows);
    };
    parallel_for(run, blocks_of(tiles.x().rows()), block, tiles.serial());
}

template void sweep_panels(Run &, const Tiles<float> &, int64_t, int64_t, const PanelBody<float> &, Range);
template void sweep_panels(Run &, const Tiles<double> &, int64_t, int64_t, const PanelBody<double> &, Range);
template void self_values(Run &, const Tiles<float> &, double *);
template void self_values(Run &, const Tiles<double> &, double *);
template void sweep(Run &, const Tiles<float> &, int64_t, int64_t, const std::function<bool(const Tile<float> &)> &,
                    Range);
template void sweep(Run &, const Tiles<double> &, int64_t, int64_t, const std::function<bool(const Tile<double> &)> &,
                    Range);

} // namespace mercer
