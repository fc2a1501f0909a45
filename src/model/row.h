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
    // right shape. Returns false if a value is not finite, or overflows out's type.
    virtual bool scores(const Source &data, const mercer_view &out) const = 0;

    // The largest number of rows for which this path is faster than tiles. Tiles pay earlier if the
    // centres exceed the second-level cache.
    virtual int64_t most_rows() const = 0;

    static constexpr int64_t most_columns = 256, most_components = 64;
};
// Returns nullptr for models of any other shape: more than one leaf, a leaf that is not fused
// (gram/fused.h), a denominator, too many columns or components, centres of more than 64 MiB, or
// more memory than the context's budget.
std::unique_ptr<const RowScores> make_row_scores(const Model &model);

} // namespace mercer
