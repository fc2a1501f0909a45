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

// A score of at least this fraction of the best score counts as tied with it.
constexpr double pivot_tie = 1 - 1e-10;

// Computes sum x_i y_i in eight interleaved f64 sums, which compilers can vectorise.
template <class X, class Y>
double dot(const X *x, const Y *y, int64_t count) {
    double lane[8] = {};
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int64_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[k + l]) * static_cast<double>(y[k + l]);
    for (int64_t l = 0; k < count; ++k, ++l) lane[l] += static_cast<double>(x[k]) * static_cast<double>(y[k]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// Returns a hash of the values of each row, which breaks ties between scores independently of the
// order of the rows. Empty for objects, which have no values.
Buffer<uint64_t> hash_rows(Run &run, const KernelRows &rows);

// Says when growth ends: at m pivots in total, or at the first pivot after which one of the other
// conditions holds; a condition of 0 is ignored. mse bounds the weighted mean of d, maxerr the
// largest d of rows with weight > 0, and trace the sum of w d relative to the sum of w k(x, x).
struct PivotStop {
    int64_t m;
    double mse = 0, maxerr = 0, trace = 0;
    bool early() const { return mse > 0 || maxerr > 0 || trace > 0; }
};

// stored: the n x m entries of L are kept in memory.
// recomputed: for an L that does not fit in memory. The factor keeps only the pivots, the data from
// which their columns are computed, and d. Each sweep then recomputes the earlier columns of its
// rows by the same products. The candidates' rows of L are computed from the pivots' triangle
// (rounds.cpp), so that pivots and d equal those of a stored factor up to rounding.
enum class Factor { stored, recomputed };

template <class T>
class PartialCholesky {
  public:
    // Fails with E_UNSUPPORTED if rows.kernel is not declared positive semi-definite.
    // capacity: the number of columns to allocate at first; more are allocated when needed.
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
    // Makes room for capacity columns. A stored factor is copied, so memory for the old and the new
    // one is needed during the call.
    void reserve(int64_t capacity);

    int64_t n() const { return rows_.n; }
    int64_t count() const { return static_cast<int64_t>(index_.size()); }
    // The positions of the pivots among the rows: count() numbers in order of selection.
    const int64_t *index() const { return index_.data(); }
    bool stored() const { return kind_ == Factor::stored; }
    // L, n x count(), row-major with stride(); it exists only if stored(). Entries of a row beyond
    // the first count() are undefined. The rows of the pivots, in the order of index(), form a
    // lower triangular matrix.
    const T *factor() const { return factor_.data(); }
    int64_t stride() const { return stride_; }
    // Bytes that this object holds: the factor, its triangle, d, the hashes and the prepared rows.
    int64_t stored_bytes() const;
    const double *residual() const { return residual_.data(); } // n numbers d; 0 at pivots
    double mean_residual() const { return residual_sum_ / weight_sum_; }
    // The sum of w d as a share of the trace.
    double trace_left() const { return trace_ > 0 ? residual_sum_ / trace_ : 0; }
    double trace() const { return trace_; } // sum w k(x, x)
    // True if the last growth ended because no candidate above the rank floor was left.
    bool rank_reached() const { return rank_reached_; }
    int64_t sweeps() const { return sweeps_; }
    // The number of kernel values so far, including those that only recompute columns or rows of L.
    int64_t evaluations() const { return evaluations_ + again_; }

    bool reached(const PivotStop &stop) const { return reached(stop, residual_sum_, largest_); }
    // True if row i precedes row j when their scores tie. A hash of the rows' values decides. Equal
    // rows are ordered by position, and so are objects, because they have no values to hash. Call
    // read_contents() first.
    bool precedes(int64_t i, int64_t j) const {
        return !contents_.empty() && contents_[i] != contents_[j] ? contents_[i] < contents_[j] : i < j;
    }
    void read_contents();
    // True if the row may be the next pivot.
    bool candidate(int64_t row) const { return weight(row) > 0 && residual_[row] > least(); }
    double least() const { return floor(count()); } // rows with d <= least() are no candidates
    double weight(int64_t row) const { return rows_.weights ? rows_.weights[row] : 1; }
    const double *weights() const { return rows_.weights; } // nullptr: all of them are 1

    // The residual R = K - L L^T of a stored factor (residual_matrix.cpp). Row i and column i of R
    // are exactly 0 if d_i = 0. residual_columns writes count columns, column-major.
    // residual_product computes out = R v, and residual_row_squares out_j = sum_t w_t R_jt^2. All
    // three fail with E_NUMERICAL if a result is not finite. factor_rows writes count rows of L,
    // row-major.
    void residual_columns(const int64_t *rows, int64_t count, double *out, int64_t ldo);
    void residual_product(const double *v, double *out);
    void residual_row_squares(const double *weights, double *out);
    void factor_rows(const int64_t *rows, int64_t count, double *out) const;
    // Bytes that these functions take in addition to the factor.
    static Bytes residual_bytes(int64_t n, int64_t m, int64_t threads, const TileBytes &tiles);

    // The number of columns to allocate at first if m are requested: all of them, but at most 256
    // if growth may stop early (PivotStop::early), because most columns may then never be needed.
    static int64_t first_capacity(int64_t m, bool early) { return early ? std::min<int64_t>(m, 256) : m; }
    // Forecasts the memory of a factor of m columns while it grows. early: the factor starts with
    // first_capacity columns and is enlarged when needed. A factor that is not stored is assumed to
    // grow in at most rounds(m) sweeps.
    static Bytes bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles,
                       Factor kind = Factor::stored);
    // Upper bound on the bytes of a stored factor, including the copies that enlarge it.
    static int64_t stored_bytes_of(int64_t n, int64_t m, bool early, const TileBytes &tiles);
    // Bytes that growing takes in addition to stored_bytes_of.
    static Bytes growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles);
    // Upper bound on the kernel values that a factor of m columns takes.
    static int64_t evaluations(int64_t n, int64_t m, Factor kind = Factor::stored) {
        // The row of L of a candidate is computed from its kernel values with all pivots so far: on
        // average m / 2 values.
        const int64_t looked_up = sizeof(T) == 4 || kind != Factor::stored ? std::min(n, most_candidates(m)) : 0,
                      recomputed = kind == Factor::stored ? 0 : n;
        return n * (m + 1) + allowance(n, m) + m * (looked_up + recomputed) * m / 2;
    }
    // The usual number of rounds in which grow_greedy or grow_sampled reaches m pivots. If the
    // candidates of a round are nearly equal, it accepts few of them, and more rounds are needed, m
    // at most.
    static int64_t rounds(int64_t m) { return m / 32 + 4; }
    // The rank floor, which is the same for all rules: after `step` pivots, no row becomes a pivot
    // whose d is at most this fraction of the largest diagonal entry (derived in
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
        // Both row-major. factor: the candidates' rows of L; residual: count() x count().
        Buffer<double> factor, residual;
    };
    // The pivots accepted in one round, at most `most`, in the order of acceptance. rows: their
    // positions among all rows; places: their positions among the candidates.
    struct Round {
        Round(Run &run, int64_t most) : most(most), triangle(run.buffer<double>(most, most)) {}
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        double *row(int64_t k) { return triangle.data() + k * most; }
        const double *row(int64_t k) const { return triangle.data() + k * most; }
        int64_t most;
        std::vector<int64_t> rows, places;
        // L between the pivots of the round: most x most, row-major.
        Buffer<double> triangle;
        // The columns of L before the round in the pivots' rows: count() rows, row-major.
        Buffer<double> earlier;
    };
    class Border; // the Cholesky factor of the accepted candidates, which grows row by row
    // The data from which the columns of one round are computed, for any rows.
    struct Step {
        // from: the number of columns of L before the round.
        Step(PartialCholesky &factor, const Round &round, int64_t from);
        int64_t depth() const { return from + made; }
        // The padded row length of `solved` in the part whose first pivot is j0.
        int64_t columns_from(int64_t j0) const { return padded_columns<T>(std::min(wide, made - j0)); }
        // The row numbers of the pivots in the source.
        std::vector<int64_t> numbers;
        // `made` columns are computed, the first of which is column `from` of L; only the first
        // `width` of them are used.
        int64_t from, made, width;
        Points<T> points;
        Panel<T> pivots;
        // L between these pivots: made x made, row-major.
        Buffer<T> triangle;
        // One matrix of depth() rows for each part Q of `wide` pivots. The products of columns.cpp
        // multiply by it. Its first rows are -L_Q^T, one row for each column of L before the part,
        // and the next ones are M^T, where M is the inverse of the triangle of L between the pivots
        // of Q. The rows after these are not used.
        Buffer<T> solved;
    };
    // A sweep processes slab_rows rows at once; candidates are processed in blocks of few_rows.
    static constexpr int64_t slab_rows = 1024, slab_panels = slab_rows / tile_rows, few_rows = 128;
    // The number of columns that one product computes: those of two registers of 64 bytes. The part
    // of `solved` that the product reads for them then streams through the first-level cache.
    // Measured: four registers take 5 % more time, and all columns at once 15 to 25 % more.
    static constexpr int64_t wide = 128 / sizeof(T);
    static_assert(slab_rows % tile_rows == 0);
    static int64_t stride_of(int64_t capacity);
    // Bytes of the panels of all rows if the factor keeps them prepared for tiles, otherwise 0.
    static int64_t ready_bytes(int64_t n, int64_t m, bool early, const TileBytes &tiles);
    static int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }
    struct Scratch { // workspace of one thread
        Scratch(Run &run, const Tiles<T> &tiles) : tile(tiles.scratch(run)) {}
        TileScratch<T> tile;
        std::vector<Panel<T>> panels;
        // The rows of L of a slab; empty if the factor is stored.
        Buffer<T> rows;
    };
    // The rows row0 ... row0 + rows - 1 of L, which are processed together.
    struct Block {
        Points<T> &points;
        const Panel<T> *panels; // panels of these rows; all but the last have tile_rows rows
        int64_t row0, rows;
        // Row row0 of L; the next rows follow at distances of stride.
        T *l;
        int64_t stride;
    };
    // Results of subtract() for the rows of a slab: the sum of w d and the largest d, both after d
    // is clamped at 0, and the lowest d before that, with its row.
    struct Sums {
        double residual, largest, lowest;
        int64_t lowest_row;
    };

    static constexpr int64_t most_accepted = tile_rows; // largest number of pivots in one round
    // Rows stay prepared for tiles if their panels need at most 1 / panels_share of the memory
    // of L.
    static constexpr int64_t panels_share = 10;
    // The number of candidates of a greedy round, chosen by measurement: fewer candidates need more
    // sweeps, and more make a larger residual block.
    static int64_t greedy_candidates(int64_t m) { return std::clamp<int64_t>((m / 4 + 280) / 64 * 64, 128, 512); }
    // The number of accepted pivots at which a sampled round ends. A round draws twice as many
    // candidates. The first round draws three times as many, because it rejects most and its
    // candidates cost least.
    static int64_t enough_accepted(int64_t m) { return m >= 1000 ? most_accepted : most_accepted / 2; }
    static constexpr int64_t first_draws = 3, later_draws = 2;
    static int64_t most_candidates(int64_t m) {
        return std::max(greedy_candidates(m), first_draws * enough_accepted(m));
    }
    static int64_t triangle_bytes(int64_t m) { return 8 * m * m; }
    // Upper limit of the kernel values that residuals among candidates may take, in addition to the
    // n m values of the columns.
    static int64_t allowance(int64_t n, int64_t m) { return n * ((m + 32) / 4); }
    int64_t affordable(int64_t candidates) const;
    double floor(int64_t step) const { return relative_floor(step) * largest_diagonal_; }
    // If the residual d of a row falls below minus this, check_definite decides whether rounding
    // can explain it or the kernel is indefinite.
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
    void merge_steps();
    void drop_surplus(int64_t from, const PivotStop &stop);

    // residual_matrix.cpp
    template <class Body>
    void kernel_rows(Points<T> &ys, Body &&body);
    double residual_entry(int64_t i, int64_t j, double k) const;
    void check_rows(const int64_t *rows, int64_t count) const;
    void check_residuals(const double *values) const;

    // columns.cpp
    std::vector<int64_t> numbers_of(const std::vector<int64_t> &rows) const;
    Points<T> points_of(const std::vector<int64_t> &numbers) const;
    Pool<Scratch> scratch();
    Block slab(int64_t s, Scratch &scratch);
    void make_again(const Block &block, const int64_t *rows, Scratch &scratch);
    void columns(Step &step, const Block &block, Scratch &scratch);
    void patch(const Step &step, const Block &block, const int64_t *rows) const;

    // True if the factor keeps the pivots' triangle L_P in f64. A stored f64 factor need not do so,
    // because its columns contain the pivots' rows.
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
    // Prepared panels of all rows; empty unless they are small compared to the factor.
    std::vector<Panel<T>> panels_;
    std::vector<int64_t> index_;
    std::vector<std::pair<int64_t, int64_t>> chosen_; // row and column of each pivot, sorted by row
    Buffer<T> factor_;
    // L_P if stores_triangle(): column-major, with memory for triangle_rows_ rows and columns.
    Buffer<double> triangle_;
    // The steps from which columns are recomputed: one for each round, or for several small ones;
    // empty if the factor is stored.
    std::vector<std::unique_ptr<Step>> steps_;
    Buffer<double> residual_;
    Buffer<uint64_t> contents_; // hashes of all rows, to break ties
    int64_t capacity_ = 0, stride_ = 0, triangle_rows_ = 0;
    // Over the rows with weight > 0: the largest k(x, x), the sum of w and the sum of w k(x, x).
    double largest_diagonal_ = 0, weight_sum_ = 0, trace_ = 0;
    // The largest |k(x, x)| of all rows.
    double scale_ = 0;
    // Over the rows with weight > 0: the sum of w d and the largest d.
    double residual_sum_ = 0, largest_ = 0;
    // draws_: candidates drawn so far. evaluations_: kernel values evaluated so far, without
    // again_. spent_: those of them that were evaluated to choose pivots, which allowance() limits.
    int64_t sweeps_ = 0, draws_ = 0, evaluations_ = 0, spent_ = 0;
    // Kernel values evaluated to recompute columns or rows of L.
    std::atomic<int64_t> again_{0};
    bool rank_reached_ = false;
};

} // namespace mercer
