#ifndef MERCER_CLI_CSV_H
#define MERCER_CLI_CSV_H

#include "npy.h"

namespace cli {

/* Is CSV what a path asks for? */
bool is_csv_path(const std::string &path);

/* Numbers that round-trip under a header: name where there is one column, else name.1, name.2 ... */
void write_csv(const std::string &path, const Array &array, const std::string &name);

} // namespace cli

#endif
