#include "commands.h"

#include <algorithm>
#include <cctype>
#include <completion_script.h>
#include <set>

namespace cli {

namespace {

bool is_made_of(const std::string &text, int (*kind)(int)) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) { return kind(c) != 0; });
}

int is_of_a_value(int c) { return std::islower(c) || std::isdigit(c) || c == '-'; }

// The names of the plugins that have a file, with their kind in front as in the names of files:
// "kernel-gaussian".
Words plugins_of(mercer_context *context) {
    Words names;
    for (const char *kind : {"kernel", "reducer", "solver"})
        for (const Entry &entry : entries_of(context, std::string(kind) + "s"))
            if (!entry.path.empty()) names.push_back(std::string(kind) + "-" + entry.name);
    return names;
}

// The names that an upper-case word in a type, such as KERNEL, stands for. PARAMETER stands for the
// parameters of all methods, but only once a part of the name has been typed.
Words names_of(std::string type, const std::string &begun) {
    for (char &c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const Context context = make<Context>(mercer_context_create);
    if (type == "plugin") return plugins_of(context.get());
    std::set<std::string> names;
    const bool parameters = type == "parameter" && !begun.empty();
    if (std::find(registries().begin(), registries().end(), type + "s") != registries().end())
        for (const Entry &entry : entries_of(context.get(), type + "s")) names.insert(entry.name);
    for (const Entry &method : parameters ? entries_of(context.get(), "methods") : std::vector<Entry>())
        for (const Row &row : rows_of(make<Recipe>(mercer_recipe_create, context.get(), method.name.c_str()).get()))
            names.insert(row.name);
    return {names.begin(), names.end()};
}

// Returns the values that a type allows. The type is written as in the help: "median | mean" or
// "FILE|KERNEL". If there are several alternatives, a lower-case word is itself a value. An
// upper-case word stands for the names in a registry. Everything else is left to the shell, which
// knows files.
Words values_of_type(const std::string &type, const std::string &begun) {
    Words values;
    const Words alternatives = split(type, '|');
    for (std::string word : alternatives) {
        std::erase(word, ' ');
        if (is_made_of(word, std::isupper))
            for (const std::string &name : names_of(word, begun)) values.push_back(name);
        else if (alternatives.size() > 1 && is_made_of(word, is_of_a_value))
            values.push_back(word);
    }
    return values;
}

} // namespace

Words Arguments::names_for_completion(const std::string &begun, const std::string &group) const {
    Words names;
    for (const CLI::Option *option : app_.get_options()) {
        if (option->get_group().empty() || (!group.empty() && option->get_group() != group)) continue;
        // Of a parameter with two names only the short one ("sigma") is offered at first, the full
        // one ("kernel.sigma") when a dot has been typed or, after --set, any letter.
        for (const std::string &name : option->get_lnames())
            if (name.find('.') == std::string::npos || option->get_lnames().size() == 1 ||
                begun.find('.') != std::string::npos || (group == row_group && !begun.empty()))
                names.push_back(name);
    }
    return names;
}

Words Arguments::values_for_completion(const CLI::Option &option, const std::string &begun) const {
    if (constexpr std::string_view more = ",..."; option.get_type_name().ends_with(more)) {
        const size_t last = begun.rfind(',') + 1; // npos + 1 is 0
        const std::string type = option.get_type_name();
        Words lists;
        for (const std::string &name : values_of_type(type.substr(0, type.size() - more.size()), begun.substr(last)))
            lists.push_back(begun.substr(0, last) + name);
        return lists;
    }
    if (option.get_type_name() != assignment_type) return values_of_type(option.get_type_name(), begun);
    const size_t equals = begun.find('=');
    Words values;
    if (equals == std::string::npos) {
        for (const std::string &name : names_for_completion(begun, row_group)) values.push_back(name + "=");
    } else if (const CLI::Option *row = option_of("--" + begun.substr(0, equals))) {
        for (const std::string &value : values_of_type(row->get_type_name(), ""))
            values.push_back(begun.substr(0, equals + 1) + value);
    }
    return values;
}

Words Arguments::completions() const {
    const CLI::Option *asked = nullptr; // the flag whose value is the last word; null: none
    size_t places = 0;                  // number of positional words before the last word
    for (size_t i = 0; i < words_.size(); ++i) {
        const bool has_value = takes_value(words_[i]);
        if (!has_value && (!words_[i].starts_with("-") || words_[i] == "-")) ++places;
        if (has_value && i + 1 == words_.size()) asked = option_of(words_[i]);
        i += has_value;
    }
    std::string kept; // the part of the last word before the value: "--flag="
    if (const size_t equals = last_.find('='); !asked && last_.starts_with("--") && equals != std::string::npos) {
        asked = option_of(last_);
        kept = last_.substr(0, equals + 1);
    }
    const auto positionals = app_.get_options([](const CLI::Option *option) { return option->get_positional(); });
    Words words, fitting;
    if (asked)
        words = values_for_completion(*asked, last_.substr(kept.size()));
    else if (!last_.starts_with("-") && places < positionals.size())
        words = values_of_type(positionals[places]->get_type_name(), last_);
    else
        kept = "--", words = names_for_completion(last_, "");
    for (const std::string &word : words)
        if ((kept + word).starts_with(last_)) fitting.push_back(kept + word);
    return fitting;
}

void completion(mercer_context *, const Words &words) {
    std::string shell;
    Arguments line("completion", "Prints the script that lets a shell complete the words of a command line.", words);
    one_of(line.app().add_option("SHELL", shell, "the shell")->required(), {"bash"});
    line.parse();
    std::fputs(completion_script, stdout);
}

} // namespace cli
