// The kernel matrix as an operator, stored or streamed.
#pragma once
#include "../gram/tile.h"
#include "gram_cost.h"
#include "operator.h"

#include <atomic>

namespace mercer {

// A pair of super-panels of rows, processed together in one round of a pass.
struct Meeting {
    int64_t a, b, round;
};

// K = k(X, X), in tiles I <= J. Stored tiles are kept, streamed ones computed again in every pass; both feed the same
// products in the same order, so the choice does not change a bit.
//
// Order: blocks of tile_rows rows are gathered in S super-panels, S a function of n alone, which meet in the rounds of a
// round-robin tournament. The two accumulators of a meeting belong to nobody else, each receives its sums in the order of
// rounds, and no thread waits for more than the two panels it needs. Cost of a pass: n^2 / 2 kernel values (streamed),
// 2 n^2 p flops; memory n p (12 bytes f32, 16 f64), prepared rows n d, stored n^2 / 2 values. A pass runs on the calling
// thread alone where the kernel's values come from callbacks that must.
template <class T>
class GramOperator : public Operator {
  public:
    GramOperator(Run &run, const Expression &kernel, const Points<T> &points, Hold hold);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;

    int64_t kernel_evaluations() const { return evaluations_.load(); }

  private:
    struct Work {                              // of a thread
        std::unique_ptr<TileScratch<T>> tiles; // nullptr: stored
        Buffer<T> own, other;                  // products with a strip and with a tile's transpose
    };
    struct Block { // a strip of the tile (bi, bj)
        Work &work;
        int64_t bi, bj, row0, rows, cols, stride;
        bool last; // strip of its tile
        const T *values;
    };
    using Body = std::function<void(const Block &)>;
    void meet_all(Run &run, int64_t pp, const Body &body) const;
    void meet(Run &run, const Meeting &pair, int64_t supers, Work &work, const Body &body) const;
    int64_t tile_offset(int64_t bi, int64_t bj) const;
    int64_t block_rows(int64_t b) const { return std::min(tile_rows, n() - b * tile_rows); }

    Points<T> points_;
    Tiles<T> tiles_;
    std::vector<Panel<T>> panels_; // prepared rows; empty: not held
    Buffer<T> store_;              // values; empty: streamed
    mutable std::atomic<int64_t> evaluations_{0};
};

} // namespace mercer
