// The parameters of the core: their descriptions (the rows of a table), their values, and the
// recipes in which each has an effect.
#pragma once
#include "../core/params.h"
#include "drivers.h"
#include "traits.h"

namespace mercer {

class Recipe;

// The values: one field for each row in parameters.cpp, of its type.
struct CoreValues {
    const char *method, *kernel, *reducer, *lift, *solver, *data_lengths;
    int32_t data_dtype, data_scale, data_missing, gram_storage, centre_weights, lift_centred, solver_strict,
        certificates, assignment;
    int64_t components, ritz, seed, max_passes, rows, replicates, clusters;
    double tol, delta, accuracy, variance, threshold, alpha, time;
};
enum class DataType { as_given, f32, f64 };
enum class DataScale { none, standard, minmax };
enum class DataMissing { error, rows };
enum class GramStorage { automatic, stream, f64, f32 };
enum class CentreWeights { own, voronoi };
enum class CertificateLevel { none, cheap, rows, exact };

// Says in which recipes a parameter has an effect. Other recipes do not have its row, so that setting
// it there is an error.
struct Scope {
    // The recipe is of anything, or of a method; or it is one that can have a reducer.
    enum class Part { anything, method, reducer };
    // Methods that find clusters: as for others, only they, never.
    enum class Cuts { any, only, never };
    Part part = Part::anything;
    bool DriverTraits::*driver = nullptr;   // the method's driver must have this trait ...
    bool driver_has = true;                 // ... or, if false, must not have it
    bool DriverTraits::*suffices = nullptr; // a driver with this trait suffices, whatever the lift
    bool LiftTraits::*trait = nullptr;      // the lift must have this trait ...
    bool value = true;                      // ... or, if false, must not have it
    bool LiftTraits::*also = nullptr;       // the lift must have this one too
    bool reducer = false;                   // a reducer must choose the centres
    bool reducer_if_it_weighs = false;      // the same, but only if the lift weighs (traits.h)
    Cuts cuts = Cuts::any;
    const char *words = "";   // names these recipes in messages; "": the text is made from the traits
    const char *instead = ""; // the row that serves the same purpose in other recipes, or ""
    bool holds(const Recipe &recipe) const;
    std::string where() const; // for the error text "<row> applies to <where>"
};

const std::shared_ptr<const ParamTable> &core_table();
// Fails with E_VALUE if a value breaks a rule that its row cannot express.
void check_core_value(const std::string &name, const std::string &value);
// data.lengths: numbers > 0; empty: not set.
std::vector<double> parse_lengths(std::string_view text);
const Scope &core_scope(size_t row);

} // namespace mercer
