// The data as a reducer sees them through the services of plugin.h: kernel values between mapped
// rows, neither weighted nor centred, in the type of tiles.
#pragma once
#include "../core/structs.h"
#include "../factor/in_factor.h"
#include "../factor/pivot_service.h"
#include "../lift/lift.h"
#include "../operator/centred.h"
#include "../operator/weighted.h"

#include <list>

namespace mercer {

struct ReducerSettings {
    int64_t components;        // the likely number of components of the model
    bool stores_factor = true; // partial Cholesky factors stay in memory; otherwise their columns are recomputed
    bool centred = false;      // rules that need energies see the centred kernel matrix (lift.centred_gram)
};

template <class T>
class DataProblem : public Problem {
  public:
    DataProblem(Run &run, const Prepared &prepared, const Data &data, const ReducerSettings &settings, Reduction &out);

    mercer_shape shape() const override;
    void visit(const mercer_visit &visit, const mercer_consumer &consumer) override;
    void columns(const int64_t *index, int64_t count, double *out, int64_t ldo) override;
    void pairs(const int64_t *i, const int64_t *j, int64_t count, double *out) override;
    void rows(const int64_t *index, int64_t count, double *out) override;
    void weights(double *out) override;
    void landmarks(const int64_t **index, const void **points) override;
    void radial(double *values, int64_t count) const override { prepared_.kernel.radial(values, count); }
    void nearest(const mercer_visit &to, double *square, int64_t *number) override;
    void give(int64_t count, const int64_t *index, const void *points, const double *weights) override;
    mercer_pivots pivot_cholesky(mercer_task &task, const mercer_pivot_rule &rule,
                                 const mercer_pivot_stop &stop) override;
    mercer_gram gram(int32_t flags) override;

    TileBytes tiles(); // the memory of tiles, for forecasts
    // The factor of the last pivot_cholesky, if it is in memory and its pivots are exactly the
    // centres that the reducer gave, in this order and with the rows' own weights; otherwise
    // nullptr.
    std::shared_ptr<PartialCholesky<T>> factor_of_given() const;

    // The points y of a visit, which computes tiles between rows x and points y.
    template <class U>
    Points<U> others(const mercer_visit &visit, const std::vector<LeafSpec> &specs) const;

    // Gives one row as the centre if the reducer called pivot_cholesky and got no pivot, because
    // all k(x, x) are 0 or its stop rule holds before the first pivot: a model needs at least one
    // centre.
    void give_first();

    void serve(mercer_task &task) { task_ = &task; } // failures of callbacks are raised through this task
    int64_t kernel_evaluations() const;

  private:
    int64_t n() const { return points_.rows(); }
    void check_index(const int64_t *index, int64_t count) const;
    int64_t number_of_landmark(int64_t entry, int64_t row) const;
    void require(int32_t status) const;
    struct RowRange {
        int64_t row0, rows;
    };
    RowRange range_of(const mercer_visit &visit) const; // checks the visit, and returns its range of rows
    // The rows x of a visit.
    template <class U>
    Points<U> visited(const mercer_visit &visit, const std::vector<LeafSpec> &specs) const {
        if (!visit.list) return Points<U>(prepared_.source, prepared_.map, specs);
        return Points<U>(prepared_.source, prepared_.map, specs, visit.list, visit.listed);
    }
    template <class U>
    void nearest_as(const mercer_visit &to, double *square, int64_t *number);
    KernelRows kernel_rows() const;
    GramPlan plan_of_gram(int32_t flags);
    mercer_pivots energy_pivots(mercer_task &task, const mercer_pivot_rule &rule, const mercer_pivot_stop &stop);
    mercer_pivots pivots_in_factor(mercer_task &task, const mercer_pivot_rule &rule, const mercer_pivot_stop &stop,
                                   const EnergySelection &how);
    std::vector<int64_t> rows_listed(const char *name, const char *text);

    mercer_task *task_ = nullptr; // the running operation of the plugin
    Run &run_;
    const Prepared &prepared_;
    const Data &data_;
    ReducerSettings settings_;
    Reduction &out_;
    Points<T> points_;
    Buffer<T> mapped_landmarks_;
    Buffer<int64_t> landmark_index_;
    int64_t evaluations_ = 0;
    struct Pivots {
        std::shared_ptr<PartialCholesky<T>> factor;
        Buffer<double> copy;
    };
    // One entry for each call of pivot_cholesky: the plugin may use its arrays until the operation
    // returns.
    std::vector<Pivots> pivots_;
    // One entry for each call of pivot_cholesky with a rule that needs energies.
    struct Selection {
        explicit Selection(KernelRows of) : rows(std::move(of)) {}
        KernelRows rows;
        std::optional<ColumnEnergy> pivots; // refers to `rows`
    };
    std::list<Selection> selections_;
    std::list<CountedVector<int64_t>> orders_; // the pivots of pivots_in_factor, in order of selection
    struct Gram {
        KernelMatrix matrix;
        Buffer<double> scales;                        // roots of the weights; empty if none are applied
        std::unique_ptr<WeightedOperator> weighted{}; // nullptr: neither weights nor centring were requested
        mercer_operator op{};                         // what the plugin calls: *weighted, or else the matrix
    };
    // One entry for each call of gram, as for pivots_. It is a list, because an entry contains
    // pointers to its own members and must not move.
    std::list<Gram> grams_;
};

template <class T>
template <class U>
Points<U> DataProblem<T>::others(const mercer_visit &visit, const std::vector<LeafSpec> &specs) const {
    if (visit.points) {
        const int64_t d = points_.cols();
        const int32_t dtype = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;
        return Points<U>(make_view_source(view_of_rows(dtype, visit.count, d, visit.points)), {}, specs);
    }
    if (visit.index) return Points<U>(prepared_.source, prepared_.map, specs, visit.index, visit.count);
    return Points<U>(prepared_.source, prepared_.map, specs);
}

} // namespace mercer
