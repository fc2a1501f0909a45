// The traits of lifts and derivations, on which the parameters of a recipe and the stages of a fit
// depend. src/lift and src/derive have their functions.
#pragma once
#include "../core/params.h"

#include <string>
#include <vector>

namespace mercer {

struct LiftTraits {
    const char *name, *summary, *reference;
    bool uses_factor; // it uses the reducer's factor, which is otherwise freed before the lift
    bool weighs;      // the weights of the centres matter, because a centre represents several rows
    bool solves;      // it needs a solver plugin
    bool proves;      // it certifies how far its eigenvalues are from those of all rows
    bool projects;    // its models project on directions in feature space, which have variances and a mean
    // Its components are eigenvectors, so that their number can follow from the eigenvalues.
    bool has_eigenvalues;
    // Component j depends on the first j centres alone: the first k components are the model of k
    // centres. Then there is one component for each centre.
    bool nested;
};
const std::vector<LiftTraits> &lifts();
const LiftTraits &find_lift(const std::string &name); // fails with E_NAME, naming the nearest known lift

// An operation that makes a model from models.
struct Derivation {
    const char *name;
    const char *reducer; // name of the default reducer; nullptr: recipes have no parameter `reducer`
    const char *summary, *reference;
    int64_t least_models = 1, most_models = 1; // how many models it may be given
    // The parameters that only its recipes have, with complete names such as "output.orthonormal".
    // derivation_values (recipe.h) returns the struct with their values.
    std::shared_ptr<const ParamTable> rows = std::make_shared<const ParamTable>();
};
std::vector<Derivation> &derivations(); // tests add to it

// The values of the parameters of the derivations.
struct CompressValues {
    int32_t orthonormal;
};
struct TruncateValues {
    int64_t components;
};

// Makes a row of the core or of a derivation, with a complete name such as "output.orthonormal".
// The names of plugin rows are shorter: a recipe puts a prefix such as "reducer." before them.
mercer_param complete_row(int64_t offset, int32_t type, const char *name, const char *initial, const char *choices,
                          int32_t flags, double lo, double hi, const char *doc);

} // namespace mercer
