#include "arguments.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>

namespace cli {

namespace {

bool is_flag(const std::string &word) { return word.size() > 2 && word.starts_with("--"); }

[[noreturn]] void refuse_value(const CLI::Option *option, const std::string &value, const std::string &allowed) {
    throw Failure(MERCER_E_VALUE, option->get_name() + " = " + value + ", must be " + allowed);
}

// "--sigma=5" -> "sigma".
std::string name_in(const std::string &flag) { return flag.substr(2, flag.find('=') - 2); }

// Refuses an empty name of a method, an operation or a part, such as `--kernel "$KERNEL"` gives if
// the shell variable is not set. The library would take an empty name for the default, but a user
// who wants the default leaves the flag out.
void refuse_empty(const std::string &part, const std::string &value) {
    const std::string registry = part == "what" ? "operations" : part + "s";
    if (value.empty() && std::find(registries().begin(), registries().end(), registry) != registries().end())
        throw Failure(MERCER_E_VALUE,
                      "--" + part + " = '', must be a name; `mercer methods " + registry + "` lists them");
}

// The name of a flag or of a value in other packages (theirs), and its name here (ours).
struct Foreign {
    const char *theirs, *ours;
};
constexpr Foreign foreign_flags[] = {{"random-state", "seed"}, {"n-jobs", "threads"}, {"eigen-solver", "solver"}};
constexpr Foreign foreign_operations[] = {{"spe", "residual"}, {"q", "residual"}, {"hotelling", "t2"}};
constexpr Foreign foreign_types[] = {{"float32", "f32"}, {"float64", "f64"}};

template <size_t count>
std::string translated(const Foreign (&table)[count], const std::string &word) {
    for (const auto &[theirs, ours] : table)
        if (word == theirs) return ours;
    return "";
}

// For a flag that only some of the commands on data have, names these commands; "" for other flags.
std::string commands_with(const std::string &flag) {
    if (flag == "labels") return "fit, forecast and plot";
    if (flag == "landmarks" || flag == "weights" || flag == "scores" || flag == "checkpoint") return "fit and forecast";
    return "";
}

// Calls find_entry, which throws if the registry does not have the name. If the name is that of an
// operation in another package, or that of a part where a method is wanted, the failure says what
// to write instead.
void look_up(mercer_context *context, const std::string &registry, const std::string &name) {
    try {
        find_entry(context, registry, name);
    } catch (const Failure &failure) {
        const auto has = [&](const std::string &place, const std::string &wanted) {
            for (const Entry &entry : entries_of(context, place))
                if (entry.name == wanted) return true;
            return false;
        };
        if (failure.code != MERCER_E_NAME) throw;
        const std::string here = registry == "operations" ? translated(foreign_operations, name) : "";
        if (!here.empty() && has(registry, here))
            throw Failure(failure.code, "unknown operation '" + name + "': did you mean '" + here + "'?");
        for (const char *part : {"kernel", "reducer", "lift", "solver"})
            if (registry == "methods" && has(std::string(part) + "s", name))
                throw Failure(failure.code, "unknown method '" + name + "': it is a " + part + ": " +
                                                (part == std::string("reducer") ? "--method nystrom " : "") + "--" +
                                                part + " " + name);
        throw;
    }
}

// The methods that have a parameter of this name, separated by commas.
std::string methods_with(mercer_context *context, const std::string &name) {
    Words with;
    for (const Entry &method : entries_of(context, "methods")) {
        const auto rows = rows_of(make<Recipe>(mercer_recipe_create, context, method.name.c_str()).get());
        if (std::any_of(rows.begin(), rows.end(), [&](const Row &row) { return is_named(row, name); }))
            with.push_back(method.name);
    }
    return joined(with, ", ");
}

// Replaces "float32" by "f32" (and "float64" by "f64") if the parameter has that choice.
std::string own_value(const std::vector<Row> &rows, const std::string &name, const std::string &value) {
    const std::string ours = translated(foreign_types, value);
    const auto takes = [&](const Row &row) {
        return is_named(row, name) && std::count(row.choices.begin(), row.choices.end(), ours) > 0;
    };
    return !ours.empty() && std::any_of(rows.begin(), rows.end(), takes) ? ours : value;
}

std::string shortest_flag(const Row &row) { return flag_of(row.short_name.empty() ? row.name : row.short_name); }

// A parameter that must be a number may exclude another one that chooses a rule for it. If a word
// such as "median" was given in place of the number (`--sigma median`) and is a choice of that
// other parameter, returns a hint that names its flag; otherwise "".
std::string rule_instead(const std::vector<Row> &rows, const std::string &name, const std::string &value) {
    const auto asked = std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return is_named(row, name); });
    if (asked == rows.end() || asked->group.empty() || !asked->choices.empty()) return "";
    for (const Row &row : rows)
        if (row.group == asked->group && std::find(row.choices.begin(), row.choices.end(), value) != row.choices.end())
            return "; for a rule: " + shortest_flag(row) + " " + value;
    return "";
}

