// The ledger of a mergeable model accounts for the sum of the squared lengths of the rows' feature
// vectors. With the variances sigma^2 of the scores (tensor `scatter`, or `lambda` if the model has
// no `scatter`),
//
//   n_eff sum sigma^2 + lost + resid + n_eff nu^T K nu = self.
//
// The four terms on the left are, in this order: the part of the components, the part of components
// that were left out, the part outside the span of the centres, and the part of the mean. As all
// terms are sums over rows, merging adds the ledgers of two models, and the certificates of the
// merged model are computed from the result. A model is mergeable only if it has a ledger, and if
// its components are orthonormal and are, up to rounding, the principal directions of the rows that
// they represent.
#pragma once
#include "../core/json.h"

#include <optional>

namespace mercer {

struct Ledger {
    // The sum of the sample weights as they were given. They are not scaled to the sum n here, so
    // that the ledgers of different models can be added.
    double n_eff = 0;
    double self = 0;  // sum s k(x, x), with these weights s, over the rows or the centres that represent them
    double lost = 0;  // sum of the variances of the components that were left out, times n_eff
    double resid = 0; // sum of the squared distances to the span of the centres
    double moved = 0; // bound on the Frobenius distance by which recompressions have moved the rows
};

Json ledger_json(const Ledger &ledger);
// Returns the ledger in the text of a model; nothing if the text has none. Fails with E_MODEL if a
// number is missing, negative or not finite.
std::optional<Ledger> read_ledger(const Json &text);

} // namespace mercer
