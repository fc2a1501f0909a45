#ifndef MERCER_CLI_TABLE_H
#define MERCER_CLI_TABLE_H

#include "arguments.h"
#include "npy.h"

#include <string>
#include <string_view>
#include <vector>

/* What `transform`, `kernel` and `fit --scores` write: arrays of equally many rows, side by side in one file. */
namespace cli {

struct Output {
    std::string name;
    Array values;
};

struct Table {
    std::vector<Output> parts;
    std::string ids_name;
    std::vector<std::string_view> ids = {}; // one a row, or none at all
};

enum class Form { npy, csv };

/* --format, of commands that write arrays. */
void add_format_to(CLI::App &app, std::string &format);
/* As the format says or, where it is "", the ending of the path: .npy or .csv; a path without one, a device and standard output
 * get .npy. flag: of the path, for messages. */
Form form_of(const std::string &flag, const std::string &path, const std::string &format);

/* CSV: numbers that round-trip below a header with a name for each column; a part of several columns has name.1, name.2 ...
 * .npy: one array, where the table is that; else a structured one with a field for each part (and one for the ids, of text). */
void write_table(const std::string &path, Form form, const Table &table);

/* {"name", "path", "dtype", "shape"} of each part, as JSON. */
std::vector<std::string> parts_json(const std::string &path, const Table &table);

} // namespace cli

#endif