// Rewrites the library's suggestion "did you mean output.variance = 0.95?" as a flag.
std::string as_flag(const std::string &text, const std::vector<Row> &rows) {
    for (const Row &row : rows) {
        const std::string suggested = "did you mean " + row.name + " = ";
        const size_t at = text.find(suggested);
        if (at == std::string::npos) continue;
        return text.substr(0, at) + "did you mean " + shortest_flag(row) + " " + text.substr(at + suggested.size());
    }
    return text;
}

// Reads a number of bytes: a decimal number, which may have an exponent, and an optional unit. The
// units k, M, G, T, P and E are powers of 1000; Ki, Mi ... are powers of 1024. A B may follow, and
// letters may be of either case. Returns nothing if the text is not such a number.
std::optional<uint64_t> bytes_in(const std::string &text) {
    double number = 0;
    const char *end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
    std::string unit(at, end);
    std::erase(unit, ' ');
    for (char &c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (unit.ends_with('b')) unit.pop_back();
    const bool binary = unit.size() == 2 && unit.ends_with('i');
    if (binary) unit.pop_back();
    const size_t power = unit.empty() ? 0 : std::string("kmgtpe").find(unit) + 1;
    if (unit.size() > 1 || power > 6 || (!unit.empty() && power == 0)) return std::nullopt;
    const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
    if (bytes != 0 && !(bytes >= 1 && bytes < 0x1p63)) return std::nullopt;
    return static_cast<uint64_t>(bytes);
}

// A row whose value must be one of these words, separated by '|'. It borrows both texts.
mercer_row choice_row(const std::string &name, const std::string &choices) {
    auto row = sized<mercer_row>();
    row.name = name.c_str();
    row.type = MERCER_CHOICE;
    row.choices = choices.c_str();
    return row;
}

} // namespace

std::string suggestion(const std::string &name, const Words &known) {
    const std::string choices = joined(known, "|"), before = ": did you mean '";
    const std::string what = "name";
    const mercer_row row = choice_row(what, choices);
    if (mercer_row_check(&row, plain(name).c_str()) == MERCER_OK) return name;
    const std::string text = mercer_last_error();
    const size_t at = text.rfind(before);
    if (at == std::string::npos) return "";
    const size_t from = at + before.size();
    return text.substr(from, text.rfind('\'') - from);
}

CLI::Option *one_of(CLI::Option *option, const Words &choices) {
    return option->type_name(joined(choices, "|"))->check([option, choices](const std::string &value) {
        const std::string name = option->get_name(), list = joined(choices, "|");
        const mercer_row row = choice_row(name, list);
        check(mercer_row_check(&row, value.c_str()));
        return "";
    });
}

