#ifndef MERCER_CLI_COMMANDS_H
#define MERCER_CLI_COMMANDS_H

#include "arguments.h"
#include "npy.h"

/* One function a command: reads its words, prints what it has to say, throws Failure where it cannot. */
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

/* A command of each entry of this registry, named as it is: a model of models. */
constexpr const char *derivations = "derivations";
void derive(mercer_context *context, const Entry &operation, const Words &words);

/* An output operation on data. what may be null: scores. */
struct Output {
    std::string name;
    Array values;
};
std::vector<Output> apply(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_run *run);

/* The same, written to path: Z.npy, and Z.NAME.npy for each output after the first (Z.csv:
 * CSV). Returns what was written as JSON objects {name, path, dtype, shape}. */
std::vector<std::string> write_outputs(mercer_model *model, mercer_recipe *what, mercer_data *data,
                                       const std::string &path, const mercer_run *run);

} // namespace cli

#endif
