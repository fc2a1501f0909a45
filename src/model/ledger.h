// The ledger of a mergeable model: where the squared lengths of the rows' feature vectors went.
// With the variances sigma^2 of the scores, multiplied by n_eff (tensor `scatter`, or `lambda` where the
// model has no `scatter`),
//
//   sum sigma^2 + lost + resid + n_eff nu^T K nu = self.
//
// Merging adds these numbers, and its certificates are made from them (specification reduced sets,
// 8.0 and 8.6). A model is mergeable only if it has them, and if its components are orthonormal and are
// principal directions of the rows that they represent, to rounding.
#pragma once
#include "../core/json.h"

#include <optional>

namespace mercer {

struct Ledger {
    double n_eff = 0; // sum of the sample weights as they were given: all models count in one unit
    double self = 0;  // sum s k(x, x) over the rows, or over the weighted centres that represent them
    double lost = 0;  // sum of the variances of the components that were left out, times n_eff
    double resid = 0; // sum of the squared distances to the span of the centres
    double moved = 0; // bound on the Frobenius distance by which recompressions have moved the rows
};

Json ledger_json(const Ledger &ledger);
// Returns the ledger in the text of a model; nothing if the text has none. Fails with E_MODEL if a
// number is missing, negative or not finite.
std::optional<Ledger> read_ledger(const Json &text);

} // namespace mercer
