#include "commands.h"

#include <algorithm>
#include <cctype>
#include <completion_script.h>

namespace cli {

namespace {

bool is_made_of(const std::string &text, int (*kind)(int)) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) { return kind(c) != 0; });
}

int is_of_a_value(int c) { return std::islower(c) || std::isdigit(c) || c == '-'; }

std::vector<Entry> entries_named(const std::string &part) {
    std::string registry = part + "s";
    for (char &c : registry) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::find(registries().begin(), registries().end(), registry) == registries().end()) return {};
    return entries_of(make<Context>(mercer_context_create).get(), registry);
}

/* The values of a type as help writes it, "median | mean" or "FILE|KERNEL": words of lower-case letters are themselves, of
 * upper-case ones a registry's names. Whatever else it says is left to the shell, which knows files. */
Words values_of_type(const std::string &type) {
    Words values;
    const Words alternatives = split(type, '|');
    for (std::string word : alternatives) {
        std::erase(word, ' ');
        if (is_made_of(word, std::isupper))
            for (const Entry &entry : entries_named(word)) values.push_back(entry.name);
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
        for (const std::string &name : option->get_lnames()) // "sigma" stands for "kernel.sigma" until a dot is written
            if (name.find('.') == std::string::npos || option->get_lnames().size() == 1 ||
                begun.find('.') != std::string::npos)
                names.push_back(name);
    }
    return names;
}

Words Arguments::values_for_completion(const CLI::Option &option, const std::string &begun) const {
    if (option.get_type_name() != assignment_type) return values_of_type(option.get_type_name());
    const size_t equals = begun.find('=');
    Words values;
    if (equals == std::string::npos) {
        for (const std::string &name : names_for_completion(begun, row_group)) values.push_back(name + "=");
    } else if (const CLI::Option *row = option_of("--" + begun.substr(0, equals))) {
        for (const std::string &value : values_of_type(row->get_type_name()))
            values.push_back(begun.substr(0, equals + 1) + value);
    }
    return values;
}

Words Arguments::completions() const {
    const CLI::Option *asked = nullptr; // the last word is its value
    size_t places = 0;                  // before the last word
    for (size_t i = 0; i < words_.size(); ++i) {
        const bool has_value = takes_value(words_[i]);
        if (!has_value && (!words_[i].starts_with("-") || words_[i] == "-")) ++places;
        if (has_value && i + 1 == words_.size()) asked = option_of(words_[i]);
        i += has_value;
    }
    std::string kept; // what stands before the value
    if (const size_t equals = last_.find('='); !asked && last_.starts_with("--") && equals != std::string::npos) {
        asked = option_of(last_);
        kept = last_.substr(0, equals + 1);
    }
    const auto positionals = app_.get_options([](const CLI::Option *option) { return option->get_positional(); });
    Words words, fitting;
    if (asked)
        words = values_for_completion(*asked, last_.substr(kept.size()));
    else if (!last_.starts_with("-") && places < positionals.size())
        words = values_of_type(positionals[places]->get_type_name());
    else
        kept = "--", words = names_for_completion(last_, "");
    for (const std::string &word : words)
        if ((kept + word).starts_with(last_)) fitting.push_back(kept + word);
    return fitting;
}

void completion(mercer_context *, const Words &words) {
    std::string shell;
    Arguments line("completion", "Prints the script that makes a shell complete the words of a command line.", words);
    one_of(line.app().add_option("SHELL", shell, "the shell")->required(), {"bash"});
    line.parse();
    std::fputs(completion_script, stdout);
}

} // namespace cli
