// The traits of lifts and derivations, on which the parameters of a recipe and the stages of a fit
// depend. src/lift and src/derive implement them.
#pragma once
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
    const char *name, *reducer; // reducer nullptr: the derivation uses none, and its recipes lack that row
    const char *summary, *reference;
    int64_t most_models;
};
std::vector<Derivation> &derivations(); // tests add to it

} // namespace mercer
