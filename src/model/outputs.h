// Output operations: what mercer_model_transform computes for each of the caller's points.
// recipe/outputs.h holds their names and options, one row for each operation.
#pragma once
#include "../recipe/outputs.h"
#include "model.h"

#include <atomic>
#include <cfloat>
#include <cmath>

namespace mercer {

// One array that an operation fills: `cols` numbers for each row of the data.
struct Output {
    const char *name, *doc;
    int64_t cols;
    int32_t dtype = 0; // 0: the type of the model
};

// The caller's array for one output. It has the type of the output; for an output in f32 it may
// also have the type f64. A null data pointer means that the output is not wanted.
class Target {
  public:
    // rows: the rows that are computed, possibly a selection; the view has one row for every row
    // that the caller gave.
    Target(const mercer_view &view, const Source &rows) : view_(view), rows_(&rows) {}
    void put(int64_t row, double value) { put(row, 0, &value, 1); }
    // Writes count values of a row, beginning at column col.
    void put(int64_t row, int64_t col, const double *values, int64_t count) {
        const int64_t number = rows_->number(row), at = number * view_.row_stride + col * view_.col_stride;
        const double largest = view_.dtype == MERCER_F32 ? double(FLT_MAX) : DBL_MAX;
        bool stored = true;
        for (int64_t k = 0; k < count; ++k) stored &= std::fabs(values[k]) <= largest;
        if (!stored) lose(number);
        if (!view_.data) return;
        if (view_.dtype == MERCER_I64)
            for (int64_t k = 0; k < count; ++k)
                entry<int64_t>(at, k) = std::isfinite(values[k]) ? static_cast<int64_t>(values[k]) : -1;
        else if (view_.dtype == MERCER_F32)
            for (int64_t k = 0; k < count; ++k) entry<float>(at, k) = static_cast<float>(values[k]);
        else
            for (int64_t k = 0; k < count; ++k) entry<double>(at, k) = values[k];
    }
    // The number of the first row of the caller's data with a value that is not finite or overflows
    // the type of the array; -1 if there is none.
    int64_t first_lost() const { return lost_; }

  private:
    template <class U>
    U &entry(int64_t at, int64_t k) const {
        return static_cast<U *>(view_.data)[at + k * view_.col_stride];
    }
    void lose(int64_t row) {
        std::atomic_ref<int64_t> lost(lost_);
        for (int64_t seen = lost; (seen < 0 || row < seen) && !lost.compare_exchange_weak(seen, row);) {
        }
    }
    mercer_view view_;
    const Source *rows_;
    int64_t lost_ = -1;
};

template <class T>
struct Request {
    Run &run;
    const Model &model;
    const OutputOptions &options;
    const std::shared_ptr<const Source> &data;
    Target *outs; // the arrays of this operation, as many as Operation::outputs returns
};

// RowValues are the values that one pass over the centres computes for a row x of the data.
// RowNeeds has the flags by which an operation says which of them it needs.
struct RowNeeds {
    enum : unsigned { coordinates = 1, mean = 2, density = 4, self = 8 };
};
struct RowValues {
    const double *f; // r coordinates, A^T k_C(x) / g(x) - b
    // mean: nu^T k_C(x); density: w^T k_C(x) / n.
    double mean = 0, density = 0;
    double self = 0; // k(x, x)
};

// The implementation of one operation of recipe/outputs.h.
struct Operation {
    const char *name;
    // The arrays that it fills; E_UNSUPPORTED if the model cannot compute them.
    std::vector<Output> (*outputs)(const Model &model, const OutputOptions &options);
    // put computes the entries of one row from its RowValues, of which it uses those named by
    // `needs` (RowNeeds). All operations that have put share one pass over the centres.
    unsigned needs = 0;
    void (*put)(const Model &model, const OutputOptions &options, int64_t row, const RowValues &values,
                Target *outs) = nullptr;
    // If put is nullptr, the operation makes a pass of its own, by the function for the type of the
    // model.
    void (*f32)(const Request<float> &request) = nullptr;
    void (*f64)(const Request<double> &request) = nullptr;
};

// The outputs of all operations of one call, in the order of the operations.
std::vector<Output> outputs_of(const Operations &asked, const Model &model, const OutputOptions &options);

// Checks data and arrays, and runs the operations. All operations that do not need a pass of their
// own share one read of the data and one pass over the centres.
void transform(Run &run, const Model &model, const Operations &asked, const OutputOptions &options,
               const std::shared_ptr<const Source> &data, const std::vector<mercer_view> &outs);

// The operation `gradient` (gradient.cpp).
template <class T>
void gradient(const Request<T> &request);

} // namespace mercer
