#ifndef MERCER_CLI_RECIPE_H
#define MERCER_CLI_RECIPE_H

#include "handles.h"

#include <string>
#include <vector>

namespace cli {

/* A mercer_row that outlives changes to its recipe. */
struct Row {
    std::string name, short_name; // short_name is "" where the parameter has none of its own
    std::string doc, initial, group;
    std::vector<std::string> choices;
    int32_t type = 0, flags = 0;
    double lo = 0, hi = 0;

    std::string type_name() const;
    std::string allowed() const; // "real > 0", "a | b"
};

std::vector<Row> rows_of(mercer_recipe *recipe);
std::string value_of(mercer_recipe *recipe, const std::string &name);
bool is_part(const Row &row);
/* Full or short, hyphens and underscores being equal. */
bool is_named(const Row &row, const std::string &name);

/* The registries of mercer_context_count in the order in which they are shown. */
const std::vector<std::string> &registries();

/* "kernels" -> "kernel": the row that chooses from a registry of parts. */
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
/* With hyphens for underscores, which are equal in names. */
std::string plain(std::string name);
/* The flag of a parameter, as the command prints it: "--solver.max-passes". */
std::string flag_of(const std::string &name);

} // namespace cli

#endif
