#include "commands.h"
#include "json.h"
#include "report.h"

#include <algorithm>

namespace cli {

namespace {

std::string entry_json(const Entry &entry, const std::string &registry) {
    if (registry == "statuses")
        return json::object({{"code", std::to_string(entry.value)},
                             {"name", json::text(entry.name)},
                             {"summary", json::text(entry.summary)},
                             {"exit", std::to_string(exit_code(static_cast<int32_t>(entry.value)))}});
    std::vector<std::string> aliases;
    for (const auto &alias : split(entry.aliases, ' ')) aliases.push_back(json::text(alias));
    return json::object({{"name", json::text(entry.name)},
                         {"aliases", json::array(aliases)},
                         {"summary", json::text(entry.summary)},
                         {"reference", json::text(entry.reference)},
                         {"path", json::text(entry.path)},
                         {"takes", json::text(entry.takes)}});
}

void print_entries(const std::string &registry, const std::vector<Entry> &entries) {
    std::printf("%s\n", registry.c_str());
    Cells cells;
    for (const Entry &entry : entries) {
        if (registry == "statuses")
            cells.push_back({"  " + std::to_string(entry.value), entry.name,
                             "exit " + std::to_string(exit_code(static_cast<int32_t>(entry.value))), entry.summary});
        else
            cells.push_back({"  " + entry.name, entry.aliases,
                             entry.summary.empty() ? "refused; `mercer plugins` gives the reason" : entry.summary});
    }
    print_table(stdout, cells, registry == "statuses" ? "rlll" : "lll");
}

// Returns the entry with the summary and the reference of its plugin, which has to be loaded for
// them. If the library refuses the plugin, returns the entry as it is.
Entry told(mercer_context *context, const std::string &registry, const Entry &entry) {
    try {
        return entry.summary.empty() ? find_entry(context, registry, entry.name) : entry;
    } catch (const Failure &) {
        return entry;
    }
}

// What is described, and a recipe that contains it.
struct Subject {
    std::string registry;
    Entry entry;
    // recipe: the name of the recipe. home: the registry in which it is an entry, one of `homes`.
    std::string home, recipe;
    std::string part; // the row that chooses the subject, such as "kernel"; "" if it is not a part
};

// The registries whose entries are recipes.
const std::vector<std::string> homes = {"methods", "operations", derivations};

// A method whose part (such as "kernel") can be set to `name`.
std::string method_with(mercer_context *context, const std::string &part, const std::string &name) {
    for (const Entry &method : entries_of(context, "methods")) {
        const Recipe recipe = make<Recipe>(mercer_recipe_create, context, method.name.c_str());
        const auto rows = rows_of(recipe.get());
        const bool has = std::any_of(rows.begin(), rows.end(), [&](const Row &row) { return row.name == part; });
        if (has && mercer_recipe_set(recipe.get(), part.c_str(), name.c_str()) == MERCER_OK) return method.name;
    }
    throw Failure(MERCER_E_UNSUPPORTED, "no method accepts the " + part + " " + name);
}

// Finds the parameter in the default recipes, and lists the entries that have it. If no recipe has
// it, throws the error that the library gives for the recipe of the first method.
Subject find_parameter(mercer_context *context, const std::string &name) {
    Subject subject{"parameters", {}, "", "", ""};
    for (const auto &home : homes)
        for (const Entry &entry : entries_of(context, home)) {
            const Recipe recipe = make<Recipe>(mercer_recipe_create, context, entry.name.c_str());
            const auto rows = rows_of(recipe.get());
            const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &r) { return is_named(r, name); });
            if (row == rows.end()) continue;
            if (subject.home.empty()) subject.home = home, subject.recipe = entry.name, subject.entry.name = row->name;
            subject.entry.summary += (subject.entry.summary.empty() ? "belongs to " : ", ") + entry.name;
        }
    if (subject.home.empty()) {
        const std::string first = entries_of(context, "methods").front().name;
        const Recipe recipe = make<Recipe>(mercer_recipe_create, context, first.c_str());
        value_of(recipe.get(), name);
    }
    return subject;
}

// The kernel "user". It is not a plugin, so no registry lists it.
Entry user_kernel() {
    Entry entry;
    entry.name = "user";
    entry.summary = "your own function (mercer_recipe_set_kernel), or a kernel matrix: --precomputed kernel";
    return entry;
}

Subject find_in(mercer_context *context, const std::string &registry, const std::string &name) {
    if (registry == "parameters") return find_parameter(context, name);
    const bool user = registry == "kernels" && name == user_kernel().name;
    Subject subject{registry, user ? user_kernel() : find_entry(context, registry, name), registry, name, ""};
    if (std::find(homes.begin(), homes.end(), registry) == homes.end()) {
        subject.home = "methods";
        subject.part = singular(registry);
        subject.recipe = method_with(context, subject.part, subject.entry.name);
    }
    return subject;
}

// Finds what a name stands for. If nothing has that name, throws the library's first error that
// suggests a similar name. If no error suggests one, throws an error that says where names are
// listed or, for a name with a dot, the library's error about the parameter.
Subject find_subject(mercer_context *context, const std::string &name) {
    // Only parameters have dots in their names.
    std::vector<std::string> places = {"parameters"};
    if (name.find('.') == std::string::npos) places.insert(places.begin(), registries().begin(), registries().end());
    std::vector<Failure> answers;
    for (const auto &place : places) {
        try {
            return find_in(context, place, name);
        } catch (const Failure &failure) {
            if (failure.code != MERCER_E_NAME) throw;
            answers.push_back(failure);
        }
    }
    for (const Failure &answer : answers)
        if (std::string(answer.what()).find("did you mean") != std::string::npos) throw answer;
    if (places.size() == 1) throw answers.front();
    throw Failure(MERCER_E_NAME,
                  "'" + name +
                      "' is not the name of a method, operation, kernel, reducer, lift, solver or parameter: `mercer "
                      "methods` lists them, `mercer describe METHOD` lists its parameters");
}

