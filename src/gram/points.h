// Points: rows of a source in the form that the leaves of a kernel need. A panel is a block of at
// most tile_rows rows that is prepared for tiles: the input map is applied, the rows are split into
// the columns of each leaf and shifted, and norms or a transposed copy are added if the form needs
// them.
#pragma once
#include "expression.h"
#include "source.h"
#include "tile_bytes.h"

namespace mercer {

// Tiles of 256 x 256 values fit in the second-level cache and let thin products run at 80 % of the
// peak speed (measured).
constexpr int64_t tile_rows = 256;
constexpr int64_t blocks_of(int64_t rows) { return (rows + tile_rows - 1) / tile_rows; }

// The input map T of the model: x -> (x - shift) * scale for each column; empty: the identity.
struct InputMap {
    std::vector<double> shift, scale;
    bool identity() const { return scale.empty(); }
};

template <class U>
void map_rows(const InputMap &map, int64_t d, U *rows, int64_t count); // in place

// How one leaf needs its rows to be prepared.
struct LeafSpec {
    int32_t form;
    bool nonnegative;             // rows with a negative entry are refused
    std::vector<int64_t> columns; // empty: all
    std::vector<double> shift;    // empty: none
    // > 0: the leaf is exp(-rate |x - y|^2), and its rows are packed for the fused kernels
    // (fused.h).
    double rate = 0;
};
std::vector<LeafSpec> leaf_specs(const Expression &kernel);

// fused_scale is the factor by which coordinates are multiplied when they are packed (fused.h).
// fused_widest bounds packed coordinates, so that their squares cannot overflow.
double fused_scale(double rate);
template <class T>
constexpr double fused_widest = sizeof(T) == 4 ? 1e15 : 1e140;
// A fused value of d columns that was computed by a product, with the halves a_i and a_j (fused.h),
// is accurate enough if value * (|a_i| + |a_j|) is at most this number. Tiles::fused recomputes the
// others.
template <class T>
T fused_certain(int64_t d);
// The largest error that is allowed in a kernel value, relative to the largest value and in units
// of u. Errors of more than a few u arise where an exponent is a small difference of large numbers.
constexpr double value_error(bool f32) { return f32 ? 8 : 512; }
// Recomputes the value of one pair by differences: 2^(-|x' - y'|^2 / 2). Coordinates of x are
// `step` apart, y is a point in a panel.
template <class T>
T fused_by_difference(int64_t d, const T *x, int64_t step, const T *y);

template <class T>
struct LeafRows {
    int64_t d = 0;
    const T *x = nullptr; // rows x d; nullptr: sparse, objects or packed
    // own: the memory of x, if this leaf needs a copy of the rows; transposed: d x rows, for the
    // pairwise forms; norms: the form of each row with itself (dot, cosine, min), or |x|^2
    // (sqdist).
    Buffer<T> own, transposed, norms;
    Buffer<T> packed, half; // in the layout of fused.h; empty if not fused
    T half_most = 0;        // largest |half|
};

template <class T>
struct Panel {
    int64_t row0 = 0, rows = 0;
    std::vector<int64_t> ids; // objects: their numbers
    // rows x d, after the input map T. Empty for sparse rows, for objects, and if lean() allowed
    // load() to drop it.
    Buffer<T> mapped;
    std::vector<LeafRows<T>> leaves;
    // Sparse rows, the same for all leaves: the entries of row i are numbers offsets[i] ...
    // offsets[i + 1] - 1.
    Buffer<int64_t> offsets;
    Buffer<int32_t> columns;
    Buffer<T> values, norms;
    bool sparse() const { return !offsets.empty(); }
};

template <class T>
class Points {
  public:
    Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves);
    // Uses only the rows listed in index (borrowed), in that order.
    Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves,
           const int64_t *index, int64_t count);

    // Returns the points with the row numbers in index (borrowed), prepared in the same way. The
    // numbers are those of the source, whatever rows this object selects.
    Points only(const int64_t *index, int64_t count) const { return Points(source_, map_, leaves_, index, count); }
    // Returns the same points as only(), for callers that load them in any order. If single rows of
    // the source are costly, the rows are therefore copied to memory, with one gather().
    Points gathered(Run &run, const int64_t *index, int64_t count) const;

    int64_t number(int64_t row) const { return index_ ? index_[row] : row; } // in the source
    int64_t rows() const { return index_ ? count_ : source_->rows(); }
    int64_t cols() const { return source_->cols(); }
    const Source &source() const { return *source_; }
    const ObjectSource *objects() const { return dynamic_cast<const ObjectSource *>(source_.get()); }
    const std::vector<LeafSpec> &leaves() const { return leaves_; }
    bool sparse() const { return source_->kind() == Source::Kind::sparse && !dense_; }
    // Makes load() expand sparse rows, zeros included. It must be called if the points on the other
    // side of the tiles are dense.
    void densify() { dense_ = true; }

    // Loads one block of tile_rows rows; the last block may have fewer. If the source is read in
    // passes, only the calling thread of the run may load; otherwise any thread may.
    Panel<T> load(Run &run, int64_t block) const {
        return load(run, block * tile_rows, std::min(tile_rows, rows() - block * tile_rows));
    }
    Panel<T> load(Run &run, int64_t row0, int64_t rows) const;
    void measure(TileBytes &out) const; // sets the sizes of panels and the memory of loading them
    int64_t stored_bytes() const {      // bytes of a full panel, once loaded
        TileBytes out;
        measure(out);
        return out.stored(1, tile_rows);
    }
    // Makes load() drop Panel::mapped if every leaf is packed. This saves memory for callers that
    // need only kernel values.
    void lean() { lean_ = true; }
    // Returns the rows of a leaf in the layout of the general forms. It serves panels in which
    // load() has packed this leaf for the fused kernels and so has not made this layout.
    LeafRows<T> plain(Run &run, const Panel<T> &panel, size_t leaf) const;

  private:
    // True if rows are read in f64 for tiles in f32. They are rounded only after map and shift,
    // because rounding before would destroy small differences between rows with a large offset.
    bool narrows() const { return sizeof(T) == 4 && source_->dtype() == MERCER_F64; }
    template <class Body>
    void with_rows(Run &run, Panel<T> &panel, Body &&body) const;
    // Stores the rows in panel.mapped, unless it holds them already.
    template <class U>
    void keep_rows(Run &run, const U *rows, Panel<T> &panel) const;
    template <class U>
    void read_rows(int64_t row0, int64_t rows, U *out) const;
    void load_dense(Run &run, Panel<T> &panel) const;
    void load_sparse(Run &run, Panel<T> &panel) const;
    template <class U>
    void prepare_leaves(Run &run, const U *rows, Panel<T> &panel) const;
    template <class U>
    void prepare_leaf(Run &run, const U *rows, const Panel<T> &panel, const LeafSpec &spec, LeafRows<T> &leaf) const;
    template <class U>
    bool pack_leaf(Run &run, const U *rows, int64_t count, const LeafSpec &spec, LeafRows<T> &leaf) const;

    std::shared_ptr<const Source> source_;
    InputMap map_;
    std::vector<LeafSpec> leaves_;
    const int64_t *index_ = nullptr;
    int64_t count_ = 0;
    bool dense_ = false, lean_ = false;
};

} // namespace mercer
