// The parameters of the core: their descriptions (the rows of a table), their values, and in which
// recipes a parameter has an effect.
#pragma once
#include "../core/params.h"
#include "drivers.h"
#include "traits.h"

namespace mercer {

class Recipe;

// The values of the parameters. Each row in parameters.cpp has a field here, of the row's type.
struct CoreValues {
    const char *method, *kernel, *reducer, *lift, *solver, *data_lengths;
    int32_t data_dtype, data_scale, data_missing, gram_storage, centre_weights, lift_centred, centred_gram,
        solver_strict, certificates, assignment;
    int64_t components, ritz, seed, max_passes, rows, replicates, clusters;
    double tol, delta, accuracy, variance, threshold, alpha, time;
};
enum class DataType { as_given, f32, f64 };
enum class DataScale { none, standard, minmax };
enum class DataMissing { error, rows };
enum class GramStorage { automatic, stream, f64, f32 };
enum class CentreWeights { own, voronoi };
enum class CertificateLevel { none, cheap, rows, exact };

// Says in which recipes a parameter has an effect. Other recipes do not have its row, so that
// setting it there is an error.
struct Scope {
    // Kinds of recipes: all; only those of methods; only those that can have a reducer, which are
    // those of methods and of some derivations.
    enum class Part { anything, method, reducer };
    // Methods in regard to clusters: all; only methods that find clusters; only those that do not.
    enum class Cuts { any, only, never };
    Part part = Part::anything;
    bool DriverTraits::*driver = nullptr;   // the method's driver must have this trait ...
    bool driver_has = true;                 // ... or, if driver_has is false, must not have it
    bool DriverTraits::*suffices = nullptr; // if the driver has this trait, only `part` counts
    bool LiftTraits::*trait = nullptr;      // the lift must have this trait ...
    bool value = true;                      // ... or, if value is false, must not have it
    bool LiftTraits::*also = nullptr;       // the lift must have this second trait too
    bool reducer = false;                   // the recipe must name a reducer, so that not all rows are centres
    bool reducer_if_it_weighs = false;      // the same, but only if the lift has the trait `weighs` (traits.h)
    Cuts cuts = Cuts::any;
    const char *words = "";                 // how error texts name these recipes; "": the text is made from the traits
    const char *instead = "";               // the parameter that serves the same purpose in other recipes; "": none
    bool holds(const Recipe &recipe) const; // true if the recipe meets all conditions
    std::string where() const;              // for the error text "<row> applies to <where>"
};

const std::shared_ptr<const ParamTable> &core_table();
// Fails with E_VALUE if a value breaks a rule that its row cannot express.
void check_core_value(const std::string &name, const std::string &value);
// Returns the numbers of data.lengths, which must be > 0; none if the text is empty.
std::vector<double> parse_lengths(std::string_view text);
const Scope &core_scope(size_t row); // the scope of this row of core_table()

} // namespace mercer
