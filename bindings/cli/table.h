#ifndef MERCER_CLI_TABLE_H
#define MERCER_CLI_TABLE_H

#include "arguments.h"
#include "npy.h"

#include <string>
#include <string_view>
#include <vector>

// What `transform`, `kernel` and `fit --scores` write: arrays with equal numbers of rows, side by
// side in one file.
namespace cli {

struct Output {
    std::string name;
    Array values;
};

struct Table {
    std::vector<Output> parts;
    std::string ids_name;
    std::vector<std::string_view> ids = {}; // one for each row, or empty
};

enum class Form { npy, csv };

// Adds --format, for commands that write arrays.
void add_format_to(CLI::App &app, std::string &format);
// The form of an output: `format` or, if that is "", what the ending of the path says, .npy or
// .csv. A path without an ending, a device and standard output get .npy. `flag` is the flag of the
// path, for messages.
Form form_of(const std::string &flag, const std::string &path, const std::string &format);

// Writes a table.
// CSV: a header with a name for each column (name.1, name.2 ... for a part of several columns), and
// numbers that round-trip.
// .npy: a plain array if the table is one part without ids, otherwise a structured array with a
// field for each part, and one of text for the ids.
void write_table(const std::string &path, Form form, const Table &table);

// Describes each part as JSON: {"name", "path", "dtype", "shape"}.
std::vector<std::string> parts_json(const std::string &path, const Table &table);

} // namespace cli

#endif
