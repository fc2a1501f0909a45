// A growing partial Cholesky factor: K ~ L L^T for the kernel matrix K of n rows, with the residual
// diagonal d = diag(K - L L^T). Pivots are those of largest residual, drawn at random, or given.
// Reducers, the start of the exact solver, the lift `projected` and the method `auto` all use it.
// The algorithms and their bounds are explained in partial_cholesky.cpp and columns.cpp.
#pragma once
#include "../core/rounding.h"
#include "../core/threads.h"
#include "../gram/data.h"
#include "../gram/thin.h"
#include "../gram/tile.h"

#include <algorithm>
#include <atomic>

namespace mercer {

constexpr double pivot_tie = 1 - 1e-10; // scores this close to the best count as ties

// Computes sum x_i y_i in eight interleaved f64 sums, which compilers can vectorise.
template <class T>
double dot(const T *x, const T *y, int64_t count) {
    double lane[8] = {};
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int64_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[k + l]) * static_cast<double>(y[k + l]);
    for (int64_t l = 0; k < count; ++k, ++l) lane[l] += static_cast<double>(x[k]) * static_cast<double>(y[k]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// When growth ends: at m pivots in total, or at the first pivot after which one of the other
// conditions holds; a condition of 0 is ignored. mse bounds the weighted mean of d, maxerr the
// largest d of rows with weight > 0, and trace the sum of w d relative to the sum of w k(x, x).
struct PivotStop {
    int64_t m;
    double mse = 0, maxerr = 0, trace = 0;
    bool early() const { return mse > 0 || maxerr > 0 || trace > 0; }
};

// L has n x m entries. If these do not fit in memory, a factor keeps only the pivots, the data from
// which their columns are computed, and d. Each sweep then recomputes the earlier columns of its
// rows by the same products. The candidates' rows are computed from the pivots' triangle
// (rounds.cpp), so that pivots and d equal those of a factor in memory up to rounding.
enum class Factor { stored, recomputed };

template <class T>
class PartialCholesky {
  public:
    // rows: their kernel must be positive semi-definite, otherwise E_UNSUPPORTED. capacity: the
    // number of columns to allocate at first; more are allocated when they are needed.
    PartialCholesky(Run &run, const KernelRows &rows, int64_t capacity, Factor kind = Factor::stored);
    PartialCholesky(const PartialCholesky &) = delete;

    // The next three functions extend the present factor and repeat no work. After an exception
    // (cancel, budget) the factor must not be used any more. They fail with E_NUMERICAL if a kernel
    // that is declared positive semi-definite proves not to be.
    //
    // grow_greedy takes the row of largest residual. Ties are broken by the contents of the rows
    // (precedes), so that the order of the data does not matter. In f64 the pivots are those of the
    // algorithm that adds one column at a time.
    void grow_greedy(const PivotStop &stop);
    // Draws each pivot with probability w d / sum w d. To continue growth, pass the same random
    // again.
    void grow_sampled(const PivotStop &stop, const Random &random);
    // Adds the given rows (weight 0 is allowed), the largest residual first. A row that is already
    // a pivot, or lies in the span of the earlier pivots, is skipped; index() then tells which rows
    // were added, and in what order. Returns their number.
    int64_t append(const int64_t *rows, int64_t count);
    // Makes room for capacity columns by copying a stored factor. The old and the new factor exist at
    // the same time.
    void reserve(int64_t capacity);

    int64_t n() const { return rows_.n; }
    int64_t count() const { return static_cast<int64_t>(index_.size()); }
    const int64_t *index() const { return index_.data(); } // count(), in order of selection
    bool stored() const { return kind_ == Factor::stored; }
    // If stored: n x count, row-major with stride(). What follows the first count entries of a row is
    // undefined. The rows of pivots form a lower triangle.
    const T *factor() const { return factor_.data(); }
    int64_t stride() const { return stride_; }
    // Bytes of the factor, its triangle, d, the hashes and the prepared rows.
    int64_t stored_bytes() const;
    const double *residual() const { return residual_.data(); } // n numbers d; 0 at pivots
    double mean_residual() const { return residual_sum_ / weight_sum_; }
    // The sum of w d as a share of the trace.
    double trace_left() const { return trace_ > 0 ? residual_sum_ / trace_ : 0; }
    double trace() const { return trace_; } // sum w k(x, x)
    // True if the last growth ended because no candidate above the rank floor was left.
    bool rank_reached() const { return rank_reached_; }
    int64_t sweeps() const { return sweeps_; }
    int64_t evaluations() const { return evaluations_ + again_; } // of kernel values

    bool reached(const PivotStop &stop) const { return reached(stop, residual_sum_, largest_); }
    // True if row i precedes row j when their scores tie. A hash of the rows' values decides; equal
    // rows, and objects, whose values are unknown, are ordered by position. Call read_contents()
    // first.
    bool precedes(int64_t i, int64_t j) const {
        return !contents_.empty() && contents_[i] != contents_[j] ? contents_[i] < contents_[j] : i < j;
    }
    void read_contents();
    // True if the row may be the next pivot.
    bool candidate(int64_t row) const { return weight(row) > 0 && residual_[row] > floor(count()); }
    double weight(int64_t row) const { return rows_.weights ? rows_.weights[row] : 1; }

    // The number of columns to allocate at first if m are requested but an early stop may save most
    // of them.
    static int64_t first_capacity(int64_t m, bool early) { return early ? std::min<int64_t>(m, 256) : m; }
    // Bounds on the memory of a factor of m columns. early: it grows from first_capacity. A factor
    // that is not stored is assumed to grow in at most rounds(m) sweeps.
    static Bytes bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles,
                       Factor kind = Factor::stored);
    // Bytes that a stored factor keeps.
    static int64_t stored_bytes_of(int64_t n, int64_t m, bool early, const TileBytes &tiles);
    // Bytes that growing takes in addition.
    static Bytes growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles);
    static int64_t evaluations(int64_t n, int64_t m, Factor kind = Factor::stored) {
        // Candidates look up half of the m columns on average.
        const int64_t looked_up = std::min(n, most_candidates(m)) * m / 2;
        return n * (m + 1) + allowance(n, m) +
               rounds(m) * ((kind == Factor::stored ? 0 : n * m / 2) +
                            (sizeof(T) == 4 || kind != Factor::stored ? looked_up : 0));
    }
    // Number of rounds of either rule, unless all candidates are alike.
    static int64_t rounds(int64_t m) { return m / 32 + 4; }
    // The rank floor, which is the same for all rules: after `step` pivots, no row becomes a pivot
    // whose d is at most this, in units of the largest diagonal entry (derived in
    // partial_cholesky.cpp).
    static double relative_floor(int64_t step) {
        return std::max(1e-10, unit_roundoff(sizeof(T) == 4)) + static_cast<double>(step + 1) * unit_roundoff(false);
    }
    // Returns the pivots' rows of L in f64: m x m, column-major, lower triangle.
    Buffer<double> triangle(Run &run) const;

