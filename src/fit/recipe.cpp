#include "fit.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

const std::vector<Method> &methods() {
    static const std::vector<Method> table = {
        {"kpca", "all", "weighted", "exact kernel PCA", "Schoelkopf, Smola and Mueller 1998"},
        {"auto", "all", "projected", "as many rows as the accuracy asked for needs, or exact: it decides and proves",
         "Chen, Epperly, Tropp and Webber 2023"},
        {"nystrom", "uniform", "projected", "kernel PCA of all rows on the span of random ones",
         "Williams and Seeger 2001, m-only and centred"},
        {"gkpca", "greedy", "projected", "kernel PCA of all rows on the span of greedily chosen ones",
         "Franc and Hlavac 2003"},
        {"subsampled", "uniform", "weighted", "kernel PCA of a random subset of the rows", "Freedman and Kisilev 2010"},
    };
    return table;
}

namespace {

constexpr double inf = INFINITY;

// The core's rows are written as a plugin's are; their names carry the part.
mercer_param core_row(int64_t offset, int32_t type, const char *name, const char *initial, const char *choices,
                      int32_t flags, double lo, double hi, const char *doc) {
    return {sizeof(mercer_param), offset, {sizeof(mercer_row), name, doc, initial, choices, "", type, flags, lo, hi}};
}
#define AT(field) MERCER_FIELD(decltype(CoreValues::field), CoreValues, field)

const std::shared_ptr<const ParamTable> &core_table() {
    static const auto table = [] {
        const mercer_param rows[] = {
            core_row(AT(method), MERCER_TEXT, "method", "", "", MERCER_PART | MERCER_SHORT, 0, 0,
                     "how the problem is made smaller"),
            core_row(AT(kernel), MERCER_TEXT, "kernel", "gaussian", "", MERCER_PART | MERCER_SHORT, 0, 0,
                     "a kernel, or an expression like gaussian[0-7] * hamming[8-11] + 0.1 linear"),
            core_row(AT(reducer), MERCER_TEXT, "reducer", "all", "", MERCER_PART | MERCER_SHORT, 0, 0,
                     "which points stand for the data"),
            core_row(AT(lift), MERCER_TEXT, "lift", "weighted", "", MERCER_PART | MERCER_SHORT, 0, 0,
                     "which problem those points give"),
            core_row(AT(solver), MERCER_TEXT, "solver", "auto", "", MERCER_PART | MERCER_SHORT, 0, 0, "who solves it"),
            core_row(AT(data_dtype), MERCER_CHOICE, "data.dtype", "as-given", "as-given|f32|f64", MERCER_SHORT, 0, 0,
                     "type of kernel values, centres and outputs"),
            core_row(AT(data_scale), MERCER_CHOICE, "data.scale", "none", "none|standard|minmax", 0, 0, 0,
                     "scale columns first: to mean 0 and variance 1, or to [0, 1]"),
            core_row(AT(data_lengths), MERCER_TEXT, "data.lengths", "", "", 0, 0, 0,
                     "length of each column, one or d numbers separated by commas; columns are divided by them"),
            core_row(AT(data_missing), MERCER_CHOICE, "data.missing", "error", "error|rows", 0, 0, 0,
                     "rows with a NaN: an error, or left out of the fit and given NaN as their output"),
            core_row(AT(gram_storage), MERCER_CHOICE, "gram.storage", "auto", "auto|stream|f64|f32", 0, 0, 0,
                     "keep the kernel matrix in this type, or compute it again in each pass"),
            core_row(AT(lift_centred), MERCER_BOOL, "lift.centred", "true", "", 0, 0, 1,
                     "subtract the mean in feature space"),
            core_row(AT(tol), MERCER_REAL, "solver.tol", "", "", MERCER_LO_OPEN | MERCER_AUTO, 0, 1,
                     "largest residual / first eigenvalue; unset: 1e-9, for f32 values 1e-5"),
            core_row(AT(max_passes), MERCER_INT, "solver.max_passes", "0", "", MERCER_AUTO, 0, inf,
                     "at most so many passes over the kernel matrix"),
            core_row(AT(solver_strict), MERCER_BOOL, "solver.strict", "false", "", 0, 0, 1,
                     "not converged is an error"),
            core_row(AT(accuracy), MERCER_REAL, "accuracy", "0.01", "", MERCER_SHORT | MERCER_LO_OPEN, 0, 1,
                     "method auto: largest relative error of each eigenvalue"),
            core_row(AT(certificates), MERCER_CHOICE, "report.certificates", "cheap", "none|cheap|rows", 0, 0, 0,
                     "proofs of projected models: the trace of what is lost; its norm too, from pairs; rows of it too"),
            core_row(AT(rows), MERCER_INT, "report.rows", "0", "", MERCER_AUTO, 0, 1e9,
                     "rows behind the certificate, 0: 4000"),
            core_row(AT(delta), MERCER_REAL, "report.delta", "0.001", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, 1,
                     "probability that a certificate may be wrong"),
            core_row(
                AT(replicates), MERCER_INT, "report.bootstrap", "0", "", MERCER_AUTO, 0, 1e5,
                "replicates behind error bars of the eigenvalues; 0: none, or 200 where they choose the components"),
            core_row(AT(components), MERCER_INT, "output.components", "10", "", MERCER_SHORT | MERCER_AUTO, 0, inf,
                     "how many components; 0: those that stand out of their noise, by error bars"),
            core_row(AT(variance), MERCER_REAL, "output.variance", "", "", MERCER_LO_OPEN, 0, 1,
                     "as few components as explain this share of the total variance (components: at most so many)"),
            core_row(AT(threshold), MERCER_REAL, "output.threshold", "", "", MERCER_LO_OPEN, 0, 1,
                     "components of at least this share of the first eigenvalue (components: at most so many)"),
            core_row(AT(seed), MERCER_INT, "seed", "0", "", MERCER_SHORT, 0, 0x1p53,
                     "all random choices follow from it"),
        };
        return std::make_shared<const ParamTable>("core", rows, std::size(rows), sizeof(CoreValues));
    }();
    return table;
}
#undef AT

template <class Table>
std::vector<std::string> names_of(const Table &table) {
    std::vector<std::string> names;
    for (const auto &row : table) names.push_back(row.name);
    return names;
}

template <class Entry>
const Entry *entry_of(const std::vector<Entry> &table, const std::string &name) {
    for (const Entry &entry : table)
        if (name == entry.name) return &entry;
    return nullptr;
}

bool is_part(const std::string &name) {
    return name == "method" || name == "kernel" || name == "reducer" || name == "lift" || name == "solver";
}

// What a row alone cannot say of its value.
void check_value(const std::string &name, const std::string &value) {
    if (name == "data.lengths") parse_lengths(value);
}

std::string plain(std::string name) { // keyword arguments of some languages cannot hold '-'
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

} // namespace

Recipe::Recipe(std::shared_ptr<Registry> registry, const std::string &name) : registry_(std::move(registry)) {
    operation_ = entry_of(operations(), name);
    core_ = Params(operation_ ? operation_->rows : core_table());
    if (operation_) return;
    set_part("method", name);
}

void Recipe::set_part(const std::string &part, const std::string &value) {
    auto store = [&](const std::string &text) { core_.set(core_.table().find(part), text, part.c_str()); };
    auto free_to_choose = [&](const std::string &name, const char *own) {
        if (is_auto() && name != own)
            fail(MERCER_E_VALUE, "%s = %s: the method 'auto' chooses it; 'nystrom' and 'kpca' leave it to you",
                 part.c_str(), name.c_str());
    };
    if (part == "method") {
        const Method *method = entry_of(methods(), value);
        if (!method) {
            std::vector<std::string> known = names_of(methods());
            for (const std::string &name : names_of(operations())) known.push_back(name);
            fail_unknown("method or operation", value, known);
        }
        method_ = method;
        store(value);
        set_part("kernel", "gaussian");
        set_part("reducer", method->reducer);
        set_part("lift", method->lift);
        set_part("solver", "auto");
    } else if (part == "kernel") {
        auto kernel = std::make_shared<Expression>(parse_expression(value.empty() ? "gaussian" : value), *registry_);
        if (kernel_) kernel->user = kernel_->user;
        kernel_ = std::move(kernel);
        store(kernel_->text());
    } else if (part == "lift") {
        std::string name = value.empty() ? method_->lift : value;
        free_to_choose(name, method_->lift);
        store(find_lift(name).name);
    } else {
        bool reducer = part == "reducer";
        std::string name = !value.empty() ? value : reducer ? method_->reducer : "auto";
        if (reducer) free_to_choose(name, method_->reducer);
        std::shared_ptr<const Plugin> plugin;
        if (name != (reducer ? "all" : "auto")) plugin = registry_->find(reducer ? Kind::reducer : Kind::solver, name);
        (reducer ? reducer_params_ : solver_params_) = plugin ? Params(plugin->params) : Params();
        store(plugin ? plugin->name : name);
        (reducer ? reducer_ : solver_) = std::move(plugin);
    }
    shown_.clear();
}

void Recipe::set_user(std::shared_ptr<const UserKernel> user) {
    if (!kernel_->has_user()) set_part("kernel", "user");
    kernel_->user = std::move(user);
}

std::vector<Recipe::Row> Recipe::rows() {
    std::vector<Row> out;
    auto add = [&out](Params &params, const std::string &prefix) {
        for (size_t i = 0; i < params.table().rows().size(); ++i)
            out.push_back({&params, static_cast<int64_t>(i), prefix});
    };
    add(core_, "");
    for (size_t l = 0; kernel_ && l < kernel_->leaves.size(); ++l) add(kernel_->leaves[l].params, kernel_->prefix(l));
    add(reducer_params_, "reducer.");
    add(solver_params_, "solver.");
    return out;
}

// A full name, else a short one that is unique, or the one that insists on being short.
Recipe::Row Recipe::find(const std::string &asked) {
    std::string name = plain(asked);
    std::vector<Row> all = rows(), shorts;
    std::vector<std::string> known;
    for (Row &row : all) {
        std::string full = row.name();
        known.push_back(full);
        if (plain(full) == name) return row;
        std::string tail = full.substr(full.rfind('.') + 1);
        if (plain(tail) == name) shorts.push_back(row);
    }
    if (shorts.size() == 1) return shorts[0];
    for (Row &row : shorts)
        if (row.row().flags & MERCER_SHORT) return row;
    if (shorts.size() > 1)
        fail(MERCER_E_NAME, "parameter '%s' is ambiguous: it may be '%s' or '%s'", asked.c_str(),
             shorts[0].name().c_str(), shorts[1].name().c_str());
    for (size_t i = 0, n = known.size(); i < n; ++i)
        if (known[i].find('.') != std::string::npos) known.push_back(known[i].substr(known[i].rfind('.') + 1));
    fail_unknown("parameter", asked, known);
}

void Recipe::set(const std::string &name, const std::string &value) {
    Row row = find(name);
    if (row.params == &core_ && is_part(row.name())) {
        Recipe trial(*this); // a method changes several parts: all or none
        trial.set_part(row.name(), trim(value));
        *this = std::move(trial);
    } else {
        if (row.params == &core_) check_value(row.name(), value);
        row.params->set(row.index, value, row.name().c_str());
    }
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

void Recipe::set_many(const std::vector<std::pair<std::string, std::string>> &pairs) {
    Recipe trial(*this);
    trial.kernel_ = kernel_ ? std::make_shared<Expression>(*kernel_) : nullptr;
    bool parts = false;
    for (const char *part : {"method", "kernel", "reducer", "lift", "solver"})
        for (const auto &[name, value] : pairs)
            if (name == part) trial.set(name, value), parts = true;
    for (const auto &[name, value] : pairs)
        if (!is_part(name)) trial.set(name, value);
    if (!parts) trial.shown_ = std::move(shown_); // texts of rows live until a part changes (a map's move keeps them)
    *this = std::move(trial);
}

const char *Recipe::get(const std::string &name) {
    Row row = find(name);
    got_ = row.params->get(row.index);
    return got_.c_str();
}

mercer_row Recipe::public_row(int64_t index) {
    std::vector<Row> all = rows();
    if (all.empty()) fail(MERCER_E_VALUE, "row %" PRId64 ", there are none", index);
    if (index < 0 || index >= static_cast<int64_t>(all.size()))
        fail(MERCER_E_VALUE, "row %" PRId64 ", must be 0 to %zu", index, all.size() - 1);
    mercer_row out = all[static_cast<size_t>(index)].row();
    std::string full = all[static_cast<size_t>(index)].name();
    std::string &name = shown_[full];
    name = full;
    out.name = name.c_str();
    if (*out.group) { // groups of two leaves have nothing to do with each other
        std::string &group = shown_[full + " group"];
        group = all[static_cast<size_t>(index)].prefix + out.group;
        out.group = group.c_str();
    }
    if (is_part(full)) {
        std::string choices;
        auto add = [&choices](const std::string &choice) { choices += (choices.empty() ? "" : "|") + choice; };
        if (full == "method")
            for (const Method &method : methods()) add(method.name);
        if (full == "lift")
            for (const Lift &lift : lifts()) add(lift.name);
        if (full == "reducer") add("all");
        if (full == "solver") add("auto");
        for (Kind kind : {Kind::kernel, Kind::reducer, Kind::solver})
            if (full == kind_name(kind))
                for (const Registry::Listing &listing : registry_->list(kind)) add(listing.name);
        if (full == "kernel") add("user");
        std::string &kept = shown_[full + " choices"];
        kept = choices;
        out.choices = kept.c_str();
        if (full == "method" || full == "reducer" || full == "lift") { // the default is the method's
            std::string &initial = shown_[full + " initial"];
            initial = full == "method" ? method_->name : full == "reducer" ? method_->reducer : method_->lift;
            out.initial = initial.c_str();
        }
    }
    return out;
}

std::map<std::string, std::string> Recipe::stored() const {
    std::map<std::string, std::string> out = kernel_->stored();
    auto add = [&out](const Params &params, const std::string &prefix) {
        for (auto &[name, value] : params.stored())
            if (!is_part(prefix + name)) out[prefix + name] = value;
    };
    add(core_, "");
    add(reducer_params_, "reducer.");
    add(solver_params_, "solver.");
    return out;
}

} // namespace mercer
