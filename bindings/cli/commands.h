#ifndef MERCER_CLI_COMMANDS_H
#define MERCER_CLI_COMMANDS_H

#include "arguments.h"
#include "table.h"

// Each of these functions is a command. It parses its words and prints its results, or throws
// Failure.
namespace cli {

void fit(mercer_context *context, const Words &words);
void transform(mercer_context *context, const Words &words);
void kernel(mercer_context *context, const Words &words);
void forecast(mercer_context *context, const Words &words);
void convert(mercer_context *context, const Words &words);
void info(mercer_context *context, const Words &words);
void methods(mercer_context *context, const Words &words);
void describe(mercer_context *context, const Words &words);
void plot(mercer_context *context, const Words &words);
void plugins(mercer_context *context, const Words &words);
void plugin_check(mercer_context *context, const Words &words);
void plugin_new(mercer_context *context, const Words &words);
void completion(mercer_context *context, const Words &words);
void demo(mercer_context *context, const Words &words);
void version(mercer_context *context, const Words &words);

// Each entry of this registry is a command of the same name, which derives a model from models.
constexpr const char *derivations = "derivations";
void derive(mercer_context *context, const Entry &operation, const Words &words);

// Applies the operations of `what` (null: scores) to data and returns their outputs.
std::vector<Output> apply(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_run *run);

// Applies the operations as apply() does, and writes the outputs to one file, beside the ids of the
// rows if the data have them.
Table write_outputs(mercer_model *model, mercer_recipe *what, mercer_data *data, const std::string &path, Form form,
                    const mercer_run *run);

} // namespace cli

#endif
