#include "recipe.h"
#include "json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace cli {

namespace {

std::string last_component(const std::string &name) { return name.substr(name.rfind('.') + 1); }

const char *or_empty(const char *text) { return text ? text : ""; }

Entry copy(const mercer_entry &e) {
    return {.name = or_empty(e.name),
            .aliases = or_empty(e.aliases),
            .summary = or_empty(e.summary),
            .reference = or_empty(e.reference),
            .path = or_empty(e.path),
            .value = e.value,
            .version = or_empty(e.version),
            .takes = or_empty(e.takes)};
}

} // namespace

std::string Row::type_name() const {
    switch (type) {
    case MERCER_REAL: return "real";
    case MERCER_INT: return "int";
    case MERCER_BOOL: return "bool";
    case MERCER_CHOICE: return "choice";
    default: return "text";
    }
}

std::string Row::allowed() const {
    if (!choices.empty()) {
        std::string out;
        for (const auto &choice : choices) out += (out.empty() ? "" : " | ") + choice;
        return out;
    }
    if (type == MERCER_BOOL) return "true | false";
    const std::string low = std::isfinite(lo) ? json::number(lo) : "", high = std::isfinite(hi) ? json::number(hi) : "";
    const bool above = (flags & MERCER_LO_OPEN) != 0, below = (flags & MERCER_HI_OPEN) != 0;
    if ((type != MERCER_REAL && type != MERCER_INT) || (low.empty() && high.empty())) return type_name();
    if (high.empty()) return type_name() + (above ? " > " : " >= ") + low;
    if (low.empty()) return type_name() + (below ? " < " : " <= ") + high;
    return type_name() + (above ? " in (" : " in [") + low + ", " + high + (below ? ")" : "]");
}

std::vector<Row> rows_of(mercer_recipe *recipe) {
    int64_t count = 0;
    check(mercer_recipe_rows(recipe, &count));
    std::vector<Row> rows;
    std::map<std::string, int> owners; // for each last component, the number of names that end in it
    for (int64_t i = 0; i < count; ++i) {
        auto r = sized<mercer_row>();
        check(mercer_recipe_row(recipe, i, &r));
        Row row;
        row.name = r.name;
        row.doc = or_empty(r.doc);
        row.initial = or_empty(r.initial);
        row.group = or_empty(r.group);
        row.choices = split(or_empty(r.choices), '|');
        row.type = r.type;
        row.flags = r.flags;
        row.lo = r.lo;
        row.hi = r.hi;
        ++owners[last_component(row.name)];
        rows.push_back(std::move(row));
    }
    for (Row &row : rows) {
        const std::string last = last_component(row.name);
        if (last != row.name && ((row.flags & MERCER_SHORT) || owners[last] == 1)) row.short_name = last;
    }
    return rows;
}

std::string value_of(mercer_recipe *recipe, const std::string &name) {
    const char *value = "";
    check(mercer_recipe_get(recipe, name.c_str(), &value));
    return or_empty(value);
}

bool is_part(const Row &row) { return (row.flags & MERCER_PART) != 0; }

bool is_named(const Row &row, const std::string &name) {
    return plain(row.name) == plain(name) || plain(row.short_name) == plain(name);
}

const std::vector<std::string> &registries() {
    static const std::vector<std::string> names = {"methods",  "operations", "derivations", "kernels",
                                                   "reducers", "lifts",      "solvers"};
    return names;
}

std::string singular(const std::string &registry) { return registry.substr(0, registry.size() - 1); }

std::vector<Entry> entries_of(mercer_context *context, const std::string &registry) {
    int64_t count = 0;
    check(mercer_context_count(context, registry.c_str(), &count));
    std::vector<Entry> entries;
    for (int64_t i = 0; i < count; ++i) {
        auto entry = sized<mercer_entry>();
        check(mercer_context_entry(context, registry.c_str(), i, &entry));
        entries.push_back(copy(entry));
    }
    return entries;
}

Entry find_entry(mercer_context *context, const std::string &registry, const std::string &name) {
    auto entry = sized<mercer_entry>();
    check(mercer_context_find(context, registry.c_str(), name.c_str(), &entry));
    return copy(entry);
}

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

std::string joined(const std::vector<std::string> &words, const std::string &between) {
    std::string out;
    for (const std::string &word : words) out += (out.empty() ? "" : between) + word;
    return out;
}

std::string plain(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::string flag_of(const std::string &name) { return "--" + plain(name); }

} // namespace cli
