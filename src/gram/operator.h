// Symmetric operators, the only thing a solver sees. A base (the kernel matrix, stored or streamed) and what composes with
// it: scaling, centring, a matrix of low rank.
#pragma once
#include "../core/block.h"
#include "tile.h"

#include <functional>

namespace mercer {

// Kernel values of one pass over the tiles I <= J (those on the diagonal are computed whole).
int64_t pass_evaluations(int64_t n);

// A pair of super-panels of rows, processed together in one round of a pass.
struct Meeting {
    int64_t a, b, round;
};

// Reads rows row0 ... row0 + rows of a tall matrix, row-major; called on any thread, in any order, repeatedly.
using Fill = std::function<void(int64_t row0, int64_t rows, double *to, int64_t stride)>;
// All rows of a product, row-major; may be written to.
using Take = std::function<void(double *y, int64_t stride)>;

class Operator {
  public:
    Operator(int64_t n, bool f32) : n_(n), f32_(f32) {}
    virtual ~Operator() = default;
    int64_t n() const { return n_; }
    bool f32() const { return f32_; } // the type of the solvers' blocks
    // Y = A Q, p columns. Operators compose by wrapping both ends, so that Q and Y exist once, whatever is around the base.
    // rough: with the rounding errors of f32, for less; only where has_rough().
    virtual void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const = 0;
    virtual bool has_rough() const { return false; }
    // All of A, both triangles.
    virtual void dense(Run &run, double *a, int64_t lda) const = 0;
    virtual void diagonal(Run &run, double *d) const = 0;

    // Of blocks' columns, which do not overlap.
    void apply(Run &run, bool rough, Columns q, Columns y) const;
    // As plugins see it; this must outlive it.
    mercer_operator c_operator() const;

  private:
    int64_t n_;
    bool f32_;
};

// What a kernel matrix keeps between passes: nothing (rows are read and prepared again), its prepared rows, or all values.
enum class Hold { nothing, rows, matrix };

// Bytes of passes with p columns over n rows: blocks of vectors in any pass, scratch and panels of the threads where values
// are computed and where rows are not held, panels for the diagonal, held rows and what loading them takes, held values.
struct Need {
    Bytes vectors, scratch, panels, diagonal, loading;
    int64_t rows, matrix;
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

    static Need need(const Run &run, int64_t n, int64_t p, const Tiles<T> &tiles);
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

// An operator and a cheaper one for the same matrix, with the rounding errors of f32.
class PairedOperator : public Operator {
  public:
    PairedOperator(const Operator &exact, const Operator &rough)
        : Operator(exact.n(), exact.f32()), exact_(exact), rough_(rough) {}
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override {
        (rough ? rough_ : exact_).product(run, false, p, q, y);
    }
    bool has_rough() const override { return true; }
    void dense(Run &run, double *a, int64_t lda) const override { exact_.dense(run, a, lda); }
    void diagonal(Run &run, double *d) const override { exact_.diagonal(run, d); }

  private:
    const Operator &exact_, &rough_;
};

// P S K S P with S = diag(s) and P = 1 - u u^T, u = s / |s|. With s = sqrt(w), sum w = n, it has the eigenvalues of the
// weighted, centred kernel matrix; without centring P = 1. s nullptr: S = 1.
class WeightedOperator : public Operator {
  public:
    WeightedOperator(Run &run, const Operator &base, const double *sqrt_weights, bool centred);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;
    // K S u is computed as an additional column of the first product, and of the first exact one; if there was none, by a product
    // of its own.
    const double *mean(Run &run) const;
    // Which of these is known, so that another run can continue.
    enum class Mean { unknown, rough, exact };
    Mean known() const { return known_; }
    const Buffer<double> &known_mean() const { return mean_; }
    void know(Mean how, const double *mean) {
        known_ = how;
        std::copy_n(mean, mean_.size(), mean_.data());
    }

  private:
    double scale(int64_t i) const { return scale_ ? scale_[i] : 1; }
    double unit(int64_t i) const { return scale(i) * inverse_length_; }
    const Operator &base_;
    const double *scale_;
    bool centred_;
    double inverse_length_; // 1 / |s|
    mutable Buffer<double> mean_;
    mutable Mean known_ = Mean::unknown;
};

// A + U diag(c) U^T, U n x k.
class RankOperator : public Operator {
  public:
    RankOperator(const Operator &base, Columns u, std::vector<double> c)
        : Operator(base.n(), base.f32()), base_(base), u_(u), c_(std::move(c)) {}
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override;

  private:
    const Operator &base_;
    Columns u_;
    std::vector<double> c_;
};

} // namespace mercer
