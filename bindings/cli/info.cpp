#include "commands.h"
#include "files.h"
#include "json.h"
#include "report.h"

#include <algorithm>
#include <array>

namespace cli {

namespace {

// The entries of the report that are printed without --verbose, beside eigenvalues and
// certificates. A name that ends in "." stands for all entries that begin with it.
constexpr std::array<const char *, 19> on_one_screen = {"reducer",
                                                        "lift",
                                                        "solver",
                                                        "parameters.kernel.",
                                                        "parameters.reducer.",
                                                        "outcome",
                                                        "left_out",
                                                        "d",
                                                        "d_mapped",

                                                        "capabilities",
                                                        "total_variance.",
                                                        "limits.",
                                                        "clusters.",
                                                        "columns",
                                                        "missing",
                                                        "changed",
                                                        "peak_bytes",
                                                        "timings.total",
                                                        "compressed."};

bool is_on_one_screen(const std::string &name) {
    return std::any_of(on_one_screen.begin(), on_one_screen.end(), [&](const std::string &shown) {
        return shown.ends_with('.') ? name.starts_with(shown) : name == shown;
    });
}

void add_once(std::string &list, const std::string &word) {
    if (("," + list + ",").find("," + word + ",") == std::string::npos) list += (list.empty() ? "" : ",") + word;
}

// One line for all certificates of a name: the value if there is only one, the number of
// certificates if there are several, and their kinds.
Cells certificates_of(const json::Value &list) {
    Cells rows;
    std::vector<std::string> names;
    for (const json::Value &entry : list.members) {
        const std::string name = json::member(entry, "name").text;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    for (const std::string &name : names) {
        std::string kinds, value;
        size_t count = 0;
        for (const json::Value &entry : list.members) {
            if (json::member(entry, "name").text != name) continue;
            add_once(kinds, json::member(entry, "kind").text);
            value = json::member(entry, "value").text;
            ++count;
        }
        rows.push_back(
            {"certificates." + name, (count == 1 ? value : std::to_string(count) + " values") + ", " + kinds});
    }
    return rows;
}

void print_one_screen(mercer_model *model, const json::Value &report) {
    // most: entries shown of each list. components: rows shown of the table of eigenvalues.
    constexpr size_t most = 8, components = 10;
    print_importance(stdout, importance_of(model), components);
    Cells rows;
    size_t others = 0;
    for (const auto &row : json::flatten(report, most)) {
        if (is_on_one_screen(row[0]) && !row[1].empty())
            rows.push_back(row);
        else
            ++others;
    }
    for (const auto &row : certificates_of(json::member(report, "certificates"))) rows.push_back(row);
    print_table(stdout, rows, "ll");
    std::printf("and %zu more entries, see mercer info --verbose\n", others);
}

} // namespace

void info(mercer_context *context, const Words &words) {
    constexpr size_t most = 8; // entries shown of each list
    std::string path;
    bool as_json = false, verbose = false;
    Arguments line("info", "Prints a summary of a model.", words);
    line.app().add_option("MODEL", path, "model file; - for standard input")->type_name("FILE")->required();
    line.app().add_flag("--verbose", verbose, "print everything: each certificate, parameter, cost and array");
    line.app().add_flag("--json", as_json, "print everything as JSON");
    line.parse();

    const Model model = read_model(context, path);
    const std::string text = fact_of(model.get(), "");
    if (as_json) {
        std::printf("%s\n", text.c_str());
        return;
    }
    print_headline(stdout, model.get());
    std::printf("\n");
    if (verbose) {
        print_importance(stdout, importance_of(model.get()));
        print_table(stdout, json::flatten(json::parse(text), most), "ll");
    } else {
        print_one_screen(model.get(), json::parse(text));
    }
    warn_of_outcome(model.get());
}

} // namespace cli
