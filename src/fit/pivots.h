// A partial Cholesky factor that grows: K ~ L L^T of the kernel matrix of n rows, residual diagonal d = diag(K - L L^T).
// Pivots are chosen by the largest residual, drawn at random, or given; reducers, the start of the exact solver, the lift
// `projected` and the method `auto` share it. Methods and bounds are in pivots.cpp and pivots_sweep.cpp.
#pragma once
#include "../gram/tile.h"

#include <algorithm>

namespace mercer {

constexpr double pivot_tie = 1 - 1e-10; // scores this close to the best are equal; the lowest row is taken

// The rows of the matrix: of source after map, all n of them or those in numbers. What is no value here is borrowed for as
// long as the factor grows.
struct PivotRows {
    std::shared_ptr<const Source> source;
    InputMap map;
    const Expression &kernel; // positive semi-definite, else E_UNSUPPORTED
    const int64_t *numbers = nullptr;
    int64_t n = 0;
    // How often each row counts in means and draws; nullptr: once. Rows of weight 0 are no candidates.
    const double *weights = nullptr;
};

// When growth ends: at m pivots in all, or with the first pivot after which one of the others holds; 0: no such stop.
// mse is the weighted mean of d, maxerr its largest entry among rows that count, trace the sum of w d over that of
// w k(x, x).
struct PivotStop {
    int64_t m;
    double mse = 0, maxerr = 0, trace = 0;
    bool early() const { return mse > 0 || maxerr > 0 || trace > 0; }
};

template <class T>
class PartialCholesky {
  public:
    // capacity: columns to make room for at first; more are made as they are needed.
    PartialCholesky(Run &run, const PivotRows &rows, int64_t capacity);
    PartialCholesky(const PartialCholesky &) = delete;

    // All three continue what is there; nothing is done twice. After an exception (cancel, budget) the factor is of no use.
    // E_NUMERICAL where a kernel that says it is positive semi-definite shows not to be.
    //
    // By largest residual, ties to the lowest row. In f64 the pivots are those of the algorithm that goes column by column.
    void grow_greedy(const PivotStop &stop);
    // Each drawn with probability w d / sum w d. The same random must come again when growth continues.
    void grow_sampled(const PivotStop &stop, const Random &random);
    // These rows, in this order (weight 0 is allowed). A row that lies in the span of those before it, or is one of them,
    // is passed over; index() then says who is there. Returns how many were taken.
    int64_t append(const int64_t *rows, int64_t count);
    // Room for capacity columns: a copy of the factor, old and new at once.
    void reserve(int64_t capacity);

    int64_t n() const { return rows_.n; }
    int64_t count() const { return static_cast<int64_t>(index_.size()); }
    const int64_t *index() const { return index_.data(); } // count, in order of selection
    // n x count, row-major with stride(); what lies beyond count in a row is undefined. Pivots' rows are lower triangular.
    const T *factor() const { return factor_.data(); }
    int64_t stride() const { return stride_; }
    int64_t held_bytes() const { return factor_.bytes(); }
    const double *residual() const { return residual_.data(); } // n: d, exactly 0 at pivots
    double mean_residual() const { return residual_sum_ / weight_sum_; }
    double largest_residual() const { return largest_; }
    double trace_left() const { return trace_ > 0 ? residual_sum_ / trace_ : 0; } // share of the trace
    double trace() const { return trace_; }                                       // sum w k(x, x)
    // The last growth ended because no candidate was left above the rank floor.
    bool rank_reached() const { return rank_reached_; }
    int64_t sweeps() const { return sweeps_; }
    int64_t evaluations() const { return evaluations_; } // of the kernel

    bool reached(const PivotStop &stop) const { return reached(stop, residual_sum_, largest_); }
    // May row be the next pivot?
    bool candidate(int64_t row) const { return weight(row) > 0 && residual_[row] > floor(count()); }
    double weight(int64_t row) const { return rows_.weights ? rows_.weights[row] : 1; }

    // Columns to begin with, where m are wanted but an early stop may save most of them.
    static int64_t first_capacity(int64_t m, bool early) { return early ? std::min<int64_t>(m, 256) : m; }
    // Bounds of what a factor of m columns takes (early: grown from first_capacity); tile_bytes: what one thread needs for
    // tiles.
    static int64_t bytes(int64_t n, int64_t m, bool early, int64_t threads, int64_t tile_bytes) {
        return kept_bytes(n, m, early) + growing_bytes(n, m, early, threads, tile_bytes);
    }
    static int64_t kept_bytes(int64_t n, int64_t m, bool early); // the factor and its lists
    static int64_t growing_bytes(int64_t n, int64_t m, bool early, int64_t threads, int64_t tile_bytes);
    static int64_t evaluations(int64_t n, int64_t m) { return n * (m + 1) + allowance(n, m); }

