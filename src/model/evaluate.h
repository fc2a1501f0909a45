// Sums over the centres of a model (gram/row_sums.h), for rows of data.
#pragma once
#include "../gram/row_sums.h"
#include "model.h"

namespace mercer {

template <class T>
class Evaluator : public RowSums<T> {
  public:
    // What panels must provide. values: only what kernel values need; rows: also the unpacked rows
    // of every leaf (LeafRows::x).
    enum class Panels { values, rows };
    Evaluator(Run &run, const Model &model, const std::shared_ptr<const Source> &data, Panels panels = Panels::values);

    const Tiles<T> &tiles() const { return tiles_; }
    // Computes one row again, with k relative to its largest value. This serves rows so far from
    // all centres that k underflows.
    void relative_row(const Weights<T> &w, int64_t row, double *sums) const;

  private:
    static std::vector<LeafSpec> specs(const Model &model, Panels panels);
    static CountedVector<int64_t> numbers(const Model &model, const Source &data);

    // For objects: the number that each centre has in the source of the queries. Empty if the
    // centres are points.
    CountedVector<int64_t> numbers_;
    Points<T> queries_, centres_;
    Tiles<T> tiles_;
};

} // namespace mercer
