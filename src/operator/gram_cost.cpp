#include "gram_cost.h"

#include "../core/threads.h"
#include "../gram/tile.h"

namespace mercer {

namespace {

// Up to this many columns, recomputing the values of a fused kernel is about as fast as reading
// stored ones. Measured with 16 columns in f32 on one core: recomputing takes 0.45 ns a value, and
// reading 0.32 ns; storing the values first costs more time than all passes then save.
constexpr int64_t stream_up_to = 64;

} // namespace

int64_t super_panels(int64_t blocks) { return blocks < 2 ? blocks : std::min<int64_t>(512, (blocks + 1) / 2 * 2); }

int64_t pass_evaluations(int64_t n) {
    const int64_t full = n / tile_rows, last = n % tile_rows;
    return tile_rows * tile_rows * (full * (full + 1) / 2) + last * (full * tile_rows + last);
}

template <class T>
Need gram_need(const Run &run, int64_t n, int64_t p, const TileBytes &of) {
    const int64_t size = sizeof(T), blocks = blocks_of(n), supers = super_panels(blocks), pp = padded_columns<T>(p);
    // `each` is the number of panels in a pair of super-panels, which one thread holds. No two
    // threads hold the same super-panel at a time, so together they hold each panel at most once.
    const int64_t threads = run.threads(), rows = std::min(tile_rows, n),
                  part = ((of.whole ? tile_rows : strip_rows) + tile_rows) * pp * size,
                  each = std::min(2 * ((blocks + supers - 1) / supers), blocks);
    const Bytes loading = held_by(threads, supers, of.loading(rows)), panels = held_by(threads, supers, each);
    auto loaded = [&](int64_t count) { return of.stored(count, std::min(count * tile_rows, n)); };
    return {held_by(threads, supers, part) + n * pp * static_cast<int64_t>(sizeof(T) + sizeof(double)),
            held_by(threads, supers, of.scratch),
            Bytes(loaded(panels.likely), loaded(std::min(panels.most, blocks))) + Bytes(0, loading.most),
            held_by(threads, blocks, of.stored(1, rows)) + Bytes(0, loading.most),
            Bytes(0, loading.most),
            of.stored(blocks, n),
            checked_bytes("a stored kernel matrix", pass_evaluations(n), 1, size)};
}
template Need gram_need<float>(const Run &, int64_t, int64_t, const TileBytes &);
template Need gram_need<double>(const Run &, int64_t, int64_t, const TileBytes &);

template <class T>
GramService gram_service(const Run &run, int64_t n, int32_t flags, int64_t columns, const TileBytes &tiles) {
    const bool centred = flags & MERCER_GRAM_CENTRED, stored = flags & MERCER_GRAM_STORED;
    // Centring needs the mean, which is computed as one more column.
    const Need need = gram_need<T>(run, n, columns + centred, tiles);
    const int64_t limit = run.budget()->limit(), half = limit / 2;
    const Store store = stored && need.matrix + need.rows <= half ? Store::matrix
                        : need.rows <= limit / 4                  ? Store::rows
                                                                  : Store::nothing;
    // Five vectors of n f64 numbers: the roots of the weights, the mean, the shift computed from
    // it, and for row_squares the weights and the shift.
    const int64_t own = 8 * 5 * n, chosen = tiles.stored(blocks_of(columns), columns);
    const Bytes pass = larger(need.vectors, Bytes(chosen) + need.diagonal);
    const Bytes loading = need.rows + need.loading + need.scratch;
    switch (store) {
    case Store::matrix: return {store, need.matrix + own + larger(loading, pass + need.scratch)};
    case Store::rows: return {store, need.rows + own + larger(need.loading, pass + need.scratch)};
    case Store::nothing: break;
    }
    return {store, own + (pass + need.scratch + need.panels)};
}
template GramService gram_service<float>(const Run &, int64_t, int32_t, int64_t, const TileBytes &);
template GramService gram_service<double>(const Run &, int64_t, int32_t, int64_t, const TileBytes &);

bool streams_well(const Expression &kernel, const Source &source) {
    if (source.kind() != Source::Kind::dense) return false;
    int64_t columns = 0;
    for (const LeafSpec &leaf : leaf_specs(kernel)) {
        if (!(leaf.rate > 0)) return false;
        columns += leaf.columns.empty() ? source.cols() : static_cast<int64_t>(leaf.columns.size());
    }
    return columns <= stream_up_to;
}

} // namespace mercer
