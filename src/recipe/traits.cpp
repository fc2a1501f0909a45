#include "traits.h"

#include "../core/text.h"

#include <cmath>

namespace mercer {

const std::vector<LiftTraits> &lifts() {
    static const std::vector<LiftTraits> table = {
        {.name = "weighted",
         .summary = "eigenproblem of the weighted kernel matrix of the centres",
         .reference = "RSKPCA, Algorithm 1; weights 1: kernel PCA",
         .uses_factor = false,
         .weighs = true,
         .solves = true,
         .proves = true,
         .projects = true,
         .has_eigenvalues = true,
         .nested = false},
        {.name = "extended",
         .summary =
             "eigenfunctions of the weighted problem of the landmarks, extended to all rows, which become the centres",
         .reference = "Williams and Seeger 2001; Zhang and Kwok 2010",
         .uses_factor = false,
         .weighs = true,
         .solves = true,
         .proves = true,
         .projects = true,
         .has_eigenvalues = true,
         .nested = false},
        {.name = "projected",
         .summary = "kernel PCA of all rows on the span of the centres",
         .reference = "Williams and Seeger 2001; Franc and Hlavac 2003",
         .uses_factor = true,
         .weighs = false,
         .solves = false,
         .proves = true,
         .projects = true,
         .has_eigenvalues = true,
         .nested = false},
        {.name = "triangular",
         .summary = "features in the order of the centres, each orthogonal in feature space to those before it",
         .reference = "Smola, Mangasarian and Schoelkopf 1999; Jiang, Snapp, Motai and Zhu 2006",
         .uses_factor = true,
         .weighs = false,
         .solves = false,
         .proves = false,
         .projects = true,
         .has_eigenvalues = false,
         .nested = true},
        {.name = "manifold",
         .summary = "random walk between the centres: diffusion maps, Laplacian eigenmaps, normalised cuts",
         .reference = "Coifman and Lafon 2006; Belkin and Niyogi 2003; Shi and Malik 2000",
         .uses_factor = false,
         .weighs = true,
         .solves = true,
         .proves = false,
         .projects = false,
         .has_eigenvalues = true,
         .nested = false},
    };
    return table;
}

const LiftTraits &find_lift(const std::string &name) {
    std::vector<std::string> known;
    for (const LiftTraits &lift : lifts()) {
        if (name == lift.name) return lift;
        known.push_back(lift.name);
    }
    fail_unknown("lift", name, known);
}

mercer_param complete_row(int64_t offset, int32_t type, const char *name, const char *initial, const char *choices,
                          int32_t flags, double lo, double hi, const char *doc) {
    return {sizeof(mercer_param), offset, {sizeof(mercer_row), name, doc, initial, choices, "", type, flags, lo, hi}};
}

namespace {

std::shared_ptr<const ParamTable> compress_rows() {
    const mercer_param rows[] = {complete_row(MERCER_FIELD(int32_t, CompressValues, orthonormal), MERCER_BOOL,
                                              "output.orthonormal", "true", "", MERCER_SHORT, 0, 1,
                                              "replace components that were orthonormal by the nearest orthonormal "
                                              "ones")};
    return std::make_shared<const ParamTable>("compress", rows, 1, sizeof(CompressValues));
}

std::shared_ptr<const ParamTable> truncate_rows() {
    const mercer_param rows[] = {complete_row(MERCER_FIELD(int64_t, TruncateValues, components), MERCER_INT,
                                              "output.components", "0", "", MERCER_SHORT | MERCER_AUTO, 0, INFINITY,
                                              "number of components to keep, from the first one on; 0: all")};
    return std::make_shared<const ParamTable>("truncate", rows, 1, sizeof(TruncateValues));
}

} // namespace

std::vector<Derivation> &derivations() {
    static std::vector<Derivation> table = {
        {.name = "compress",
         .reducer = "rpcholesky",
         .summary = "project the components and the mean of a model onto the span of fewer centres",
         .reference = "Schoelkopf et al. 1999, reduced sets",
         .rows = compress_rows()},
        {.name = "truncate",
         .reducer = nullptr,
         .summary = "keep the first components of a model and, if its features are nested, only their centres",
         .reference = "",
         .rows = truncate_rows()},
    };
    return table;
}

} // namespace mercer
