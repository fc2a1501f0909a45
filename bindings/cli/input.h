#ifndef MERCER_CLI_INPUT_H
#define MERCER_CLI_INPUT_H

#include "arguments.h"
#include "handles.h"
#include "npy.h"

#include <CLI/CLI.hpp>
#include <string>

namespace cli {

// The flags of every command that reads a data file. They say how it is read.
struct InputOptions {
    std::string path, columns, separator, header, precomputed;
    std::string labels, weights, ids; // columns of a CSV file
    std::string expected;             // the columns of a CSV file to read if --columns is not given

    void add_to(CLI::App &app);
    void add_labels_to(CLI::App &app); // for commands that fit
    void add_ids_to(CLI::App &app);    // for commands that write a row for each row of the data
};

// A CSV or .npy file as data of the library. Standard input and pipes are copied to a nameless
// temporary file, which lives as long as this object.
class InputData {
  public:
    // The budget, progress and interrupts of `run` hold while a CSV file is read.
    InputData(mercer_context *context, const InputOptions &options, const mercer_run *run);
    ~InputData();
    InputData(const InputData &) = delete;
    InputData &operator=(const InputData &) = delete;

    mercer_data *get() const { return data_.get(); }

  private:
    void open(mercer_context *context, const std::string &path, const InputOptions &options);

    int descriptor_ = -1; // of the nameless temporary file; -1: none
    Data data_;
};

mercer_data_facts facts_of(mercer_data *data);

// All rows of the data as they were given, in that type; missing values are NaN. The array counts
// against the budget of `run`.
Array array_of(mercer_data *data, int32_t dtype, const mercer_run *run);

// The recipe of --method or, if the words do not contain that flag, of `method`. With --precomputed
// kernel, the flag --kernel may be left out.
Recipe recipe_of_method(Arguments &line, mercer_context *context, const std::string &method);

// The columns that a model was fitted on, in the form that --columns takes; "" if they are not
// known.
std::string columns_of(mercer_model *model);

} // namespace cli

#endif
