#ifndef MERCER_CLI_CSV_H
#define MERCER_CLI_CSV_H

#include "table.h"

namespace cli {

// Writes a table as write_table() describes for CSV.
void write_csv(const std::string &path, const Table &table);

} // namespace cli

#endif
