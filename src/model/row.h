// Scores of a few rows at once with no allocation, no parallel region and no BLAS: what a caller pays who asks row by row.
#pragma once
#include "../gram/source.h"

namespace mercer {

class Model;

class RowScores {
  public:
    virtual ~RowScores() = default;
    // f of all rows of data into out, which fits: data dense, of the model's columns. false: one is no number of out's type.
    virtual bool scores(const Source &data, const mercer_view &out) const = 0;

    // Of how many rows at once this is the faster way: tiles begin to pay where centres leave the second cache.
    virtual int64_t most_rows() const = 0;

    static constexpr int64_t most_columns = 256, most_components = 64;
};
// nullptr where the model has another shape: more than one leaf, one that is not fused (gram/fused.h), a denominator, many
// columns or components, centres of more than 64 MiB, or more than the context's memory budget.
std::unique_ptr<const RowScores> make_row_scores(const Model &model);

} // namespace mercer
