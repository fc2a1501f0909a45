// Scores of a few rows at once, without allocation, parallel region or BLAS. This is the fast path
// for callers that transform row by row.
#pragma once
#include "../gram/source.h"

namespace mercer {

class Model;

class RowScores {
  public:
    virtual ~RowScores() = default;
    // Writes f of all rows of data to out. data is dense with the model's columns, and out has the
    // right shape. Returns false if an entry of a row or a value of f is not finite, or a value
    // overflows the type of out.
    virtual bool scores(const Source &data, const mercer_view &out) const = 0;

    // The largest number of rows for which this path is faster than tiles. If the centres exceed
    // the second-level cache, this number is smaller, because this path reads all of them for each
    // row.
    virtual int64_t most_rows() const = 0;

    static constexpr int64_t most_columns = 256, most_components = 64;
};
// Returns nullptr if this path cannot serve the model: if its kernel is not a single fused leaf
// (gram/fused.h) of weight 1; if its centres are not dense rows; if it has a denominator, no
// components, or too many columns or components; if its centres and coefficients exceed 64 MiB; or
// if the budget of the context does not suffice.
std::unique_ptr<const RowScores> make_row_scores(const Model &model);

} // namespace mercer