std::string row_json(mercer_recipe *recipe, const Row &row) {
    std::vector<std::string> choices;
    for (const auto &choice : row.choices) choices.push_back(json::text(choice));
    return json::object({{"name", json::text(row.name)},
                         {"short", json::text(row.short_name)},
                         {"type", json::text(row.type_name())},
                         {"default", json::text(row.initial)},
                         {"value", json::text(value_of(recipe, row.name))},
                         {"lo", json::number(row.lo)},
                         {"hi", json::number(row.hi)},
                         {"lo_open", json::boolean(row.flags & MERCER_LO_OPEN)},
                         {"hi_open", json::boolean(row.flags & MERCER_HI_OPEN)},
                         {"choices", json::array(choices)},
                         {"group", json::text(row.group)},
                         {"part", json::boolean(row.flags & MERCER_PART)},
                         {"auto", json::boolean(row.flags & MERCER_AUTO)},
                         {"centres", json::boolean(row.flags & MERCER_CENTRES)},
                         {"doc", json::text(row.doc)}});
}

void print_rows(mercer_recipe *recipe, const std::vector<Row> &rows) {
    const auto all = rows_of(recipe);
    for (const Row &row : rows) {
        const std::string value = value_of(recipe, row.name);
        std::string head = flag_of(row.name) + (row.short_name.empty() ? "" : ", " + flag_of(row.short_name));
        const bool automatic = (row.flags & MERCER_AUTO) != 0;
        const std::string unset = automatic ? "automatic" : "unset";
        head += "  " + row.allowed() + ", default " + (row.initial.empty() ? unset : row.initial);
        if (automatic && !row.initial.empty()) head += ", 0: automatic";
        if (value != row.initial) head += ", here " + value;
        std::printf("%s\n      %s\n", head.c_str(), row.doc.c_str());
        std::string others;
        for (const Row &other : all)
            if (!row.group.empty() && other.group == row.group && other.name != row.name)
                others += (others.empty() ? "" : ", ") + other.name;
        if (!others.empty()) std::printf("      Excludes %s.\n", others.c_str());
    }
}

std::string subject_json(mercer_recipe *recipe, const Subject &subject, const std::vector<Row> &rows) {
    std::vector<std::string> items;
    for (const Row &row : rows) items.push_back(row_json(recipe, row));
    return json::object({{"name", json::text(subject.entry.name)},
                         {"kind", json::text(singular(subject.registry))},
                         {"summary", json::text(subject.entry.summary)},
                         {"reference", json::text(subject.entry.reference)},
                         {"rows", json::array(items)}});
}

void print_subject(mercer_recipe *recipe, const Subject &subject, const std::vector<Row> &rows) {
    const Entry &entry = subject.entry;
    std::printf("%s, %s%s%s\n", entry.name.c_str(), singular(subject.registry).c_str(),
                entry.summary.empty() ? "" : ": ", entry.summary.c_str());
    if (!entry.reference.empty()) std::printf("Reference: %s\n", entry.reference.c_str());
    if (!rows.empty()) std::printf("\n");
    print_rows(recipe, rows);
}

} // namespace

void methods(mercer_context *context, const Words &words) {
    std::string which;
    bool as_json = false;
    Arguments line("methods", "Lists methods, operations, kernels, reducers, lifts and solvers.", words);
    Words known = registries();
    known.push_back("statuses");
    one_of(line.app().add_option("WHICH", which, "list only this kind"), known);
    line.app().add_flag("--json", as_json, "print the list as JSON");
    line.parse();

    std::vector<std::pair<std::string, std::string>> members;
    for (const auto &registry : which.empty() ? registries() : std::vector<std::string>{which}) {
        auto entries = entries_of(context, registry);
        for (Entry &entry : entries) entry = told(context, registry, entry);
        if (!as_json) {
            print_entries(registry, entries);
            continue;
        }
        std::vector<std::string> items;
        for (const Entry &entry : entries) items.push_back(entry_json(entry, registry));
        members.emplace_back(registry, json::array(items));
    }
    if (as_json) std::printf("%s\n", json::object(members).c_str());
}

void describe(mercer_context *context, const Words &words) {
    std::string name;
    bool as_json = false;
    Arguments line("describe", "Describes a method, operation, derivation, kernel, reducer, lift, solver or parameter.",
                   words);
    line.app()
        .add_option("NAME", name, "a name from `mercer methods`, or a parameter such as kernel.sigma")
        ->type_name("METHOD|OPERATION|DERIVATION|KERNEL|REDUCER|LIFT|SOLVER|PARAMETER")
        ->required();
    line.app().add_flag("--json", as_json, "print the result as JSON");
    const std::string peeked = line.peek_positional();
    if (peeked.empty()) {
        line.parse();
        return;
    }
    const Subject subject = find_subject(context, peeked);
    if (!subject.part.empty()) line.append({"--" + subject.part, subject.entry.name});
    const Recipe recipe = line.recipe(context, subject.home, subject.recipe);
    line.parse();
    line.apply(recipe.get());

    std::vector<Row> rows = rows_of(recipe.get());
    if (!subject.part.empty())
        std::erase_if(rows, [&](const Row &row) { return !row.name.starts_with(subject.part + "."); });
    if (subject.registry == "parameters")
        std::erase_if(rows, [&](const Row &row) { return row.name != subject.entry.name; });
    if (as_json)
        std::printf("%s\n", subject_json(recipe.get(), subject, rows).c_str());
    else
        print_subject(recipe.get(), subject, rows);
}

} // namespace cli
