#include "commands.h"
#include "files.h"
#include "input.h"
#include "json.h"
#include "report.h"
#include "run.h"

#include <algorithm>
#include <chrono>

namespace cli {

namespace {

struct Options {
    std::vector<std::string> models;
    std::string output;
    InputOptions data;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        app.add_option("MODEL", models, "model file; - for standard input")->type_name("FILE")->required();
        app.add_option("-o,--output", output, "file to write the new model to; - for standard output")
            ->type_name("FILE")
            ->required();
        app.add_option("--data", data.path, "for models of objects: the matrix of values that the model was fitted on")
            ->type_name("FILE");
        one_of(app.add_option("--precomputed", data.precomputed, "kind of values in that matrix"),
               {"kernel", "distances"});
        app.add_flag("--json", json, "print the new model's report as JSON");
        run.add_to(app);
    }

    void verify() const {
        if (is_stdout(output) && json)
            throw Failure(MERCER_E_ARGUMENT, "--json and -o - both write to standard output");
        if (std::count(models.begin(), models.end(), "-") + is_stream(data.path) > 1)
            throw Failure(MERCER_E_ARGUMENT, "only one file can be read from standard input");
        check_ending("-o", output, {".safetensors"}, true, ", as models do");
        for (const auto &model : models) check_apart(output, model);
        check_apart(output, data.path);
        check_writable(output);
    }
};

void report(const Options &options, mercer_model *model, const std::optional<mercer_forecast> &forecast,
            double seconds) {
    constexpr size_t most = 20; // entries shown of each list
    if (options.json) {
        std::printf("%s\n", fact_of(model, "").c_str());
        return;
    }
    FILE *stream = is_stdout(options.output) ? stderr : stdout;
    print_headline(stream, model);
    std::fputc('\n', stream);
    if (const std::string lost = fact_of(model, "/compressed"); !lost.empty()) {
        print_table(stream, json::flatten(json::parse(lost), most), "ll");
        std::fputc('\n', stream);
    }
    print_costs(stream, model, forecast, seconds);
    if (!is_stdout(options.output)) std::fprintf(stream, "\nwrote %s\n", options.output.c_str());
}

} // namespace

void derive(mercer_context *context, const Entry &operation, const Words &words) {
    Options options;
    Arguments line(operation.name, "Derives a new model: " + operation.summary + ".", words);
    options.add_to(line.app());
    const Recipe recipe = line.recipe(context, derivations, operation.name);
    line.parse();
    options.verify();
    line.apply(recipe.get());

    const Run run(options.run);
    std::vector<Model> models;
    std::vector<mercer_model *> handles;
    for (const auto &path : options.models) {
        models.push_back(read_model(context, path));
        handles.push_back(models.back().get());
    }
    std::optional<InputData> data;
    if (!options.data.path.empty()) data.emplace(context, options.data, run.get());
    const auto count = static_cast<int64_t>(handles.size());
    mercer_data *const given = data ? data->get() : nullptr;
    std::optional<mercer_forecast> forecast = sized<mercer_forecast>();
    if (mercer_model_forecast(recipe.get(), handles.data(), count, given, run.get(), &*forecast) != MERCER_OK)
        forecast.reset(); // the derivation itself will report the reason
    const auto start = std::chrono::steady_clock::now();
    const Model model = make<Model>(mercer_model_derive, recipe.get(), handles.data(), count, given, run.get());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    write_model(model.get(), options.output);
    clear_progress();
    report(options, model.get(), forecast, seconds);
    warn_of_outcome(model.get());
}

} // namespace cli
