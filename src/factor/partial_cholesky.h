// A partial Cholesky factor that grows: K ~ L L^T of the kernel matrix of n rows, residual diagonal d = diag(K - L L^T).
// Pivots are chosen by the largest residual, drawn at random, or given; reducers, the start of the exact solver, the lift
// `projected` and the method `auto` share it. Methods and bounds are in partial_cholesky.cpp and columns.cpp.
#pragma once
#include "../core/rounding.h"
#include "../core/threads.h"
#include "../gram/data.h"
#include "../gram/thin.h"
#include "../gram/tile.h"

#include <algorithm>
#include <atomic>

namespace mercer {

constexpr double pivot_tie = 1 - 1e-10; // scores this close to the best are equal

// sum x_i y_i in eight interleaved f64 sums, which compilers vectorise.
template <class T>
double dot(const T *x, const T *y, int64_t count) {
    double lane[8] = {};
    int64_t k = 0;
    for (; k + 8 <= count; k += 8)
        for (int64_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[k + l]) * static_cast<double>(y[k + l]);
    for (int64_t l = 0; k < count; ++k, ++l) lane[l] += static_cast<double>(x[k]) * static_cast<double>(y[k]);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// When growth ends: at m pivots in all, or with the first pivot after which one of the others holds; 0: no such stop.
// mse is the weighted mean of d, maxerr its largest entry among rows that count, trace the sum of w d over that of
// w k(x, x).
struct PivotStop {
    int64_t m;
    double mse = 0, maxerr = 0, trace = 0;
    bool early() const { return mse > 0 || maxerr > 0 || trace > 0; }
};

// L is n x m numbers. If that is too much, a factor keeps the pivots, what their columns are made with, and d; each sweep then
// makes the earlier columns of its rows again, by the same products. The rows of candidates come from the triangle of the
// pivots (rounds.cpp), so that pivots and d equal those of a factor in memory up to rounding.
enum class Factor { held, remade };

template <class T>
class PartialCholesky {
  public:
    // rows: of a positive semi-definite kernel, else E_UNSUPPORTED. capacity: columns to make room for at first; more are made as
    // they are needed.
    PartialCholesky(Run &run, const KernelRows &rows, int64_t capacity, Factor kind = Factor::held);
    PartialCholesky(const PartialCholesky &) = delete;

    // All three continue the present factor; no work is repeated. After an exception (cancel, budget) the factor is of no use.
    // E_NUMERICAL where a kernel that says it is positive semi-definite shows not to be.
    //
    // By largest residual. Ties are broken by what the rows contain (precedes), so that the order of the data does not matter.
    // In f64 the pivots are those of the algorithm that goes column by column.
    void grow_greedy(const PivotStop &stop);
    // Each pivot is drawn with probability w d / sum w d. To continue a growth, pass the same random again.
    void grow_sampled(const PivotStop &stop, const Random &random);
    // These rows (weight 0 is allowed), the largest residual first. A row that lies in the span of those before it, or is
    // one of them, is passed over; index() then says who is there, in what order. Returns how many were taken.
    int64_t append(const int64_t *rows, int64_t count);
    // Makes room for capacity columns by copying a held factor; the old and the new one exist at the same time.
    void reserve(int64_t capacity);

    int64_t n() const { return rows_.n; }
    int64_t count() const { return static_cast<int64_t>(index_.size()); }
    const int64_t *index() const { return index_.data(); } // count, in order of selection
    bool held() const { return kind_ == Factor::held; }
    // Held: n x count, row-major with stride(); what lies beyond count in a row is undefined. Pivots' rows are lower triangular.
    const T *factor() const { return factor_.data(); }
    int64_t stride() const { return stride_; }
    int64_t held_bytes() const;                                 // including its lists
    const double *residual() const { return residual_.data(); } // n: d, exactly 0 at pivots
    double mean_residual() const { return residual_sum_ / weight_sum_; }
    double largest_residual() const { return largest_; }
    double trace_left() const { return trace_ > 0 ? residual_sum_ / trace_ : 0; } // share of the trace
    double trace() const { return trace_; }                                       // sum w k(x, x)
    // The last growth ended because no candidate was left above the rank floor.
    bool rank_reached() const { return rank_reached_; }
    int64_t sweeps() const { return sweeps_; }
    int64_t evaluations() const { return evaluations_ + again_; } // of the kernel

    bool reached(const PivotStop &stop) const { return reached(stop, residual_sum_, largest_); }
    // Does row i precede row j if their scores tie? Decided by a hash of the row's values; for equal rows and for objects, whose
    // values are unknown, by position. Call read_contents() before.
    bool precedes(int64_t i, int64_t j) const {
        return !contents_.empty() && contents_[i] != contents_[j] ? contents_[i] < contents_[j] : i < j;
    }
    void read_contents();
    // May row be the next pivot?
    bool candidate(int64_t row) const { return weight(row) > 0 && residual_[row] > floor(count()); }
    double weight(int64_t row) const { return rows_.weights ? rows_.weights[row] : 1; }

    // Columns to allocate at first if m are requested but an early stop may save most of them.
    static int64_t first_capacity(int64_t m, bool early) { return early ? std::min<int64_t>(m, 256) : m; }
    // Bounds of what a factor of m columns takes (early: grown from first_capacity), remade for at most `rounds` sweeps;
    static Bytes bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles,
                       Factor kind = Factor::held);
    static int64_t kept_bytes(int64_t n, int64_t m, bool early, const TileBytes &tiles); // of a held one, and its lists
    static Bytes growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, const TileBytes &tiles);
    static int64_t evaluations(int64_t n, int64_t m, Factor kind = Factor::held) {
        const int64_t looked_up = std::min(n, most_candidates(m)) * m / 2; // in a round, half of them on average
        return n * (m + 1) + allowance(n, m) +
               rounds(m) *
                   ((kind == Factor::held ? 0 : n * m / 2) + (sizeof(T) == 4 || kind != Factor::held ? looked_up : 0));
    }
    static int64_t rounds(int64_t m) { return m / 32 + 4; } // of either rule, where candidates are not all alike
    // The floor of all rules: no pivot is taken whose d is at most this, in units of the largest diagonal, after `step` others
    // (derived in partial_cholesky.cpp).
    static double relative_floor(int64_t step) {
        return std::max(1e-10, unit_roundoff(sizeof(T) == 4)) + static_cast<double>(step + 1) * unit_roundoff(false);
    }
    // Pivots' rows of L, in f64: m x m, column-major, lower triangle.
    Buffer<double> triangle(Run &run) const;

