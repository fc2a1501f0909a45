// Pivoted Cholesky by the energies of the columns of the residual: for rules that need
// MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION. The algorithm and its error bounds are explained
// in column_energy.cpp.
#pragma once
#include "../host/task.h"
#include "../operator/operator.h"
#include "energy_sketch.h"
#include "expansions.h"
#include "partial_cholesky.h"

#include <optional>

namespace mercer {

// True for the rules that ColumnEnergy serves.
inline bool by_energy(int32_t needs) { return needs == MERCER_PIVOT_ENERGY || needs == MERCER_PIVOT_EXPANSION; }

// The rank floor of these selections: rows whose residual is at most this fraction of the largest
// k(x, x) are no candidates.
constexpr double energy_floor(bool f32) { return f32 ? 256 * unit_roundoff(true) : 1e-10; }

// The number of rows that are scored exactly for each pivot, after an estimate or a random draw. Of
// 59 random rows, the best is one of the best 5 % of all with probability 1 - 0.95^59 = 0.952.
constexpr int64_t best_by_rows = 4, best_by_signs = 8, quantile_rows = 59;

// What a selection cost, in addition to its pivots.
struct EnergyCounts {
    int64_t passes = 0;    // passes over the kernel matrix, including refreshes
    int64_t refreshes = 0; // those of them that computed all energies anew
    int64_t columns = 0;   // columns of the residual that were computed to score contenders exactly
};

// How the pivots of such a rule are found (MERCER_SELECT_... in plugin.h), and which rows must be
// pivots, in this order, before all others, or never are.
struct EnergySelection {
    int32_t how = MERCER_SELECT_EXACT;
    std::vector<int64_t> must{}, never{};
};

class ColumnEnergy {
  public:
    // kernel: the kernel matrix of the rows, neither weighted nor centred. Both are borrowed.
    ColumnEnergy(Run &run, const Operator &kernel, const KernelRows &rows);
    // Selects pivots until the stop holds, the rule leaves no candidate, or no row above the rank
    // floor is left. Fails with E_NUMERICAL if the kernel proves to be indefinite, and with E_VALUE
    // if rule.delta leaves no candidate for the first pivot.
    void select(mercer_task &task, const mercer_pivot_rule &rule, const PivotStop &stop,
                const EnergySelection &selection = {});

    int64_t count() const { return static_cast<int64_t>(index_.size()); }
    const int64_t *index() const { return index_.data(); }                 // in order of selection
    const double *residual() const { return residual_.data(); }            // n numbers d
    const double *factor() const { return factor_.data(); }                // L, n x count(), row-major
    int64_t stride() const { return capacity_; }                           // between the rows of L
    const std::vector<double> &errors() const { return errors_; }          // mean residual after 0 ... count() pivots
    const std::vector<int64_t> &candidates() const { return candidates_; } // their number before each pivot
    double mean_residual() const { return errors_.back(); }
    double trace_left() const { return trace_ > 0 ? residual_sum_ / trace_ : 0; }
    bool rank_reached() const { return rank_reached_; } // no row above the rank floor was left
    // w^T K w / W^2, the squared length of the mean in feature space; NAN if no pass has computed
    // it.
    double mean_square() const { return mean_square_; }
    const EnergyCounts &counts() const { return counts_; }

    // Bytes that a selection of m pivots takes in addition to the operator and its passes.
    static int64_t bytes(int64_t n, int64_t m, bool early, int32_t needs, int32_t how, int64_t threads);

  private:
    // A row that may have the largest score, with its column of the residual.
    struct Contender {
        int64_t row = -1;
        double energy = 0, score = -1;
        Buffer<double> column;
    };
    static constexpr int64_t slab_rows = 2048; // rows that one thread processes at once
    // The number of columns that may be formed for one exact pivot. Bounds in f32 are wider, and
    // forming more columns costs less than a refresh, which would soon be due again.
    static constexpr size_t most_contenders(bool f32) { return f32 ? 32 : 8; }
    int64_t n() const { return kernel_.n(); }
    double sample_weight(int64_t i) const { return rows_.weights ? rows_.weights[i] : 1; }
    // The weight of row i in energies, which is 0 if the row was dropped.
    double weight(int64_t i) const { return dropped_.empty() || !dropped_[i] ? sample_weight(i) : 0; }
    const double *expansion() const { return expansions_ ? expansions_->lengths() : nullptr; }
    double floor() const { return relative_floor_ * largest_diagonal_; }
    bool candidate(int64_t i) const {
        return sample_weight(i) > 0 && residual_[i] > floor() && residual_[i] >= rule_->delta &&
               (barred_.empty() || !barred_[i]);
    }
    bool precedes(int64_t i, int64_t j) const {
        return !contents_.empty() && contents_[i] != contents_[j] ? contents_[i] < contents_[j] : i < j;
    }

    void start(const PivotStop &stop);
    void reserve(int64_t capacity);
    // Calls body(row0, rows) for all slabs of rows, on all threads.
    template <class Body>
    void for_rows(Body &&body) {
        Run::Span span(run_, 0, 0);
        parallel_for(run_, (n() + slab_rows - 1) / slab_rows,
                     [&](int64_t s) { body(s * slab_rows, std::min(slab_rows, n() - s * slab_rows)); });
    }
    mercer_pivot_state state(int64_t count, const double *residual, const double *energy, const double *weights,
                             const double *expansion) const;
    void scores(const double *energy, double *out);
    std::vector<int64_t> contenders();
    std::vector<int64_t> exact_rows();
    std::vector<int64_t> best_rows(int64_t count);
    std::vector<int64_t> random_rows();
    std::vector<int64_t> next_rows();
    void take(const std::vector<int64_t> &rows, const PivotStop &stop);
    Contender best_of(const std::vector<int64_t> &rows);
    void residual_columns(const int64_t *rows, int64_t count, double *out);
    void refresh();
    void drop();
    void append(Contender &pivot);
    void update_energies();
    void sum_residuals();
    bool reached(const PivotStop &stop) const;

    Run &run_;
    const Operator &kernel_;
    const KernelRows &rows_;
    mercer_task *task_ = nullptr;
    const mercer_pivot_rule *rule_ = nullptr;
    std::vector<int64_t> index_, candidates_;
    std::vector<double> errors_;
    Buffer<uint64_t> contents_;            // hashes of the rows, to break ties; empty for objects
    Buffer<unsigned char> dropped_;        // 1: the row counts no longer in energies; empty: none was dropped
    Buffer<unsigned char> barred_;         // 1: the row must not be a pivot; empty: all may
    Buffer<double> residual_;              // d
    Buffer<double> energy_, error_;        // s, and a bound e on its error
    Buffer<double> norm_;                  // |K_j|_w, the root of s at the start
    Buffer<double> factor_, column_;       // L, and its newest column
    Buffer<double> bounds_, scores_;       // workspace: bounds of s, and their scores
    std::optional<Expansions> expansions_; // for rules that read them
    int64_t capacity_ = 0;
    double u_, growth_, relative_floor_; // u_: unit roundoff of the type of kernel values
    double largest_diagonal_ = 0, trace_ = 0, weight_sum_ = 0, residual_sum_ = 0, largest_ = 0;
    double mean_square_ = NAN;
    int64_t most_ = 0; // pivots that may be selected
    int32_t how_ = MERCER_SELECT_EXACT;
    std::optional<EnergySketch> sketch_; // estimates the energies if how_ is rows or sketch
    bool rank_reached_ = false;
    EnergyCounts counts_;
};

} // namespace mercer
