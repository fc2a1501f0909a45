#ifndef MERCER_CLI_RECIPE_H
#define MERCER_CLI_RECIPE_H

#include "handles.h"

#include <string>
#include <vector>

namespace cli {

// A copy of a mercer_row, which stays valid when its recipe changes.
struct Row {
    std::string name, short_name; // short_name is "" if there is none
    std::string doc, initial, group;
    std::vector<std::string> choices;
    int32_t type = 0, flags = 0;
    double lo = 0, hi = 0;

    std::string type_name() const;
    std::string allowed() const; // as help shows it: "real > 0", "a | b"
};

std::vector<Row> rows_of(mercer_recipe *recipe);
std::string value_of(mercer_recipe *recipe, const std::string &name);
bool is_part(const Row &row);
// Whether the row has this full or short name. Hyphens and underscores are equal.
bool is_named(const Row &row, const std::string &name);

// The registries of mercer_context_count that users see, in the order in which they are shown.
const std::vector<std::string> &registries();

// "kernels" -> "kernel". For a registry of parts, this is also the name of the row that chooses one
// of its entries.
std::string singular(const std::string &registry);

struct Entry {
    std::string name, aliases, summary, reference, path;
    int64_t value = 0;
    std::string version, takes;
};
std::vector<Entry> entries_of(mercer_context *context, const std::string &registry);
Entry find_entry(mercer_context *context, const std::string &registry, const std::string &name);

std::vector<std::string> split(const std::string &text, char separator);
std::string joined(const std::vector<std::string> &words, const std::string &between);
// The name with hyphens in place of underscores. The two are equivalent in names.
std::string plain(std::string name);
// The flag of a parameter, as the command prints it: "--solver.max-passes".
std::string flag_of(const std::string &name);

} // namespace cli

#endif
