// The table of lifts: which small problem the centres give, and how its solutions become a model.
#include "fit.h"

namespace mercer {

const std::vector<Lift> &lifts() {
    static const std::vector<Lift> table = {
        {"weighted", "eigenproblem of the weighted kernel matrix of the centres",
         "RSKPCA, Algorithm 1; weights 1: kernel PCA", false, true, true, true, true, plan_refined, lift_weighted},
        {"extended",
         "eigenfunctions of the weighted problem of the landmarks, extended to all rows, which become the centres",
         "Williams and Seeger 2001; Zhang and Kwok 2010", false, true, true, true, true, plan_extended, lift_extended},
        {"projected", "kernel PCA of all rows on the span of the centres",
         "Williams and Seeger 2001; Franc and Hlavac 2003", true, false, false, true, true, plan_projected,
         lift_projected},
        {"manifold", "random walk between the centres: diffusion maps, Laplacian eigenmaps, normalised cuts",
         "Coifman and Lafon 2006; Belkin and Niyogi 2003; Shi and Malik 2000", false, true, true, false, false,
         plan_manifold, lift_manifold},
    };
    return table;
}

const Lift &find_lift(const std::string &name) {
    std::vector<std::string> known;
    for (const Lift &lift : lifts()) {
        if (name == lift.name) return lift;
        known.push_back(lift.name);
    }
    fail_unknown("lift", name, known);
}

const Lift &lift_of(const Recipe &recipe) {
    static constexpr Lift none{};
    return recipe.derivation() ? none : find_lift(recipe.values().lift);
}

} // namespace mercer
