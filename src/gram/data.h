// The rows of a fit: as the caller's data handle holds them, and as prepared for the kernel.
#pragma once
#include "points.h"

#include <algorithm>
#include <cmath>

namespace mercer {

struct Data {
    std::shared_ptr<const Source> source;
    mercer_view weights{}, landmarks{}, labels{}; // a view whose member `data` is NULL was not given
    std::vector<std::string> columns;             // names; empty if unknown
    // Owns the row numbers in `landmarks` if choose_landmarks selected them; otherwise nullptr.
    std::shared_ptr<const CountedVector<int64_t>> own_landmarks;
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
    bool has_landmark_rows() const { return has_landmarks() && landmarks.dtype == MERCER_I64; }
};

// Returns the first row whose number (Source::number) is at least this one, or rows() if there is
// none. It bisects, because the numbers of rows ascend.
int64_t find_number(const Source &rows, int64_t number);

// Returns `data` restricted to the rows of `source`, a subset of data.source (subset.h). Weights
// are kept as they are, because they are looked up by the caller's row numbers. Landmarks that are
// row numbers are kept if their rows are in the subset; landmarks that are points are all kept.
// Labels are dropped, because they have one entry for each row of the caller.
Data data_of_subset(const Data &data, std::shared_ptr<const Source> source);
// For landmarks that are row numbers: keeps those for which keep(number) is true, and subtracts
// `shift` from each of them.
template <class Keep>
void choose_landmarks(Data &data, int64_t shift, Keep &&keep) {
    auto own = std::make_shared<CountedVector<int64_t>>();
    for (int64_t i = 0; i < data.landmarks.rows; ++i)
        if (const int64_t row = static_cast<const int64_t *>(data.landmarks.data)[i * data.landmarks.row_stride];
            keep(row))
            own->push_back(row - shift);
    data.landmarks.rows = static_cast<int64_t>(own->size()), data.landmarks.row_stride = 1;
    data.landmarks.data = own->empty() ? nullptr : own->data();
    data.own_landmarks = std::move(own);
}

// The weights of the rows of a fit, whose sum is n. Without given values all are 1 and take no
// memory.
class RowWeights {
  public:
    explicit RowWeights(int64_t n = 0) : n_(static_cast<size_t>(n)) {}
    RowWeights(CountedVector<double> values) : n_(values.size()), values_(std::move(values)) {}
    size_t size() const { return n_; }
    double operator[](size_t row) const { return values_.empty() ? 1 : values_[row]; }
    const double *data() const { return values_.empty() ? nullptr : values_.data(); } // nullptr: all 1
    bool vary() const {
        return std::any_of(values_.begin(), values_.end(), [](double weight) { return weight != 1; });
    }
    int64_t positive() const { // the number of rows whose weight is above 0
        return static_cast<int64_t>(n_) - std::count(values_.begin(), values_.end(), 0.0);
    }

  private:
    size_t n_;
    CountedVector<double> values_;
};

// The rows of a fit together with the input map that is applied to them and the kernel with all its
// parameters.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read any number of times
    InputMap map;
    Expression kernel; // finish() has been called
    bool f32 = false;  // tiles are computed in f32
    // Rough products and start vectors may be computed in f32 (value_range.h).
    bool f32_serves = true;
    bool squares_hold = true; // squares of kernel values do not overflow f64
    RowWeights weights;
    double weight_sum = 0; // the sum of the weights as they were given, before it was scaled to n
    // Properties of the data that the user may not have intended. A fit reports them; a forecast,
    // which prepares only a sample of the rows, does not.
    std::vector<std::string> warnings;
    bool weighted() const { return weights.vary(); }
};

// Writes all rows of source to out, which is f32, f64 or i64. Fails with E_SHAPE if out has another
// shape, and with E_DATA if out is i64 and a value is not a whole number from -2^53 to 2^53; other
// values are not checked.
void read_rows(Run &run, std::shared_ptr<const Source> source, const mercer_view &out);

// Scales the weights so that their sum is n, and returns their sum before. Fails with E_DATA if it
// is not positive and finite.
double scale_weights(CountedVector<double> &weights, int64_t n);

// The rows of a kernel matrix: all n rows of source after the input map, or those listed in
// numbers. The reference and the pointers are borrowed.
struct KernelRows {
    std::shared_ptr<const Source> source;
    InputMap map;
    const Expression &kernel;
    const int64_t *numbers = nullptr;
    int64_t n = 0;
    // The weight of each row in means and random draws; nullptr: 1. Rows of weight 0 cannot become
    // pivots.
    const double *weights = nullptr;
};
template <class T>
Points<T> points_of(const KernelRows &rows) {
    const std::vector<LeafSpec> specs = leaf_specs(rows.kernel);
    return rows.numbers ? Points<T>(rows.source, rows.map, specs, rows.numbers, rows.n)
                        : Points<T>(rows.source, rows.map, specs);
}

} // namespace mercer
