#ifndef MERCER_CLI_ARGUMENTS_H
#define MERCER_CLI_ARGUMENTS_H

#include "recipe.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace cli {

using Words = std::vector<std::string>;

/* The known name that a misprint may have meant, or "". */
std::string suggestion(const std::string &name, const std::vector<std::string> &known);

/* What the value of a fixed flag may be: help shows it, others are refused in the words of the library. The type_name of
 * what cannot be listed is in upper case; METHOD, OPERATION, KERNEL ... are names of these registries, PLUGIN and
 * PARAMETER what they say (see completion.cpp). */
CLI::Option *one_of(CLI::Option *option, const Words &choices);
CLI::Option *within(CLI::Option *option, int32_t type, double lo, double hi); /* type: of mercer.h's rows */

/* As the first word after a command: what may the last one become? */
constexpr const char *complete_flag = "--complete";

/* The command line of one command: its fixed flags, and those that the rows of a recipe make.
 *
 *     Arguments line("fit", "...", words);
 *     line.app().add_option(...);                  // fixed flags first: they win over short names
 *     Recipe recipe = line.recipe(context, "methods", name);  // parts that words name are set; its rows become flags
 *     line.parse();
 *     line.apply(recipe.get());
 */
class Arguments {
  public:
    Arguments(const std::string &command, const std::string &summary, Words words);

    CLI::App &app() { return app_; }

    void append(const Words &words) { words_.insert(words_.end(), words.begin(), words.end()); }

    /* The value of a flag, or the first word that is no flag, before anything is parsed; "" where there is none. */
    std::string peek(const std::string &flag) const;
    std::string peek_positional() const;

    /* name is of that registry, or the failure says which of its names is near. wanted: which rows become flags. */
    using Wanted = bool (*)(const Row &row);
    Recipe recipe(
        mercer_context *context, const std::string &registry, const std::string &name,
        Wanted wanted = [](const Row &) { return true; });

    /* Fills the variables of all flags. Throws HelpShown, or Failure where the words do not fit. */
    void parse();

    /* Sets all parameters that were given, parts first. */
    void apply(mercer_recipe *recipe) const;

  private:
    void add_rows(mercer_recipe *recipe, Wanted wanted);
    void spell_canonically(mercer_context *context, mercer_recipe *recipe);
    /* context and recipe may be null: the command has none. */
    [[noreturn]] void refuse(mercer_context *context, mercer_recipe *recipe, const std::string &name) const;
    Failure usage(const CLI::ParseError &error) const;
    const CLI::Option *option_of(const std::string &flag) const;
    bool takes_value(const std::string &word) const;

    /* Of the last word; names with a dot only once one is written, all groups where group is "". */
    Words completions() const;
    Words names_for_completion(const std::string &begun, const std::string &group) const;
    Words values_for_completion(const CLI::Option &option, const std::string &begun) const;
    static constexpr const char *row_group = "Parameters", *assignment_type = "NAME=VALUE";

    CLI::App app_;
    Words words_;
    bool completing_ = false;
    std::string last_;                         // the word to complete, which is none of words_
    Words sets_;                               // --set name=value
    std::map<std::string, std::string> flags_; // row name -> value
};

/* --threads and --memory, which every long command has. */
struct RunOptions {
    int64_t threads = 0;
    uint64_t memory = 0;
    bool quiet = false;
    void add_to(CLI::App &app);
};

} // namespace cli

#endif
