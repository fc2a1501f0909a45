#ifndef MERCER_CLI_INPUT_H
#define MERCER_CLI_INPUT_H

#include "arguments.h"
#include "handles.h"
#include "npy.h"

#include <CLI/CLI.hpp>
#include <string>

namespace cli {

/* How a file of data is to be read: flags of every command that reads one. */
struct InputOptions {
    std::string path, columns, separator, header, precomputed;
    std::string labels, weights, ids; /* of CSV: columns */
    std::string expected;             /* what --columns is for CSV where it is not given */

    void add_to(CLI::App &app);
    void add_labels_to(CLI::App &app); /* of what fits */
    void add_ids_to(CLI::App &app);    /* of what writes a row for each row */
};

/* A file as data: CSV or .npy. Standard input and pipes are spooled to a nameless temporary file, which lives as long as this. */
class InputData {
  public:
    /* run: whose budget, progress and interrupts hold while a CSV file is read. */
    InputData(mercer_context *context, const InputOptions &options, const mercer_run *run);
    ~InputData();
    InputData(const InputData &) = delete;
    InputData &operator=(const InputData &) = delete;

    mercer_data *get() const { return data_.get(); }

  private:
    void open(mercer_context *context, const std::string &path, const InputOptions &options);

    int descriptor_ = -1; // of the spool
    Data data_;
};

mercer_data_facts facts_of(mercer_data *data);

/* All rows of data, as they were given, of that type; missing values are NaN. The array counts in the budget of run. */
Array array_of(mercer_data *data, int32_t dtype, const mercer_run *run);

/* The recipe of --method, or of `method` where words name none. Values of a kernel need no --kernel. */
Recipe recipe_of_method(Arguments &line, mercer_context *context, const std::string &method);

/* Columns that a model was fitted on, as --columns takes them; "" where they are not known. */
std::string columns_of(mercer_model *model);

} // namespace cli

#endif
