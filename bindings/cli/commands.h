#ifndef MERCER_CLI_COMMANDS_H
#define MERCER_CLI_COMMANDS_H

#include "arguments.h"
#include "table.h"

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

/* The outputs of operations on data. what may be null: scores. */
std::vector<Output> apply(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_run *run);

/* The same beside the ids of the rows, if the data have them, as one file. */
Table write_outputs(mercer_model *model, mercer_recipe *what, mercer_data *data, const std::string &path, Form form,
                    const mercer_run *run);

} // namespace cli

#endif
