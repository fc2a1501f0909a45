#include "parameters.h"

#include "recipe.h"

#include <cmath>

namespace mercer {
namespace {

using Traits = LiftTraits;
using Part = Scope::Part;
using Cuts = Scope::Cuts;

constexpr Scope everywhere{};
constexpr Scope fitting{.part = Part::method, .words = "methods"};
constexpr Scope automatic{.driver = &DriverTraits::takes_accuracy, .instead = "solver.tol"};
constexpr Scope left_open{.part = Part::reducer, .driver = &DriverTraits::chooses_parts, .driver_has = false};
constexpr Scope lifting{.part = Part::method, .driver = &DriverTraits::chooses_parts, .driver_has = false};
constexpr Scope solving{.suffices = &DriverTraits::solves, .trait = &Traits::solves};
constexpr Scope exact{
    .driver = &DriverTraits::takes_accuracy, .driver_has = false, .trait = &Traits::solves, .instead = "accuracy"};
constexpr Scope weighing{.trait = &Traits::weighs, .reducer = true};
constexpr Scope reducing{.part = Part::method, .reducer = true, .words = "reducers"};
constexpr Scope refining{.trait = &Traits::weighs, .also = &Traits::projects, .reducer = true};
// Certificates of lifts with weights compare the centres with the rows that they represent, so
// these scopes require a reducer: if all rows are centres, there is nothing to compare.
constexpr Scope proving{.suffices = &DriverTraits::certifies,
                        .trait = &Traits::proves,
                        .reducer_if_it_weighs = true,
                        .words = "models with fewer centres than rows"};
constexpr Scope proving_as_asked{.driver = &DriverTraits::certifies,
                                 .driver_has = false,
                                 .trait = &Traits::proves,
                                 .reducer_if_it_weighs = true,
                                 .words = "models with fewer centres than rows"};
constexpr Scope projecting{.suffices = &DriverTraits::projects, .trait = &Traits::projects};
constexpr Scope counting{
    .suffices = &DriverTraits::projects, .trait = &Traits::projects, .also = &Traits::has_eigenvalues};
constexpr Scope cutting_off{.part = Part::method, .trait = &Traits::has_eigenvalues};
constexpr Scope nesting{.part = Part::method, .trait = &Traits::nested};
constexpr Scope walking{.part = Part::method, .trait = &Traits::projects, .value = false};
constexpr Scope cutting{
    .part = Part::method, .trait = &Traits::projects, .value = false, .cuts = Cuts::only, .words = "the method 'ncut'"};
constexpr Scope timed{.part = Part::method,
                      .trait = &Traits::projects,
                      .value = false,
                      .cuts = Cuts::never,
                      .words = "the lift 'manifold' in methods other than 'ncut'"};

struct CoreRow {
    const Scope &scope;
    mercer_param param;
};

CoreRow core_row(const Scope &scope, int64_t offset, int32_t type, const char *name, const char *initial,
                 const char *choices, int32_t flags, double lo, double hi, const char *doc) {
    return {scope, complete_row(offset, type, name, initial, choices, flags, lo, hi, doc)};
}
#define AT(field) MERCER_FIELD(decltype(CoreValues::field), CoreValues, field)

const std::vector<CoreRow> &core_rows() {
    constexpr double inf = INFINITY;
    // The parts (method, kernel, ...) come first. A part comes before those that it determines,
    // because setting it resets them.
    static const std::vector<CoreRow> rows = {
        core_row(fitting, AT(method), MERCER_TEXT, "method", "", "", MERCER_PART | MERCER_SHORT, 0, 0,
                 "the reducer, lift and solver to combine, by one name"),
        core_row(fitting, AT(kernel), MERCER_TEXT, "kernel", "gaussian", "", MERCER_PART | MERCER_SHORT, 0, 0,
                 "a kernel, or an expression such as gaussian[0-7] * hamming[8-11] + 0.1 linear"),
        core_row(left_open, AT(reducer), MERCER_TEXT, "reducer", "all", "", MERCER_PART | MERCER_SHORT, 0, 0,
                 "selects the landmarks, which represent the data"),
        core_row(lifting, AT(lift), MERCER_TEXT, "lift", "weighted", "", MERCER_PART | MERCER_SHORT, 0, 0,
                 "builds the eigenproblem from the landmarks"),
        core_row(solving, AT(solver), MERCER_TEXT, "solver", "auto", "", MERCER_PART | MERCER_SHORT, 0, 0,
                 "computes the eigenpairs"),
        core_row(fitting, AT(data_dtype), MERCER_CHOICE, "data.dtype", "as-given", "as-given|f32|f64", MERCER_SHORT, 0,
                 0, "type of kernel values, centres and outputs"),
        core_row(fitting, AT(data_scale), MERCER_CHOICE, "data.scale", "none", "none|standard|minmax", 0, 0, 0,
                 "scaling of the columns before the kernel: to mean 0 and variance 1, or to [0, 1]"),
        core_row(fitting, AT(data_lengths), MERCER_TEXT, "data.lengths", "", "", 0, 0, 0,
                 "length scale of each column, which is divided by it: one number, or d numbers separated by commas"),
        core_row(fitting, AT(data_missing), MERCER_CHOICE, "data.missing", "error", "error|rows", 0, 0, 0,
                 "rows that contain NaN: refused, or left out of the fit and given NaN as output"),
        core_row(weighing, AT(centre_weights), MERCER_CHOICE, "reducer.weights", "own", "own|voronoi", 0, 0, 0,
                 "weights of the centres: the reducer's own, or the total weight of the rows nearest to each"),
        core_row(solving, AT(gram_storage), MERCER_CHOICE, "gram.storage", "auto", "auto|stream|f64|f32", 0, 0, 0,
                 "type in which the kernel matrix is stored; stream: recompute it in each pass"),
        core_row(projecting, AT(lift_centred), MERCER_BOOL, "lift.centred", "true", "", 0, 0, 1,
                 "subtract the mean in feature space"),
        core_row(nesting, AT(centred_gram), MERCER_BOOL, "lift.centred_gram", "false", "", 0, 0, 1,
                 "select and compute on the centred kernel matrix, as in the paper on AKFA: all rows become centres"),
        core_row(walking, AT(alpha), MERCER_REAL, "lift.alpha", "", "", MERCER_AUTO, 0, 1,
                 "power of the density by which the kernel is normalised; unset: 1 for the method 'diffusion', else 0"),
        core_row(timed, AT(time), MERCER_REAL, "lift.time", "", "", MERCER_AUTO, 0, inf,
                 "diffusion time: coordinates are lambda^time f; unset: 1 for the method 'diffusion', else 0"),
        core_row(cutting, AT(clusters), MERCER_INT, "lift.clusters", "2", "", 0, 2, 1e6,
                 "number of clusters for the output 'labels': 2 by the smallest normalised cut, more by k-means"),
        core_row(refining, AT(ritz), MERCER_INT, "lift.ritz", "0", "", MERCER_AUTO, 0, 1e9,
                 "solve for this many directions (such as 4 times the components), then rotate them to the best "
                 "components of all rows in their span; 0: off"),
        core_row(exact, AT(tol), MERCER_REAL, "solver.tol", "", "", MERCER_LO_OPEN | MERCER_AUTO, 0, 1,
                 "largest residual relative to the first eigenvalue; unset: 1e-9, or 1e-5 for f32 kernel values"),
        core_row(solving, AT(max_passes), MERCER_INT, "solver.max_passes", "0", "", MERCER_AUTO, 0, inf,
                 "largest number of passes over the kernel matrix"),
        core_row(solving, AT(solver_strict), MERCER_BOOL, "solver.strict", "false", "", 0, 0, 1,
                 "fail if the solver does not converge"),
        core_row(automatic, AT(accuracy), MERCER_REAL, "accuracy", "0.01", "", MERCER_SHORT | MERCER_LO_OPEN, 0, 1,
                 "largest relative error allowed in each eigenvalue"),
        core_row(proving_as_asked, AT(certificates), MERCER_CHOICE, "report.certificates", "cheap",
                 "none|cheap|rows|exact", 0, 0, 0,
                 "evidence for error bounds: none: only what is free (for projected models the trace of the residual); "
                 "cheap: also sampled pairs; rows: also sampled rows; exact: every entry, n^2 kernel values"),
        core_row(proving_as_asked, AT(rows), MERCER_INT, "report.rows", "0", "", MERCER_AUTO, 0, 1e9,
                 "number of rows sampled for the certificate; 0: 4000; with fewer rows, each is used once"),
        core_row(proving, AT(delta), MERCER_REAL, "report.delta", "0.001", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, 1,
                 "probability with which a certificate may be wrong"),
        core_row(
            counting, AT(replicates), MERCER_INT, "report.bootstrap", "0", "", 0, 0, 1e5,
            "bootstrap replicates for error bars of the eigenvalues; 0: none, or 200 if output.components = 0 asks for "
            "those above the noise"),
        core_row(
            fitting, AT(components), MERCER_INT, "output.components", "10", "", MERCER_SHORT | MERCER_AUTO, 0, inf,
            "number of components; 0: those whose error bars are above the noise or, with output.variance or "
            "output.threshold, as many as these need; lift 'triangular': at most this many, 0 (its default): one for "
            "each centre"),
        core_row(counting, AT(variance), MERCER_REAL, "output.variance", "", "", MERCER_LO_OPEN, 0, 1,
                 "keep the fewest components that explain this share of the total variance; components is then the "
                 "upper limit"),
        core_row(
            cutting_off, AT(threshold), MERCER_REAL, "output.threshold", "", "", MERCER_LO_OPEN, 0, 1,
            "keep components whose eigenvalue is at least this share of the first; components is then the upper limit"),
        core_row(reducing, AT(assignment), MERCER_BOOL, "output.assignment", "false", "", 0, 0, 1,
                 "store the centre assigned to each row (tensor 'assignment'): by the reducer if it assigns rows, else "
                 "the nearest"),
        core_row(everywhere, AT(seed), MERCER_INT, "seed", "0", "", MERCER_SHORT, 0, 0x1p53,
                 "seed of all random choices"),
    };
    return rows;
}
#undef AT

} // namespace

const std::shared_ptr<const ParamTable> &core_table() {
    static const auto table = [] {
        std::vector<mercer_param> params;
        for (const CoreRow &row : core_rows()) params.push_back(row.param);
        return std::make_shared<const ParamTable>("core", params.data(), static_cast<int64_t>(params.size()),
                                                  sizeof(CoreValues));
    }();
    return table;
}

const Scope &core_scope(size_t row) { return core_rows()[row].scope; }

namespace {

bool fits(const Scope &scope, const LiftTraits &lift) {
    return (!scope.trait || lift.*scope.trait == scope.value) && (!scope.also || lift.*scope.also);
}

// Returns the names in the form "'a', 'b' and 'c'".
std::string listed(const std::vector<std::string> &names) {
    std::string list;
    for (size_t k = 0; k < names.size(); ++k)
        list += (k == 0 ? "'" : k + 1 == names.size() ? " and '" : ", '") + names[k] + "'";
    return list;
}

std::vector<std::string> methods_by(bool DriverTraits::*trait, bool value) {
    std::vector<std::string> names;
    for (const Method &method : methods())
        if (find_driver(method.driver).*trait == value) names.emplace_back(method.name);
    return names;
}

std::string methods_with(bool DriverTraits::*trait) {
    const std::vector<std::string> names = methods_by(trait, true);
    return (names.size() == 1 ? "the method " : "the methods ") + listed(names);
}

// Returns the text "methods other than ...", with two of these methods as examples.
std::string methods_without(bool DriverTraits::*trait) {
    std::vector<std::string> examples = methods_by(trait, false);
    examples.resize(2);
    return "methods other than " + listed(methods_by(trait, true)) + ", such as " + listed(examples);
}

} // namespace

bool Scope::holds(const Recipe &recipe) const {
    const Derivation *derivation = recipe.derivation();
    if (part == Part::method && derivation) return false;
    if (part == Part::reducer && derivation && !derivation->reducer) return false;
    const DriverTraits &with = driver_of(recipe);
    if (suffices && with.*suffices) return true;
    if (driver && with.*driver != driver_has) return false;
    const LiftTraits &lift = lift_of(recipe);
    if (!fits(*this, lift)) return false;
    if ((reducer || (reducer_if_it_weighs && lift.weighs)) && !recipe.reducer()) return false;
    return cuts == Cuts::any || (recipe.method() && recipe.method()->cuts == (cuts == Cuts::only));
}

// Returns, for example, "reducers with the lifts 'weighted' and 'extended'". The list of lifts is
// made from the traits, so a new lift appears in it without a change here.
std::string Scope::where() const {
    const std::string others = suffices ? ", and " + methods_with(suffices) : "";
    if (*words) return words + others;
    if (driver && !trait) return driver_has ? methods_with(driver) : methods_without(driver);
    std::vector<std::string> names;
    for (const LiftTraits &lift : lifts())
        if (fits(*this, lift)) names.emplace_back(lift.name);
    return (reducer ? "reducers with the lift" : "the lift") + std::string(names.size() == 1 ? " " : "s ") +
           listed(names) + others;
}

void check_core_value(const std::string &name, const std::string &value) {
    if (name == "data.lengths") parse_lengths(value);
}

std::vector<double> parse_lengths(std::string_view text) {
    std::vector<double> out;
    if (trim(text).empty()) return out;
    for (const std::string &piece : split(text, ',')) {
        double value = 0;
        if (!parse_number(piece, &value) || !(value > 0) || !std::isfinite(value))
            fail(MERCER_E_VALUE, "data.lengths: number %zu is '%.40s', must be a finite number > 0", out.size(),
                 piece.c_str());
        out.push_back(value);
    }
    return out;
}

} // namespace mercer