CLI::Option *within(CLI::Option *option, int32_t type, double lo, double hi) {
    Row shown;
    shown.type = type;
    shown.lo = lo;
    shown.hi = hi;
    return option->type_name(shown.allowed())->transform([option, type, lo, hi](const std::string &text) {
        const std::string name = option->get_name();
        auto row = sized<mercer_row>();
        row.name = name.c_str();
        row.type = type;
        row.lo = lo;
        row.hi = hi;
        check(mercer_row_check(&row, text.c_str()));
        // The library accepts 1e6 as a whole number, but CLI11 does not.
        const bool digits_only = text.find_first_of(".eE") == std::string::npos;
        return type == MERCER_REAL || digits_only
                   ? text
                   : std::to_string(static_cast<int64_t>(std::strtod(text.c_str(), nullptr)));
    });
}

Arguments::Arguments(const std::string &command, const std::string &summary, Words words)
    : app_(summary, "mercer " + command), words_(std::move(words)) {
    if (words_.size() > 1 && words_[0] == complete_flag) {
        completing_ = true;
        last_ = words_.back();
        words_.pop_back();
        words_.erase(words_.begin());
    }
    app_.set_help_flag("-h,--help", "print this help");
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

const CLI::Option *Arguments::option_of(const std::string &flag) const {
    if (!is_flag(flag)) return flag.starts_with("-") && flag != "-" ? app_.get_option_no_throw(flag) : nullptr;
    const std::string name = plain(name_in(flag));
    for (const CLI::Option *option : app_.get_options())
        for (const auto &known : option->get_lnames())
            if (plain(known) == name) return option;
    return nullptr;
}

bool Arguments::takes_value(const std::string &word) const {
    const CLI::Option *option = option_of(word);
    if (word.find('=') != std::string::npos) return false;
    // An unknown flag is taken for a parameter whose row has not been added yet. All of these take
    // a value.
    return option ? option->get_items_expected_max() > 0 : is_flag(word);
}

std::string Arguments::peek(const std::string &flag) const {
    const std::string name = plain(flag);
    std::string value;
    for (size_t i = 0; i < words_.size() && words_[i] != "--"; ++i) {
        std::string word = words_[i], next = i + 1 < words_.size() ? words_[i + 1] : "";
        if (!is_flag(word)) continue;
        const bool joined = word.find('=') != std::string::npos;
        if (name_in(word) == "set") { // --set name=value, --set=name=value
            word = "--" + (joined ? word.substr(word.find('=') + 1) : next);
            next = "";
        }
        if (plain(name_in(word)) == name)
            value = word.find('=') != std::string::npos ? word.substr(word.find('=') + 1) : next;
    }
    return value;
}

std::string Arguments::peek_positional() const {
    for (size_t i = 0; i < words_.size(); ++i) {
        if (takes_value(words_[i]))
            ++i;
        else if (!words_[i].starts_with("-") || words_[i] == "-")
            return words_[i];
    }
    return "";
}

Recipe Arguments::recipe(mercer_context *context, const std::string &registry, const std::string &name, Wanted wanted) {
    // A recipe may have several operations, separated by commas.
    if (registry == "operations")
        for (const std::string &one : split(name, ',')) look_up(context, registry, one);
    else
        look_up(context, registry, name);
    if (!app_.get_option_no_throw("--set"))
        app_.add_option("--set", sets_, "set a parameter, as part.name=value; may be repeated")
            ->type_name(assignment_type)
            ->type_size(1)
            ->expected(1)
            ->take_all()
            ->allow_extra_args(false);
    Recipe recipe = make<Recipe>(mercer_recipe_create, context, name.c_str());
    auto rows = rows_of(recipe.get());
    // Setting a part changes the rows after it, so all rows are read again.
    for (size_t i = 0; i < rows.size(); ++i) {
        const std::string value = is_part(rows[i]) ? peek(rows[i].name) : "";
        if (value.empty()) continue;
        check(mercer_recipe_set(recipe.get(), rows[i].name.c_str(), value.c_str()));
        rows = rows_of(recipe.get());
    }
    add_rows(recipe.get(), wanted);
    spell_canonically(context, recipe.get());
    return recipe;
}

void Arguments::add_rows(mercer_recipe *recipe, Wanted wanted) {
    constexpr size_t most_shown = 80; // characters up to which help lists the choices of a part
    for (const Row &row : rows_of(recipe)) {
        if (!wanted(row)) continue;
        std::string names;
        if (!option_of(flag_of(row.name))) names = flag_of(row.name);
        if (!row.short_name.empty() && !option_of(flag_of(row.short_name)))
            names += (names.empty() ? "" : ",") + flag_of(row.short_name);
        if (names.empty()) continue;
        const std::string key = row.name;
        std::string type = row.allowed(), doc = row.doc + (row.initial.empty() ? "" : " (default " + row.initial + ")");
        if (is_part(row) && type.size() > most_shown) {
            doc += "; see `mercer methods " + row.name + "s`";
            type = row.name;
            std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
        }
        app_.add_option_function<std::string>(
                names, [this, key](const std::string &value) { flags_[key] = value; }, doc)
            ->type_name(type)
            ->group(row_group);
    }
}

// Throws the Failure for an unknown flag. If one of the fixed flags has a similar name, or if the
// flag is known in another package, to another command or to another method, the text says so.
// Otherwise the text is the library's, which suggests the nearest parameter, or just "unknown flag"
// if the command has no recipe.
void Arguments::refuse(mercer_context *context, mercer_recipe *recipe, const std::string &name) const {
    std::vector<std::string> own;
    for (const CLI::Option *option : app_.get_options())
        if (option->get_group() != row_group)
            own.insert(own.end(), option->get_lnames().begin(), option->get_lnames().end());
    const std::string here = translated(foreign_flags, plain(name)), near = suggestion(name, own);
    if (!here.empty() && option_of("--" + here))
        throw Failure(MERCER_E_NAME, "unknown flag --" + name + ": did you mean --" + here + "?");
    if (const std::string commands = commands_with(name); !commands.empty())
        throw Failure(MERCER_E_NAME, "unknown flag --" + name + ": it belongs to " + commands);
    if (!near.empty()) throw Failure(MERCER_E_NAME, "unknown flag --" + name + ": did you mean --" + near + "?");
    try {
        if (recipe) value_of(recipe, name);
    } catch (const Failure &failure) {
        const std::string text = failure.what();
        const bool unknown =
            text.starts_with("unknown parameter") || text.find("' is a parameter of the ") != text.npos;
        const auto rows = rows_of(recipe);
        const bool fits = std::any_of(rows.begin(), rows.end(), [](const Row &row) { return row.name == "method"; });
        const std::string methods = unknown && fits ? methods_with(context, name) : "";
        if (methods.empty()) throw;
        throw Failure(failure.code, "--" + name + " belongs to the methods " + methods + ", not to '" +
                                        value_of(recipe, "method") + "'");
    }
    throw Failure(MERCER_E_NAME, "unknown flag --" + name);
}

// Rewrites flags to the spelling that CLI11 knows, with hyphens or underscores. Refuses unknown
// flags, unless the command only completes its last word.
void Arguments::spell_canonically(mercer_context *context, mercer_recipe *recipe) {
    for (size_t i = 0; i < words_.size() && words_[i] != "--"; ++i) {
        std::string &word = words_[i];
        if (!is_flag(word)) continue;
        const std::string name = name_in(word);
        const bool value_follows = takes_value(word);
        if (const CLI::Option *option = option_of(word)) {
            for (const auto &known : option->get_lnames())
                if (plain(known) == plain(name)) word.replace(2, name.size(), known);
        } else if (!completing_) {
            refuse(context, recipe, name);
        }
        i += value_follows;
    }
}

// Turns an error of CLI11 into a Failure in the form of all others: the argument, its value, what
// is allowed.
Failure Arguments::usage(const CLI::ParseError &error) const {
    std::string said = error.what(), name;
    const CLI::Option *option = nullptr;
    for (const CLI::Option *one : app_.get_options())
        if (said.starts_with(one->get_name()) && one->get_name().size() > name.size())
            option = one, name = one->get_name();
    const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
    if (kind == CLI::ExitCodes::ExtrasError)
        said = (app_.remaining().front().starts_with("-") ? "unknown flag " : "unexpected argument ") +
               app_.remaining().front();
    else if (option && kind == CLI::ExitCodes::RequiredError)
        said = name + " is missing: " + option->get_description();
    else if (option && option->count() > 1)
        said = name + " is given twice";
    else if (option && kind == CLI::ExitCodes::ArgumentMismatch)
        said = name + " has no value; it must be " + option->get_type_name();
    return {MERCER_E_ARGUMENT, said + " (" + app_.get_name() + " --help lists the arguments)"};
}

void Arguments::parse() {
    if (completing_) {
        for (const std::string &word : completions()) std::cout << word << '\n';
        throw HelpShown();
    }
    Words reversed(words_.rbegin(), words_.rend());
    try {
        app_.parse(reversed);
    } catch (const CLI::CallForHelp &) {
        std::cout << app_.help();
        throw HelpShown();
    } catch (const CLI::ParseError &error) {
        // An unknown flag is found here only if the command has no parameters: for the others,
        // spell_canonically() has refused it already.
        for (const auto &word : words_)
            if (is_flag(word) && !option_of(word)) refuse(nullptr, nullptr, name_in(word));
        throw usage(error);
    }
    for (const CLI::Option *option : app_.get_options())
        if (option->count() > 0 && !option->get_lnames().empty())
            refuse_empty(option->get_lnames().front(), option->results().front());
}

void Arguments::apply(mercer_recipe *recipe) const {
    std::vector<std::string> names, values;
    for (const auto &[name, value] : flags_) {
        names.push_back(name);
        values.push_back(value);
    }
    for (const auto &set : sets_) {
        const size_t equals = set.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Failure(MERCER_E_ARGUMENT, "--set = " + set + ", must be NAME=VALUE");
        names.push_back(set.substr(0, equals));
        values.push_back(set.substr(equals + 1));
        for (const Row &row : rows_of(recipe))
            if (is_named(row, names.back())) names.back() = row.name;
        refuse_empty(names.back(), values.back());
        if (std::count(names.begin(), names.end(), names.back()) > 1)
            throw Failure(MERCER_E_ARGUMENT, names.back() + " is given twice");
    }
    const auto rows = rows_of(recipe);
    std::string rule;
    std::vector<const char *> name_texts, value_texts;
    for (size_t i = 0; i < names.size(); ++i) {
        values[i] = own_value(rows, names[i], values[i]);
        if (rule.empty()) rule = rule_instead(rows, names[i], values[i]);
        name_texts.push_back(names[i].c_str());
        value_texts.push_back(values[i].c_str());
    }
    try {
        check(
            mercer_recipe_set_many(recipe, name_texts.data(), value_texts.data(), static_cast<int64_t>(names.size())));
    } catch (const Failure &failure) {
        const std::string text = failure.what();
        const bool meant = !rule.empty() && text.find("= " + rule.substr(rule.rfind(' ') + 1) + " ") != text.npos;
        throw Failure(failure.code, as_flag(text, rows) + (meant ? rule : ""));
    }
}

void RunOptions::add_to(CLI::App &app) {
    within(app.add_option("--threads", threads, "number of threads (default: 0, all cores)"), MERCER_INT, 0, INFINITY);
    CLI::Option *size = app.add_option("--memory", memory, "memory budget (default: 60 % of the available memory)");
    size->type_name("SIZE")->transform([size](const std::string &text) {
        if (const auto bytes = bytes_in(text)) return std::to_string(*bytes);
        refuse_value(size, text, "a number of bytes, such as 4GiB, 500MB or 1e9");
    });
    app.add_flag("--quiet", quiet, "show no progress on standard error");
}

} // namespace cli
