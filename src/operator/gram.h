// The kernel matrix as an operator, whose values are stored or streamed.
#pragma once
#include "../gram/tile.h"
#include "gram_cost.h"
#include "operator.h"

#include <atomic>

namespace mercer {

// Two super-panels of rows (groups of blocks), whose tiles one thread computes in one round of a
// pass. a = b: the tiles within one super-panel.
struct Meeting {
    int64_t a, b, round;
};

// K = k(X, X) in tiles I <= J. Stored tiles are kept, and streamed tiles are recomputed in every
// pass. Both feed the same products in the same order, so the results are bit-identical.
//
// Order: blocks of tile_rows rows are gathered in S super-panels, which meet in the rounds of a
// round-robin tournament; S depends on n alone. Each super-panel has an accumulator, the rows of
// the product that belong to it. No two meetings of a round share a super-panel, so only one thread
// at a time uses an accumulator, and it receives its sums in the order of the rounds. A thread
// waits only for the two super-panels that it needs.
//
// Cost of a pass: n^2 / 2 kernel values (if streamed) and 2 n^2 p flops. Memory: n p numbers
// (12 bytes each in f32, 16 in f64), prepared rows n d, stored values n^2 / 2. A pass runs only on
// the calling thread if kernel values come from callbacks that must run there.
template <class T>
class GramOperator : public Operator {
  public:
    GramOperator(Run &run, const Expression &kernel, const Points<T> &points, Store store);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    Fidelity fidelity() const override { return {0, kernel_.is_psd()}; }
    // Computes the columns, n kernel values each, even if all values are stored. Therefore they
    // have the same bits whether values are stored or streamed.
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override;
    // Makes one pass over the tiles I <= J; fails with E_NUMERICAL if a sum is not finite. Entries
    // err by a few units of rounding of T; they are shifted, squared and summed in f64.
    void row_squares(Run &run, const Squares &of, double *out) const override;
    int64_t kernel_evaluations() const override { return evaluations_.load(); }

  private:
    // Workspace of one thread. own: a strip times vectors; other: a transposed tile times vectors.
    struct Work {
        std::unique_ptr<TileScratch<T>> tiles; // nullptr: values are stored
        Buffer<T> own, other;
    };
    struct Block { // a strip of the tile (bi, bj)
        Work &work;
        int64_t bi, bj, row0, rows, cols, stride;
        bool last; // this is the last strip of its tile
        const T *values;
    };
    using Body = std::function<void(const Block &)>;
    void meet_all(Run &run, int64_t pp, const Body &body) const;
    void meet(Run &run, const Meeting &pair, int64_t supers, Work &work, const Body &body) const;
    int64_t tile_offset(int64_t bi, int64_t bj) const;
    int64_t block_rows(int64_t b) const { return std::min(tile_rows, n() - b * tile_rows); }

    const Expression &kernel_;
    Points<T> points_;
    Tiles<T> tiles_;
    std::vector<Panel<T>> panels_; // prepared rows; empty if they are not kept between passes
    Buffer<T> store_;              // kernel values; empty if they are streamed
    mutable std::atomic<int64_t> evaluations_{0};
};

} // namespace mercer
