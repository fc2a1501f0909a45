// The tile engine: kernel values between two panels, and the sweep that passes tiles to a consumer.
// No other part of the library loops over pairs of points.
#pragma once
#include "forms.h"
#include "points.h"
#include "thin.h"

namespace mercer {

// Values are computed in strips of this many rows. With 256 columns, a strip fits in the
// second-level cache together with the block of vectors with which it is multiplied.
constexpr int64_t strip_rows = 64;

// Memory for the tiles of one slab of rows. One thread processes these tiles one after the other.
template <class T>
struct TileScratch {
    TileScratch(Run &run, int64_t leaves, int64_t d_sparse)
        : run(run), task(run, Random(0, Stage::gram)), tile(run.buffer<T>(tile_rows, tile_rows)),
          factor(run.buffer<T>(leaves > 1 ? tile_rows : 0, tile_rows)),
          product(run.buffer<T>(leaves > 1 ? tile_rows : 0, tile_rows)), row(run.buffer<T>(d_sparse)) {
        row.zero();
    }
    Run &run;
    mercer_task task; // for block kernels
    // tile receives the values; factor and product are tiles for kernels of several leaves; row is
    // a dense row, for sparse data. Tiles have the stride tile_rows.
    Buffer<T> tile, factor, product, row;
    // Set by Tiles::fused for the rest of a slab: many of its pairs need differences.
    bool by_differences = false;
    // i, j: the numbers of the two objects of each pair; values: the values of these pairs.
    std::vector<int64_t> i, j;
    std::vector<double> values;
};

// Fails with E_UNSUPPORTED if the kernel cannot be computed from the values that the objects
// provide.
void check_objects(const Expression &kernel, const ObjectSource &objects);

template <class T>
class Tiles {
  public:
    // x and y must outlive this object. If only one side is sparse, it is expanded to dense rows.
    Tiles(const Expression &kernel, Points<T> &x, Points<T> &y);
    // Tiles of the values of a form, without a kernel, over all columns. x and y must have exactly
    // one leaf, of this form.
    Tiles(int32_t form, Points<T> &x, Points<T> &y);

    const Points<T> &x() const { return *x_; }
    const Points<T> &y() const { return *y_; }
    // Writes k(x_i, y_j) to scratch.tile, row-major with stride tile_rows, for all rows of x or for
    // those of a strip. Other entries of the tile may be overwritten.
    void compute(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) const {
        compute({x, 0, x.rows}, y, scratch);
    }
    struct Strip {
        const Panel<T> &x;
        int64_t row0, rows; // rows row0 ... row0 + rows - 1 of the panel
    };
    void compute(const Strip &x, const Panel<T> &y, TileScratch<T> &scratch) const;
    // Computes strip after strip of x in ascending order and calls body(strip) with the strip's
    // values in scratch.tile.
    template <class Body>
    void strips(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, Body &&body) const {
        const int64_t step = whole() ? tile_rows : strip_rows;
        for (int64_t row0 = 0; row0 < x.rows; row0 += step) {
            const Strip strip{x, row0, std::min(step, x.rows - row0)};
            compute(strip, y, scratch);
            body(strip);
        }
    }
    // Writes dk / d(form value of the given leaf) instead of k; the leaf must have a derivative.
    void derivative(size_t leaf, const Strip &x, const Panel<T> &y, TileScratch<T> &scratch) const;
    // compute_log writes log k instead of k. It must be called only if has_log(): if the kernel has
    // a single leaf, whose plugin provides log_map.
    bool has_log() const;
    void compute_log(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) const;
    // Writes k(x_i, x_i) to out (panel.rows numbers). queries: the objects x are not rows of the
    // fitted data.
    void self(Run &run, const Panel<T> &x, bool queries, T *out) const;
    TileScratch<T> scratch(Run &run) const;
    TileBytes bytes() const; // sizes of panels are those of x
    bool serial() const;     // true if values or rows come from callbacks that must run on the calling thread

    // True if tiles are not split into strips, because callbacks and block kernels compute whole
    // tiles.
    bool whole() const { return x_->objects() || (kernel_ && kernel_->has_block()); }
    // True if the panels may be exchanged, as in strips(y, x, ...): all values are fused, and fused
    // values are bit-identical under exchange of the two points.
    bool turns(const Panel<T> &x, const Panel<T> &y) const;

  private:
    // These functions write rows of stride tile_rows. leaf: nullptr if the form values themselves
    // must be accurate; otherwise the leaf whose map will be applied to them, so that only its
    // kernel values must be accurate (see the head of tile.cpp).
    void form(size_t index, const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch,
              const Leaf *leaf = nullptr) const;
    void square_distances(const Strip &x, const LeafRows<T> &a, const LeafRows<T> &b, int64_t n, const Leaf *leaf,
                          T *out) const;
    void keep_steep(const Leaf &leaf, int64_t d, int64_t n, T near, T x_norm, const T *y_norms, const T *values,
                    unsigned char *found) const;
    void fused(const Strip &x, const LeafRows<T> &a, const LeafRows<T> &b, int64_t cols, T *out,
               TileScratch<T> &scratch) const;
    void leaf_values(size_t leaf, const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const;
    void object_values(const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const;
    void sparse_dot(const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const;
    void map(const Leaf &leaf, T *values, int64_t rows, int64_t cols) const;
    void evaluate_block(const Leaf &leaf, mercer_task &task, const mercer_view &x, const mercer_view &y,
                        const mercer_view &k) const;
    const Expression *kernel_; // nullptr: values of a form
    Points<T> *x_, *y_;
};

// What `sweep` passes to its consumer: the number of the slab, two panels, and their values.
template <class T>
struct Tile {
    int64_t slab;
    const Panel<T> &x, &y;
    T *values; // x.rows x y.rows, stride tile_rows
};
// all: all tiles are computed; upper: x and y are the same points, and only tiles on and to the
// right of the diagonal are computed.
enum class Range { all, upper };
// Panels of y are prepared only once if they need at most this many bytes, and at most a quarter of
// the remaining budget.
constexpr int64_t sweep_keeps = int64_t{64} << 20;
// Processes rows row0 ... row0 + rows - 1 of x in slabs of tile_rows. One thread processes the
// tiles of a slab in ascending order. body returns false to end its slab early.
template <class T>
void sweep(Run &run, const Tiles<T> &tiles, int64_t row0, int64_t rows,
           const std::function<bool(const Tile<T> &)> &body, Range range = Range::all);
// As sweep, but body receives panels and computes values itself, for example strip by strip.
template <class T>
using PanelBody = std::function<bool(int64_t slab, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch)>;
template <class T>
void sweep_panels(Run &run, const Tiles<T> &tiles, int64_t row0, int64_t rows, const PanelBody<T> &body,
                  Range range = Range::all);
// Writes k(x_i, x_i) for all rows.
template <class T>
void self_values(Run &run, const Tiles<T> &tiles, double *out);

} // namespace mercer
