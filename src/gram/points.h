// Points: rows of a source in the form that the leaves of a kernel need. A panel is a block of at most tile_rows of them, prepared
// for tiles: mapped by T, split into the leaves' columns, shifted, with norms or transposed if the form needs it.
#pragma once
#include "expression.h"
#include "source.h"
#include "tile_bytes.h"

namespace mercer {

// 256 x 256 tiles fit the second-level cache and keep a thin product at 80 % of the peak (FACTS A7).
constexpr int64_t tile_rows = 256;
constexpr int64_t blocks_of(int64_t rows) { return (rows + tile_rows - 1) / tile_rows; }

// T of the model: x -> (x - shift) * scale by column; empty = identity.
struct InputMap {
    std::vector<double> shift, scale;
    bool identity() const { return scale.empty(); }
};

template <class U>
void map_rows(const InputMap &map, int64_t d, U *rows, int64_t count); // in place

// The form in which one leaf needs its rows.
struct LeafSpec {
    int32_t form;
    bool nonnegative;
    std::vector<int64_t> columns; // empty: all
    std::vector<double> shift;    // empty: none
    double rate = 0;              // > 0: the leaf is exp(-rate |x - y|^2), packed for the fused kernels (fused.h)
};
std::vector<LeafSpec> leaf_specs(const Expression &kernel);

// The factor of coordinates when they are packed (fused.h), and the bound that keeps their squares from overflowing.
double fused_scale(double rate);
template <class T>
constexpr double fused_widest = sizeof(T) == 4 ? 1e15 : 1e140;
// Products are exact enough where value * (|a_i| + |a_j|) is at most this: see Tiles::fused.
template <class T>
T fused_certain(int64_t d);
// Largest allowed relative error of a kernel value, in units of u; it arises from exponents that are small differences.
constexpr double value_error(bool f32) { return f32 ? 8 : 512; }
// Computes the other pairs: 2^(-|x' - y'|^2 / 2); coordinates of x lie step apart, those of y in a panel.
template <class T>
T fused_by_difference(int64_t d, const T *x, int64_t step, const T *y);

template <class T>
struct LeafRows {
    int64_t d = 0;
    const T *x = nullptr;             // rows x d; nullptr: sparse, objects, or packed
    Buffer<T> own, transposed, norms; // memory of x; d x rows; k(x, x) of the forms dot, cosine, min; |x|^2
    Buffer<T> packed, half;           // in the layout of fused.h; empty if not fused
    T half_most = 0;                  // largest |half|
};

template <class T>
struct Panel {
    int64_t row0 = 0, rows = 0;
    std::vector<int64_t> ids; // objects: their row numbers
    Buffer<T> mapped;         // rows x d after T; empty: sparse or objects
    std::vector<LeafRows<T>> leaves;
    Buffer<int64_t> offsets; // sparse, the same for all leaves: entries of row i are offsets[i] ... offsets[i + 1]
    Buffer<int32_t> columns;
    Buffer<T> values, norms;
    bool sparse() const { return !offsets.empty(); }
};

template <class T>
class Points {
  public:
    Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves);
    // Only the rows in index (borrowed), in that order.
    Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves,
           const int64_t *index, int64_t count);

    // The same, of the rows in index (borrowed) alone; index counts rows of these.
    Points only(const int64_t *index, int64_t count) const { return Points(source_, map_, leaves_, index, count); }

    int64_t rows() const { return index_ ? count_ : source_->rows(); }
    int64_t cols() const { return source_->cols(); }
    const Source &source() const { return *source_; }
    const ObjectSource *objects() const { return dynamic_cast<const ObjectSource *>(source_.get()); }
    const std::vector<LeafSpec> &leaves() const { return leaves_; }
    bool sparse() const { return source_->kind() == Source::Kind::sparse && !dense_; }
    void densify() { dense_ = true; } // the other side is dense: return sparse rows with their zeros

    // Block b, any thread.
    Panel<T> load(Run &run, int64_t block) const {
        return load(run, block * tile_rows, std::min(tile_rows, rows() - block * tile_rows));
    }
    Panel<T> load(Run &run, int64_t row0, int64_t rows) const;
    void measure(TileBytes &out) const; // panels and their loading
    int64_t held_bytes() const {        // of a full panel, once loaded
        TileBytes out;
        measure(out);
        return out.held(1, tile_rows);
    }
    // Panels omit `mapped` if every leaf is packed: for callers that need kernel values only.
    void lean() { lean_ = true; }
    // The rows of a leaf in the layout of the general forms, if load() packed them.
    LeafRows<T> plain(Run &run, const Panel<T> &panel, size_t leaf) const;

  private:
    // Rows of f64 are rounded to f32 after map and shift, not before: a large offset would leave nothing of small differences.
    bool narrows() const { return sizeof(T) == 4 && source_->dtype() == MERCER_F64; }
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
