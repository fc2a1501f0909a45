#include "commands.h"
#include "json.h"
#include "report.h"

namespace cli {

void version(mercer_context *context, const Words &words) {
    bool as_json = false;
    Arguments line("--version", "Prints the version and the build properties of the library.", words);
    line.app().add_flag("--json", as_json, "print the result as JSON");
    line.parse();

    Cells cells;
    std::vector<std::pair<std::string, std::string>> members;
    for (const Entry &row : entries_of(context, "build")) {
        cells.push_back({row.name, row.summary});
        const bool number = row.summary.find_first_not_of("0123456789") == std::string::npos;
        members.emplace_back(row.name, number ? row.summary : json::text(row.summary));
    }
    if (as_json) {
        std::printf("%s\n", json::object(members).c_str());
        return;
    }
    std::printf("mercer %s\n", mercer_version());
    print_table(stdout, cells, "ll");
}

} // namespace cli
