// Computes the number that a bandwidth rule of a kernel stands for.
#pragma once
#include "../core/rng.h"
#include "../gram/data.h"
#include "column_stats.h"

namespace mercer {

// The rules `median` and `mean` take the weighted median or mean of the positive distances within a
// random sample (by the seed) of the mapped rows of positive weight. The rule `scale` takes
// sqrt(d var), where var is the variance of the entries of all rows in the d columns of the leaf. A
// pair of rows has the weight w_i w_j, and pairs at distance 0 do not count, so a row of weight 2
// has the same effect as the same row given twice. The result is 0 if all rows are equal. No
// intermediate number overflows or underflows, whatever the size of the entries. Fails with E_DATA
// if f64 cannot hold the result, or its square, which kernels of squared distances need.
class Bandwidth {
  public:
    Bandwidth(Run &run, const Prepared &prepared, const ColumnStats &stats, const RowWeights &weights, uint64_t seed)
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
    const RowWeights &weights_;
    Random random_;
};

// The memory for the rules `median` and `mean`; the rule `scale` needs none.
Bytes bandwidth_bytes(const Run &run, const Source &source);

} // namespace mercer
