#include "recipe.h"

#include <algorithm>
#include <cinttypes>

namespace mercer {

namespace {

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

constexpr const char *weights_row = "reducer.weights", *components_row = "output.components";

bool is_part(const std::string &name) {
    return name == "method" || name == "kernel" || name == "reducer" || name == "lift" || name == "solver";
}

// Replaces '-' by '_', because keyword arguments of some languages cannot contain '-'.
std::string plain(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// Returns the operations of a list such as "scores,t2", in which no operation may appear twice.
// Returns none if `name` is a single word that names no operation.
Operations operations_named(const std::string &name) {
    Operations out;
    const std::vector<std::string> names = split(name, ',');
    for (const std::string &one : names) {
        const OutputTraits *operation = entry_of(outputs(), std::string(trim(one)));
        if (!operation && names.size() == 1) return {};
        if (!operation) fail_unknown("operation", std::string(trim(one)), names_of(outputs()));
        if (std::count(out.begin(), out.end(), operation) > 0)
            fail(MERCER_E_VALUE, "operation '%s' is listed twice in '%s'", operation->name, name.c_str());
        out.push_back(operation);
    }
    return out;
}

std::string tail_of(const std::string &name) { return name.substr(name.rfind('.') + 1); }

} // namespace

Recipe::Recipe(std::shared_ptr<Registry> registry, const std::string &name) : registry_(std::move(registry)) {
    operations_ = operations_named(name);
    derivation_ = entry_of(derivations(), name);
    core_ = Params(is_operation() ? rows_of(operations_) : core_table());
    if (is_operation()) return;
    if (derivation_) {
        own_ = Params(derivation_->rows);
        if (derivation_->reducer) set_part("reducer", "");
        return;
    }
    if (!entry_of(methods(), name)) {
        std::vector<std::string> known = names_of(methods());
        for (const auto &others : {names_of(outputs()), names_of(derivations())})
            known.insert(known.end(), others.begin(), others.end());
        fail_unknown("method or operation", name, known);
    }
    set_part("method", name);
}

std::string Recipe::who_takes() const {
    if (method_) return format("'%s' is a method, for mercer_model_fit", method_->name);
    if (derivation_) return format("'%s' is a derivation, for mercer_model_derive", derivation_->name);
    return format("'%s' is an operation, for mercer_model_transform", operations_[0]->name);
}

std::string Recipe::own_default(const std::string &row) const {
    if (row == weights_row && method_) return method_->weights;
    // A nested lift has one component for each centre unless the user limits their number.
    return row == components_row && lift_of(*this).nested ? "0" : "";
}

const char *Recipe::default_reducer() const { return method_ ? method_->reducer : derivation_->reducer; }

void Recipe::set_part(const std::string &part, const std::string &value) {
    auto store = [&](const std::string &text) { core_.set(core_.table().find(part), text, part.c_str()); };
    if (part == "method") {
        const Method *method = entry_of(methods(), value);
        if (!method) fail_unknown("method", value, names_of(methods()));
        method_ = method;
        store(value);
        set_part("kernel", "gaussian");
        set_part("reducer", method->reducer);
        set_part("lift", method->lift);
    } else if (part == "kernel") {
        auto kernel = std::make_shared<Expression>(parse_expression(value.empty() ? "gaussian" : value), *registry_);
        if (kernel_) kernel->user = kernel_->user;
        kernel_ = std::move(kernel);
        store(kernel_->text());
    } else if (part == "lift") {
        const LiftTraits &before = lift_of(*this), &after = find_lift(value.empty() ? method_->lift : value);
        store(after.name);
        if (before.nested != after.nested)
            core_.set(core_.table().find(components_row), own_default(components_row), components_row);
        set_part("solver", "auto");
    } else {
        bool reducer = part == "reducer";
        std::string name = !value.empty() ? value : reducer ? default_reducer() : "auto";
        std::shared_ptr<const Plugin> plugin;
        if (name != (reducer ? "all" : "auto")) plugin = registry_->find(reducer ? Kind::reducer : Kind::solver, name);
        (reducer ? reducer_params_ : solver_params_) = plugin ? Params(plugin->params) : Params();
        store(plugin ? plugin->name : name);
        (reducer ? reducer_ : solver_) = std::move(plugin);
    }
    // Resets the core's rows of this part, and all rows that the recipe no longer has.
    for (size_t i = 0; i < core_.table().rows().size(); ++i) {
        const std::string name = core_.table().rows()[i].row.name;
        if (!is_part(name) && (name.rfind(part + ".", 0) == 0 || !has_core_row(i)))
            core_.set(static_cast<int64_t>(i), "", name.c_str());
    }
    if (const int64_t row = core_.table().find(weights_row); row >= 0 && has_core_row(static_cast<size_t>(row)))
        if (part == "method" || part == "reducer" || part == "lift")
            core_.set(row, own_default(weights_row), weights_row);
    shown_.clear();
}

bool Recipe::has_core_row(size_t index) const { return is_operation() || core_scope(index).holds(*this); }

void Recipe::set_user(std::shared_ptr<const UserKernel> user) {
    if (!kernel_->has_user()) set("kernel", "user");
    kernel_->user = std::move(user);
}

std::vector<Recipe::Row> Recipe::rows() {
    std::vector<Row> out;
    auto add = [&](Params &params, const std::string &prefix) {
        for (size_t i = 0; i < params.table().rows().size(); ++i)
            if (&params != &core_ || has_core_row(i)) out.push_back({&params, static_cast<int64_t>(i), prefix});
    };
    add(core_, "");
    add(own_, "");
    for (size_t l = 0; kernel_ && l < kernel_->leaves.size(); ++l) add(kernel_->leaves[l].params, kernel_->prefix(l));
    add(reducer_params_, "reducer.");
    add(solver_params_, "solver.");
    return out;
}

// Finds a row by its full name. The last word of the name suffices if only one row ends in it, or
// if one of the rows that end in it has the flag MERCER_SHORT.
Recipe::Row Recipe::find(const std::string &asked) {
    std::string name = plain(asked);
    std::vector<Row> all = rows(), shorts;
    std::vector<std::string> known;
    for (Row &row : all) {
        std::string full = row.name();
        known.push_back(full);
        if (plain(full) == name) return row;
        if (plain(tail_of(full)) == name) shorts.push_back(row);
    }
    if (shorts.size() == 1) return shorts[0];
    for (Row &row : shorts)
        if (row.row().flags & MERCER_SHORT) return row;
    if (shorts.size() > 1)
        fail(MERCER_E_NAME, "parameter '%s' is ambiguous: '%s' or '%s'", asked.c_str(), shorts[0].name().c_str(),
             shorts[1].name().c_str());
    for (size_t i = 0, n = known.size(); i < n; ++i)
        if (known[i].find('.') != std::string::npos) known.push_back(tail_of(known[i]));
    refuse_elsewhere(name);
    // If an own row ends in the same word, the nearest own names help more than other plugins.
    const bool near = std::any_of(all.begin(), all.end(),
                                  [&](const Row &row) { return plain(tail_of(row.name())) == plain(tail_of(name)); });
    if (!near && !is_operation()) refuse_other_plugins(name);
    fail_unknown("parameter", asked, known);
}

// If other recipes have a row of this name, fails with E_NAME and says which recipes these are.
void Recipe::refuse_elsewhere(const std::string &name) const {
    const std::vector<mercer_param> &params = core_.table().rows();
    const char *own = method_ ? method_->name : derivation_ ? derivation_->name : "";
    for (size_t i = 0; i < params.size(); ++i) {
        const std::string full = params[i].row.name;
        if (has_core_row(i) || (plain(full) != name && plain(tail_of(full)) != name)) continue;
        const Scope &scope = core_scope(i);
        const int64_t instead = core_.table().find(scope.instead);
        const bool takes = instead >= 0 && has_core_row(static_cast<size_t>(instead));
        fail(MERCER_E_NAME, "%s applies to %s; '%s' %s%s", full.c_str(), scope.where().c_str(), own,
             takes ? "takes " : "does not accept it", takes ? scope.instead : "");
    }
    for (const Derivation &other : derivations())
        for (const mercer_param &param : other.rows->rows())
            if (&other != derivation_ && (plain(param.row.name) == name || plain(tail_of(param.row.name)) == name))
                fail(MERCER_E_NAME, "%s applies to the operation '%s'; '%s' does not accept it", param.row.name,
                     other.name, own);
}

// If plugins that this recipe does not use have a row of this name, fails with E_NAME and lists
// them.
void Recipe::refuse_other_plugins(const std::string &name) const {
    std::vector<Kind> kinds;
    if (kernel_) kinds.push_back(Kind::kernel);
    if (method_ || (derivation_ && derivation_->reducer)) kinds.push_back(Kind::reducer);
    if (lift_of(*this).solves) kinds.push_back(Kind::solver);
    for (Kind kind : kinds) {
        const std::string part = kind_name(kind);
        std::vector<std::string> owners;
        for (const Registry::Listing &one : registry_->list(kind)) {
            std::shared_ptr<const Plugin> plugin = one.loaded;
            try {
                if (!plugin) plugin = registry_->find(kind, one.name);
            } catch (const Error &) {
                continue; // a refused plugin has no parameters
            }
            for (const mercer_param &param : plugin->params->rows())
                if (plain(param.row.name) == name || plain(part + "." + param.row.name) == name) {
                    owners.push_back(one.name);
                    break;
                }
        }
        if (owners.empty()) continue;
        std::string list;
        constexpr size_t most = 6;
        for (size_t k = 0; k < std::min(owners.size(), most); ++k) list += (k > 0 ? ", " : "") + owners[k];
        if (owners.size() > most) list += ", ...";
        fail(MERCER_E_NAME, "'%s' is a parameter of the %s%s %s; here %s = %.100s", name.c_str(), part.c_str(),
             owners.size() > 1 ? "s" : "", list.c_str(), part.c_str(), core_.get(core_.table().find(part)).c_str());
    }
}

// Fails if output.components is a share, such as 0.9, instead of a number of components. The
// message names output.variance, because other packages accept both in one parameter.
void Recipe::refuse_share(const Row &row, const std::string &text) const {
    double share = 0;
    const int64_t variance = core_.table().find("output.variance");
    if (row.name() != "output.components" || !parse_number(text, &share) || !(share > 0 && share < 1)) return;
    if (!has_core_row(static_cast<size_t>(variance))) return;
    fail(MERCER_E_VALUE, "output.components = %s, must be a whole number >= 0: did you mean output.variance = %s?",
         text.c_str(), text.c_str());
}

void Recipe::set(const std::string &name, const std::string &value) {
    Row row = find(name);
    if (row.params == &core_ && is_part(row.name())) {
        Recipe trial(*this); // a copy: if one of the parts that a method sets fails, none must change
        trial.set_part(row.name(), trim(value));
        *this = std::move(trial);
    } else {
        // An empty value restores the default, which may depend on the method or the lift.
        const std::string text = row.params == &core_ && value.empty() ? own_default(row.name()) : value;
        if (row.params == &core_ && !is_operation()) check_core_value(row.name(), text);
        if (row.params == &core_ && !is_operation()) refuse_share(row, trim(text));
        row.params->set(row.index, text, row.name().c_str());
    }
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
    // If no part has changed, texts that public_row() returned must stay valid. Moving the map
    // keeps its strings where they are.
    if (!parts) trial.shown_ = std::move(shown_);
    *this = std::move(trial);
}

const char *Recipe::get(const std::string &name) {
    Row row = find(name);
    got_ = row.params->get(row.index);
    return got_.c_str();
}

mercer_row Recipe::public_row(int64_t index) {
    std::vector<Row> all = rows();
    if (all.empty()) fail(MERCER_E_VALUE, "index = %" PRId64 ", but there are no entries", index);
    if (index < 0 || index >= static_cast<int64_t>(all.size()))
        fail(MERCER_E_VALUE, "index = %" PRId64 ", must be 0 to %zu", index, all.size() - 1);
    mercer_row out = all[static_cast<size_t>(index)].row();
    std::string full = all[static_cast<size_t>(index)].name();
    std::string &name = shown_[full];
    name = full;
    out.name = name.c_str();
    if (*out.group) { // a group of parameters belongs to one leaf of the kernel, so it gets the leaf's prefix
        std::string &group = shown_[full + " group"];
        group = all[static_cast<size_t>(index)].prefix + out.group;
        out.group = group.c_str();
    }
    if (const std::string own = own_default(full); !own.empty()) {
        std::string &initial = shown_[full + " initial"];
        initial = own;
        out.initial = initial.c_str();
    }
    if (is_part(full)) {
        std::string choices;
        auto add = [&choices](const std::string &choice) { choices += (choices.empty() ? "" : "|") + choice; };
        if (full == "method")
            for (const Method &method : methods()) add(method.name);
        if (full == "lift")
            for (const LiftTraits &lift : lifts()) add(lift.name);
        if (full == "reducer") add("all");
        if (full == "solver") add("auto");
        for (Kind kind : {Kind::kernel, Kind::reducer, Kind::solver})
            if (full == kind_name(kind))
                for (const Registry::Listing &listing : registry_->list(kind)) add(listing.name);
        if (full == "kernel") add("user");
        std::string &kept = shown_[full + " choices"];
        kept = choices;
        out.choices = kept.c_str();
        if (full == "method" || full == "reducer" || full == "lift") { // the method determines the default
            std::string &initial = shown_[full + " initial"];
            initial = full == "method" ? method_->name : full == "reducer" ? default_reducer() : method_->lift;
            out.initial = initial.c_str();
        }
    }
    return out;
}

const LiftTraits &lift_of(const Recipe &recipe) {
    static constexpr LiftTraits none{};
    return recipe.derivation() ? none : find_lift(recipe.values().lift);
}

const DriverTraits &driver_of(const Recipe &recipe) {
    static constexpr DriverTraits none{};
    return recipe.method() ? find_driver(recipe.method()->driver) : none;
}

std::map<std::string, std::string> Recipe::stored() const {
    std::map<std::string, std::string> out;
    if (kernel_) out = kernel_->stored();
    auto add = [&out](const Params &params, const std::string &prefix) {
        for (auto &[name, value] : params.stored()) out[prefix + name] = value;
    };
    for (auto &[name, value] : core_.stored())
        if (!is_part(name) && has_core_row(static_cast<size_t>(core_.table().find(name)))) out[name] = value;
    add(own_, "");
    add(reducer_params_, "reducer.");
    add(solver_params_, "solver.");
    return out;
}

} // namespace mercer
