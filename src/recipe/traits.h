// The traits of lifts and derivations, on which the parameters of a recipe and the stages of a fit
// depend. src/lift and src/derive implement them.
#pragma once
#include "../core/params.h"

#include <string>
#include <vector>

namespace mercer {

struct LiftTraits {
    const char *name, *summary, *reference;
    bool uses_factor; // uses the reducer's factor; otherwise the factor is freed before the lift
    bool weighs;      // centres represent rows, by their weights
    bool solves;      // needs a solver plugin
    bool proves;      // certifies how far its eigenvalues are from those of all rows
    bool projects;    // projects on directions in feature space, which have variances and a mean
};
const std::vector<LiftTraits> &lifts();
const LiftTraits &find_lift(const std::string &name); // fails with E_NAME, naming the nearest known lift

// An operation that makes a model from models.
struct Derivation {
    const char *name;
    const char *reducer; // the default one; nullptr: the derivation uses none, and its recipes lack that row
    const char *summary, *reference;
    int64_t least_models = 1, most_models = 1;
    // Parameters that only its recipes have, by complete names such as "output.orthonormal". Their
    // values are the struct of the table, which derivation_values (recipe.h) returns.
    std::shared_ptr<const ParamTable> rows = std::make_shared<const ParamTable>();
};
std::vector<Derivation> &derivations(); // tests add to it

// The values of the rows of the derivation `compress`.
struct CompressValues {
    int32_t orthonormal;
};

// A row of the core or of a derivation, whose name is complete. Rows of plugins lack the first word.
mercer_param complete_row(int64_t offset, int32_t type, const char *name, const char *initial, const char *choices,
                          int32_t flags, double lo, double hi, const char *doc);

} // namespace mercer
