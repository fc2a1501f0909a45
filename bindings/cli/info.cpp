#include "commands.h"
#include "files.h"
#include "json.h"
#include "report.h"

namespace cli {

void info(mercer_context *context, const Words &words) {
    constexpr size_t most = 8; // entries of a list shown
    std::string path;
    bool as_json = false;
    Arguments line("info", "Says all that is known of a model.", words);
    line.app().add_option("MODEL", path, "the model's file; - for standard input")->type_name("FILE")->required();
    line.app().add_flag("--json", as_json, "print it as JSON");
    line.parse();

    const Model model = read_model(context, path);
    const std::string text = fact_of(model.get(), "");
    if (as_json) {
        std::printf("%s\n", text.c_str());
        return;
    }
    print_headline(stdout, model.get());
    std::printf("\n");
    print_importance(stdout, importance_of(model.get()));
    print_table(stdout, json::flatten(json::parse(text), most), "ll");
    warn_of_outcome(model.get());
}

} // namespace cli
