// Computes the number that a bandwidth rule of a kernel stands for.
#pragma once
#include "../core/rng.h"
#include "../gram/data.h"
#include "column_stats.h"

namespace mercer {

// By the weighted median or mean of the positive distances among some mapped rows of positive weight, drawn by the seed, or by
// the variance of all of them. A pair counts w_i w_j times, and equal rows do not count, so weights are repetitions here too;
// 0 where all rows are equal. Whatever the rows' size is, nothing overflows or underflows on the way; E_DATA where f64 does not
// hold the number itself, or its square, which kernels of squared distances need.
class Bandwidth {
  public:
    Bandwidth(Run &run, const Prepared &prepared, const ColumnStats &stats, const CountedVector<double> &weights,
              uint64_t seed)
        : run_(run), prepared_(prepared), stats_(stats), weights_(weights), random_(seed, Stage::bandwidth) {}

    double operator()(const Leaf &leaf, const std::string &rule) const;

  private:
    struct Distance {
        double value, weight;
    };
    double scale(const Leaf &leaf) const;
    double of_distances(const Leaf &leaf, bool mean) const;
    CountedVector<Distance> sample(const Leaf &leaf) const;
    void add(CountedVector<Distance> &out, double distance, int64_t i, int64_t j) const;
    CountedVector<Distance> object_distances(const CountedVector<int64_t> &rows) const;
    CountedVector<Distance> row_distances(const Leaf &leaf, const CountedVector<int64_t> &rows) const;
    double bring_near_1(const Leaf &leaf, int64_t rows, double *values) const;

    Run &run_;
    const Prepared &prepared_;
    const ColumnStats &stats_;
    const CountedVector<double> &weights_;
    Random random_;
};

// The needs of the rules median and mean; the rule scale needs nothing.
Bytes bandwidth_bytes(const Run &run, const Source &source);

} // namespace mercer
