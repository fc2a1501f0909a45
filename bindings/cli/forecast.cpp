#include "commands.h"
#include "json.h"
#include "report.h"
#include "run.h"
#include "training.h"

namespace cli {

namespace {

std::string figure_json(const mercer_figure &figure) {
    return json::object({{"likely", json::number(figure.likely)}, {"most", json::number(figure.most)}});
}

void print(const mercer_forecast &ahead) {
    Cells cells = {{"", "likely", "at most"}};
    const auto row = [&](const char *name, const mercer_figure &figure, std::string (*show)(double)) {
        cells.push_back({name, show(figure.likely), show(figure.most)});
    };
    row("memory", ahead.bytes, human_bytes);
    row("kernel evaluations", ahead.kernel_evaluations, human_count);
    row("passes over the kernel matrix", ahead.passes, human_count);
    row("flops", ahead.flops, human_count);
    cells.push_back({"longest uncancellable step", human_seconds(ahead.dense_seconds), ""});
    cells.push_back({"time", human_seconds(ahead.seconds), ""});
    print_table(stdout, cells, "lrr");
    std::printf("%s\n", ahead.strategy);
    if (ahead.rows > 0)
        std::printf("%lld rows were read for this estimate, in %s\n", static_cast<long long>(ahead.rows),
                    human_seconds(ahead.sample_seconds).c_str());
}

// Adapts the flags of the command fit to the command forecast, which accepts the same command line,
// but needs no outputs and ignores their flags.
void be_of_forecast(CLI::App &app) {
    app.get_option("--json")->description("print the result as JSON");
    app.get_option("--output")->required(false);
    for (const char *flag : {"--output", "--scores", "--format", "--checkpoint"})
        app.get_option(flag)->description("accepted as a flag of fit, and ignored");
}

} // namespace

void forecast(mercer_context *context, const Words &words) {
    TrainingOptions options;
    Arguments line("forecast",
                   "Estimates the memory, work and time of a fit without fitting; fails if the fit would be refused.",
                   words);
    options.add_to(line.app());
    be_of_forecast(line.app());
    const Recipe recipe = recipe_of_method(line, context, options.method);
    line.parse();
    options.verify_inputs();
    line.apply(recipe.get());

    const Run run(options.run);
    const TrainingData data(context, options, run.get());
    auto ahead = sized<mercer_forecast>();
    check(mercer_recipe_forecast(recipe.get(), data.get(), data.run(), &ahead));
    if (!options.json) return print(ahead);
    std::printf("%s\n", json::object({{"bytes", figure_json(ahead.bytes)},
                                      {"kernel_evaluations", figure_json(ahead.kernel_evaluations)},
                                      {"passes", figure_json(ahead.passes)},
                                      {"flops", figure_json(ahead.flops)},
                                      {"dense_seconds", json::number(ahead.dense_seconds)},
                                      {"seconds", json::number(ahead.seconds)},
                                      {"rows", json::number(static_cast<double>(ahead.rows))},
                                      {"sample_seconds", json::number(ahead.sample_seconds)},
                                      {"streams", json::boolean(ahead.streams != 0)},
                                      {"strategy", json::text(ahead.strategy)}})
                            .c_str());
}

} // namespace cli