  private:
    // The rows among which pivots are chosen, with their rows of L and the residual K - L L^T among
    // them; the diagonal of the residual is d.
    struct Candidates {
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        std::vector<int64_t> rows;
        Buffer<double> factor, residual; // row-major: count() x columns of L; square
    };
    // The pivots accepted in one round, at most `most`, in order. places: their positions among the
    // candidates.
    struct Round {
        Round(Run &run, int64_t most) : most(most), triangle(run.buffer<double>(most, most)) {}
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        double *row(int64_t k) { return triangle.data() + k * most; }
        const double *row(int64_t k) const { return triangle.data() + k * most; }
        int64_t most;
        std::vector<int64_t> rows, places;
        Buffer<double> triangle; // L between the pivots
        Buffer<double> earlier;  // the pivots' rows of L before the round
    };
    class Border; // a Cholesky factor that grows by rows
    struct Step { // the data from which the columns of one round are computed
        Step(PartialCholesky &factor, const Round &round);
        int64_t depth() const { return from + made; }
        // The length of a row of `solved` in the part whose first column is j0.
        int64_t columns_from(int64_t j0) const { return padded_columns<T>(std::min(wide, made - j0)); }
        std::vector<int64_t> numbers; // row numbers of the pivots
        // Columns from ... from + made are computed; only the first `width` of them are used.
        int64_t from, made, width;
        Points<T> points;
        Panel<T> pivots;
        Buffer<T> triangle; // L_PP, row-major
        // One matrix of depth() rows for each part Q of `wide` pivots, by which the products of
        // columns.cpp multiply: first -L_Q^T, in one row per column before the part, then M^T, where
        // M is the inverse of the triangle of L between the pivots of Q. Later rows are not used.
        Buffer<T> solved;
    };
    static constexpr int64_t slab_rows = 1024, slab_panels = slab_rows / tile_rows, few_rows = 128;
    // The number of columns in one product, two registers of 64 bytes: the data that a product
    // reads for them streams through the first-level cache. Four registers cost 5 % of the time,
    // and rows of all columns 15 to 25 %.
    static constexpr int64_t wide = 128 / sizeof(T);
    static_assert(slab_rows % tile_rows == 0);
    static int64_t stride_of(int64_t capacity);
    // Bytes of the rows that stay prepared for tiles; 0: they are not kept.
    static int64_t ready_bytes(int64_t n, int64_t m, bool early, const TileBytes &tiles);
    static int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }
    struct Scratch { // of one thread
        Scratch(Run &run, const Tiles<T> &tiles) : tile(tiles.scratch(run)) {}
        TileScratch<T> tile;
        std::vector<Panel<T>> panels;
        Buffer<T> rows; // rows of L, if it is not stored
    };
    struct Block { // the rows of L that are being processed
        Points<T> &points;
        const Panel<T> *panels; // panels of these rows; all but the last have tile_rows rows
        int64_t row0, rows;
        T *l;
        int64_t stride;
    };
    struct Sums { // of the rows of a slab
        double residual, largest, lowest;
        int64_t lowest_row;
    };

    static constexpr int64_t most_accepted = tile_rows; // largest number of pivots in one round
    // Rows stay prepared for tiles if they need at most this fraction of the memory of L.
    static constexpr int64_t panels_share = 10;
    // The number of candidates of a greedy round: fewer need more sweeps, and more make a larger
    // residual block (FACTS B3.12).
    static int64_t greedy_candidates(int64_t m) { return std::clamp<int64_t>((m / 4 + 280) / 64 * 64, 128, 512); }
    // The number of pivots that ends a sampled round. A round draws twice as many candidates. The
    // first round, which rejects most and whose candidates cost least, draws three times as many.
    static int64_t enough_accepted(int64_t m) { return m >= 1000 ? most_accepted : most_accepted / 2; }
    static constexpr int64_t first_draws = 3, later_draws = 2;
    static int64_t most_candidates(int64_t m) {
        return std::max(greedy_candidates(m), first_draws * enough_accepted(m));
    }
    static int64_t triangle_bytes(int64_t m) { return 8 * m * m; }
    // Upper limit of the kernel values for residuals within rounds, in addition to the n m of the
    // columns.
    static int64_t allowance(int64_t n, int64_t m) { return n * ((m + 32) / 4); }
    int64_t affordable(int64_t candidates) const;
    double floor(int64_t step) const { return relative_floor(step) * largest_diagonal_; }
    // A d below minus this triggers check_definite, which decides whether the kernel is indefinite.
    double suspicious() const { return 16 * relative_floor(count()) * scale_; }
    template <class Choose>
    void grow(const PivotStop &stop, Choose &&choose);
    Round choose_greedy(int64_t most, int64_t candidates);
    Round choose_sampled(int64_t most, int64_t draws, const Random &random);
    template <class Go>
    void take_largest(Round &round, std::vector<int64_t> rows, int64_t most, Go &&go);
    std::vector<int64_t> largest_rows(int64_t wanted) const;
    int64_t first_tied(double score, const std::vector<int64_t> &sorted) const;
    bool reached(const PivotStop &stop, double residual_sum, double largest) const;

    // sweep.cpp
    void start();
    void for_each(int64_t count, const std::function<void(int64_t)> &body);
    void add(const Round &round, const PivotStop &stop);
    Sums subtract(const Block &block, int64_t from);
    void drop_surplus(int64_t from, const PivotStop &stop);

    // columns.cpp
    std::vector<int64_t> numbers_of(const std::vector<int64_t> &rows) const;
    Points<T> points_of(const std::vector<int64_t> &numbers) const;
    Pool<Scratch> scratch();
    Block slab(int64_t s, Scratch &scratch);
    void make_again(const Block &block, const int64_t *rows, Scratch &scratch);
    void columns(Step &step, const Block &block, Scratch &scratch);
    void patch(const Step &step, const Block &block, const int64_t *rows) const;

    // rounds.cpp
    // Otherwise the columns are in f64 and contain the pivots' rows.
    bool stores_triangle() const { return sizeof(T) == 4 || !stored(); }
    Points<double> exact_points(const std::vector<int64_t> &numbers) const;
    void reserve_triangle();
    void append_triangle(const Round &round);
    Buffer<double> rows_of_factor(const std::vector<int64_t> &rows);
    Candidates candidates(std::vector<int64_t> rows);
    void residual_among(Candidates &block);
    void settle(Round &round, const Candidates &block);
    void check_definite(int64_t row);
    [[noreturn]] void refuse_values(int64_t row) const;

    Run &run_;
    KernelRows rows_;
    Factor kind_;
    Points<T> points_;
    std::vector<Panel<T>> panels_; // of all rows, if small compared to the factor
    std::vector<int64_t> index_;
    std::vector<std::pair<int64_t, int64_t>> chosen_; // row and column of each pivot, sorted by row
    Buffer<T> factor_;
    // L_P if it is kept: a square of triangle_rows_, column-major.
    Buffer<double> triangle_;
    std::vector<std::unique_ptr<Step>> steps_; // if the factor is not stored
    Buffer<double> residual_;
    Buffer<uint64_t> contents_; // hashes of all rows, to break ties
    int64_t capacity_ = 0, stride_ = 0, triangle_rows_ = 0;
    double largest_diagonal_ = 0, weight_sum_ = 0, trace_ = 0; // of rows with weight > 0
    double scale_ = 0;                                         // largest k(x, x) of all rows
    double residual_sum_ = 0, largest_ = 0;
    // spent_: kernel values that were evaluated to choose pivots.
    int64_t sweeps_ = 0, draws_ = 0, evaluations_ = 0, spent_ = 0;
    std::atomic<int64_t> again_{0}; // kernel values evaluated to recompute columns
    bool rank_reached_ = false;
};

} // namespace mercer
