#ifndef MERCER_CLI_ARGUMENTS_H
#define MERCER_CLI_ARGUMENTS_H

#include "recipe.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace cli {

using Words = std::vector<std::string>;

// Returns `name` if it is a member of `known`, otherwise the member that was probably meant (a
// similar name, or the only one that begins with `name`); "" if there is none.
std::string suggestion(const std::string &name, const std::vector<std::string> &known);

// These restrict the values of a fixed flag: to some words (one_of), or to a range of numbers
// (within). Help shows what is allowed, and other values are refused in the words of the library. A
// type name in upper case stands for values that cannot be listed: METHOD, OPERATION, KERNEL ...
// for the names in that registry, PLUGIN and PARAMETER for the names of plugins and parameters (see
// completion.cpp).
CLI::Option *one_of(CLI::Option *option, const Words &choices);
// `type` is the type of a mercer_row, such as MERCER_INT.
CLI::Option *within(CLI::Option *option, int32_t type, double lo, double hi);

// If this is the first word after a command, the command prints what its last word can be completed
// to.
constexpr const char *complete_flag = "--complete";

// The command line of one command. It has fixed flags, and a flag for each row (parameter) of a
// recipe.
//
//     Arguments line("fit", "...", words);
//     line.app().add_option(...);  // fixed flags first: a parameter of the same name gets no flag
//     // Makes the recipe, sets the parts that the words name, and turns its rows into flags.
//     Recipe recipe = line.recipe(context, "methods", name);
//     line.parse();
//     line.apply(recipe.get());
class Arguments {
  public:
    Arguments(const std::string &command, const std::string &summary, Words words);

    CLI::App &app() { return app_; }

    void append(const Words &words) { words_.insert(words_.end(), words.begin(), words.end()); }

    // These look at the words before anything is parsed: for the value of a flag, and for the first
    // word that is no flag. They return "" if there is none.
    std::string peek(const std::string &flag) const;
    std::string peek_positional() const;

    // Makes the recipe of that name with the parts (kernel, reducer ...) that the words name, and
    // adds a flag for each of its rows that is `wanted`. If the registry does not have the name,
    // throws a Failure that suggests a similar one.
    using Wanted = bool (*)(const Row &row);
    Recipe recipe(
        mercer_context *context, const std::string &registry, const std::string &name,
        Wanted wanted = [](const Row &) { return true; });

    // Fills the variables of all flags. Throws HelpShown if help or completions were asked for, and
    // Failure if the words do not fit the flags.
    void parse();

    // Sets all parameters that were given. The library sets parts first, whatever the order of the
    // flags.
    void apply(mercer_recipe *recipe) const;

  private:
    void add_rows(mercer_recipe *recipe, Wanted wanted);
    void spell_canonically(mercer_context *context, mercer_recipe *recipe);
    // Throws the Failure for an unknown flag. context and recipe are null if the command has no
    // recipe.
    [[noreturn]] void refuse(mercer_context *context, mercer_recipe *recipe, const std::string &name) const;
    Failure usage(const CLI::ParseError &error) const;
    const CLI::Option *option_of(const std::string &flag) const;
    bool takes_value(const std::string &word) const;

    // What the last word can be completed to: names of flags, or values of one flag. `group`
    // restricts the names to one group of the help; "" means all. The full name of a parameter,
    // which has a dot, is offered beside a short one only when a dot or, after --set, any letter
    // has been typed.
    Words completions() const;
    Words names_for_completion(const std::string &begun, const std::string &group) const;
    Words values_for_completion(const CLI::Option &option, const std::string &begun) const;
    static constexpr const char *row_group = "Parameters", *assignment_type = "NAME=VALUE";

    CLI::App app_;
    Words words_;
    bool completing_ = false;
    std::string last_; // the word to complete, which is not in words_
    Words sets_;       // values of --set, each "name=value"
    // The values of the parameters' flags, by the full names of their rows.
    std::map<std::string, std::string> flags_;
};

// --threads, --memory and --quiet, which every command that may take long has.
struct RunOptions {
    int64_t threads = 0;
    uint64_t memory = 0;
    bool quiet = false;
    void add_to(CLI::App &app);
};

} // namespace cli

#endif
