// The parameters of the core: their rows, their values, and the recipes in which each has an effect.
#pragma once
#include "../core/params.h"
#include "traits.h"

namespace mercer {

class Recipe;

// Order and types are those of the rows in parameters.cpp.
struct CoreValues {
    const char *method, *kernel, *reducer, *lift, *solver, *data_lengths;
    int32_t data_dtype, data_scale, data_missing, gram_storage, centre_weights, lift_centred, solver_strict,
        certificates, orthonormal, assignment;
    int64_t components, ritz, seed, max_passes, rows, replicates, clusters;
    double tol, delta, accuracy, variance, threshold, alpha, time;
};
enum class DataType { as_given, f32, f64 };
enum class DataScale { none, standard, minmax };
enum class DataMissing { error, rows };
enum class GramStorage { automatic, stream, f64, f32 };
enum class CentreWeights { own, voronoi };
enum class CertificateLevel { none, cheap, rows, exact };

// A recipe in which a row has no effect does not have the row.
struct Scope {
    enum class Part { anything, method, derivation, reducer }; // what the recipe is of, or has
    enum class Auto { as_others, too, alone, never };          // what holds of methods that search
    enum class Cuts { any, only, never };                      // of methods that find clusters
    Part part = Part::anything;
    Auto automatic = Auto::as_others;
    bool LiftTraits::*trait = nullptr; // that the lift must have ...
    bool value = true;                 // ... or must not have
    bool LiftTraits::*also = nullptr;
    bool reducer = false;              // a reducer must choose the centres ...
    bool reducer_if_it_weighs = false; // ... where the lift takes centres for rows
    Cuts cuts = Cuts::any;
    const char *words = "";   // where it holds, for messages; "": made from the traits
    const char *instead = ""; // the row that serves the same purpose in other recipes, or ""
    bool holds(const Recipe &recipe) const;
    std::string where() const; // for the error text "<row> applies to <where>"
};

const std::shared_ptr<const ParamTable> &core_table();
// Checks what a row cannot express about its value: E_VALUE.
void check_core_value(const std::string &name, const std::string &value);
// data.lengths: numbers > 0; empty: not set.
std::vector<double> parse_lengths(std::string_view text);
const Scope &core_scope(size_t row);

} // namespace mercer