  private:
    // Pivots accepted in one round, at most `most`, and the triangle of L between them.
    struct Round {
        Round(Run &run, int64_t most) : most(most), triangle(run.buffer<double>(most, most)) {}
        int64_t count() const { return static_cast<int64_t>(rows.size()); }
        double *row(int64_t k) { return triangle.data() + k * most; }
        const double *row(int64_t k) const { return triangle.data() + k * most; }
        int64_t most;
        std::vector<int64_t> rows;
        Buffer<double> triangle;
    };
    class Border; // a Cholesky factor that grows by rows
    struct Lower; // the triangle as the sweep wants it
    static constexpr int64_t slab_rows = 1024, solve_width = 32;
    static_assert(slab_rows % tile_rows == 0);
    static int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }
    struct Scratch { // of one thread
        Scratch(Run &run, const Tiles<T> &tiles)
            : tile(tiles.scratch(run)), block(run.buffer<T>(slab_rows, solve_width)) {}
        TileScratch<T> tile;
        Buffer<T> block;
    };
    struct Sums { // over the rows of a slab
        double residual, largest, lowest;
        int64_t lowest_row;
    };

    static constexpr int64_t most_accepted = tile_rows; // pivots of one round
    // Candidates of a greedy round: fewer mean more sweeps, more of them a longer block (FACTS B3.12).
    static int64_t greedy_candidates(int64_t m) { return std::clamp<int64_t>((m / 2 + 255) / 64 * 64, 128, 512); }
    // A sampled round ends with so many pivots; it draws twice as many candidates, the first, which rejects most and whose
    // candidates cost least, three times.
    static int64_t enough_accepted(int64_t m) { return m >= 1000 ? most_accepted : most_accepted / 2; }
    static constexpr int64_t first_draws = 3, later_draws = 2;
    // Residuals inside rounds cost at most so many kernel values beside the n m of the columns.
    static int64_t allowance(int64_t n, int64_t m) { return n * ((m + 32) / 4); }
    int64_t affordable(int64_t candidates) const;
    // Of step + 1 pivots. Kernel values are right to some 8 u in f32, and a column of L errs by that over the root of its
    // pivot: pivots of 16 u would be noise, which further steps amplify (smooth kernels then look indefinite).
    double floor(int64_t step) const {
        constexpr double u = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
        constexpr double entries = sizeof(T) == 4 ? 256 : 16;
        return std::max(1e-10, entries * u + static_cast<double>(step + 1) * 0x1p-53) * largest_diagonal_;
    }
    // A d below minus this is no rounding error.
    double indefinite() const { return 1e3 * (sizeof(T) == 4 ? 0x1p-20 : 1e-10) * scale_; }
    template <class Choose>
    void grow(const PivotStop &stop, Choose &&choose);
    Round choose_greedy(int64_t most, int64_t candidates);
    Round choose_sampled(int64_t most, int64_t draws, const Random &random);
    std::vector<int64_t> largest_rows(int64_t first, int64_t count) const;
    bool reached(const PivotStop &stop, double residual_sum, double largest) const;

    // pivots_sweep.cpp
    void start();
    void for_each(int64_t count, const std::function<void(int64_t)> &body);
    std::vector<int64_t> numbers_of(const std::vector<int64_t> &rows) const;
    Buffer<T> rows_of_factor(const std::vector<int64_t> &rows, int64_t columns);
    Buffer<double> residual_block(const std::vector<int64_t> &rows);
    void add(const Round &round, const PivotStop &stop);
    void patch(int64_t row0, int64_t rows, int64_t from, const Round &round);
    Sums subtract(int64_t row0, int64_t rows, int64_t from);
    void drop_surplus(int64_t from, const PivotStop &stop);

    Run &run_;
    PivotRows rows_;
    Points<T> points_;
    std::vector<int64_t> index_;
    std::vector<std::pair<int64_t, int64_t>> chosen_; // each pivot's row and column, by row
    Buffer<T> factor_;
    Buffer<double> residual_;
    int64_t capacity_ = 0, stride_ = 0;
    double largest_diagonal_ = 0, weight_sum_ = 0, trace_ = 0; // of rows that count
    double scale_ = 0;                                         // largest k(x, x) of all rows
    double residual_sum_ = 0, largest_ = 0;
    int64_t sweeps_ = 0, draws_ = 0, evaluations_ = 0, spent_ = 0; // spent: evaluations to choose
    bool rank_reached_ = false;
};

// The service of plugin.h on an empty factor: what it returns points into the factor and, where columns of an f32 one are
// wanted, into copy. E_PLUGIN for a rule or stop that makes no sense.
PivotStop read_stop(const mercer_pivot_stop &stop);
template <class T>
mercer_pivots run_pivots(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                         const mercer_pivot_stop &stop, Buffer<double> &copy);

} // namespace mercer