  private:
    // Rows among which pivots are chosen: their rows of L, and K - L L^T among them, whose diagonal is d.
    struct Candidates {
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        std::vector<int64_t> rows;
        Buffer<double> factor, residual; // row-major: count() x columns of the factor, count() x count()
    };
    // Pivots accepted in one round, at most `most`, in order; places says where they are among the candidates.
    struct Round {
        Round(Run &run, int64_t most) : most(most), triangle(run.buffer<double>(most, most)) {}
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        double *row(int64_t k) { return triangle.data() + k * most; }
        const double *row(int64_t k) const { return triangle.data() + k * most; }
        int64_t most;
        std::vector<int64_t> rows, places;
        Buffer<double> triangle; // L between them
        Buffer<double> earlier;  // their rows of L before the round
    };
    class Border; // a Cholesky factor that grows by rows
    struct Step { // what makes the columns of one round
        Step(PartialCholesky &factor, const Round &round);
        int64_t depth() const { return from + made; }
        // In a row of the part of solved that begins with column j0.
        int64_t columns_from(int64_t j0) const { return padded_columns<T>(std::min(wide, made - j0)); }
        std::vector<int64_t> numbers; // of the pivots
        int64_t from, made, width;    // the columns; the first `width` of those made are used
        Points<T> points;
        Panel<T> pivots;
        Buffer<T> triangle; // L_PP, row-major
        // What a part of `wide` columns is solved with, depth() rows each: first -L^T of the part's pivots in all columns before
        // the part, then M^T with M the inverse of the part's own triangle.
        Buffer<T> solved;
    };
    static constexpr int64_t slab_rows = 1024, slab_panels = slab_rows / tile_rows, few_rows = 128;
    // Columns of one product, two registers of 64 bytes: what it reads of them streams through the first cache (four cost
    // 5 %, rows of all columns 15 to 25 %).
    static constexpr int64_t wide = 128 / sizeof(T);
    static_assert(slab_rows % tile_rows == 0);
    static int64_t stride_of(int64_t capacity);
    static int64_t ready_bytes(int64_t n, int64_t m, bool early,
                               const TileBytes &tiles); // bytes of rows prepared for tiles; 0: not kept
    static int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }
    struct Scratch { // of one thread
        Scratch(Run &run, const Tiles<T> &tiles) : tile(tiles.scratch(run)) {}
        TileScratch<T> tile;
        std::vector<Panel<T>> panels;
        Buffer<T> rows; // of L, where it is not held
    };
    struct Block { // rows of L at work
        Points<T> &points;
        const Panel<T> *panels; // of these rows, each but the last of tile_rows
        int64_t row0, rows;
        T *l;
        int64_t stride;
    };
    struct Sums { // over the rows of a slab
        double residual, largest, lowest;
        int64_t lowest_row;
    };

    static constexpr int64_t most_accepted = tile_rows; // pivots of one round
    static constexpr int64_t panels_share = 10; // rows stay prepared for tiles if they need at most this fraction of L
    // Candidates of a greedy round: fewer mean more sweeps, more of them a longer block (FACTS B3.12).
    static int64_t greedy_candidates(int64_t m) { return std::clamp<int64_t>((m / 4 + 280) / 64 * 64, 128, 512); }
    // A sampled round ends with so many pivots; it draws twice as many candidates, the first, which rejects most and whose
    // candidates cost least, three times.
    static int64_t enough_accepted(int64_t m) { return m >= 1000 ? most_accepted : most_accepted / 2; }
    static constexpr int64_t first_draws = 3, later_draws = 2;
    static int64_t most_candidates(int64_t m) {
        return std::max(greedy_candidates(m), first_draws * enough_accepted(m));
    }
    static int64_t triangle_bytes(int64_t m) { return 8 * m * m; }
    // Upper limit of the kernel values for residuals inside rounds, in addition to the n m of the columns.
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
    bool keeps_triangle() const { return sizeof(T) == 4 || !held(); } // else columns in f64 have pivots' rows
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
    std::vector<std::pair<int64_t, int64_t>> chosen_; // each pivot's row and column, by row
    Buffer<T> factor_;
    Buffer<double> triangle_;                  // L_P where it is kept: triangle_rows_ squared, column-major
    std::vector<std::unique_ptr<Step>> steps_; // of a factor not held
    Buffer<double> residual_;
    Buffer<uint64_t> contents_; // of all rows, where ties are broken by them
    int64_t capacity_ = 0, stride_ = 0, triangle_rows_ = 0;
    double largest_diagonal_ = 0, weight_sum_ = 0, trace_ = 0; // of rows that count
    double scale_ = 0;                                         // largest k(x, x) of all rows
    double residual_sum_ = 0, largest_ = 0;
    int64_t sweeps_ = 0, draws_ = 0, evaluations_ = 0, spent_ = 0; // spent: evaluations to choose
    std::atomic<int64_t> again_{0};                                // evaluations to recompute earlier columns
    bool rank_reached_ = false;
};

} // namespace mercer
