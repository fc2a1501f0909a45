#include "commands.h"
#include "files.h"
#include "input.h"
#include "npy.h"
#include "report.h"
#include "run.h"

#include <chrono>
#include <filesystem>

namespace cli {

namespace {

struct Options {
    InputOptions data;
    std::string method = "auto", output, scores, format, landmarks, weights, checkpoint;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        data.add_to(app);
        app.add_option("--method", method, "method, see `mercer methods`; its parameters become flags")
            ->type_name("METHOD")
            ->capture_default_str();
        app.add_option("-o,--output", output, "file to write the model to; - for standard output")
            ->type_name("FILE")
            ->required();
        app.add_option("--scores", scores, "file to write the scores of the fitted rows to, .csv or .npy")
            ->type_name("FILE");
        add_format_to(app, format);
        app.add_option("--landmarks", landmarks, "row numbers from 0 (i8) or points: a .npy file")->type_name("FILE");
        app.add_option("--weights", weights,
                       "weights, one number >= 0 for each row: a .npy file, or a column of the CSV file")
            ->type_name("FILE|COLUMN");
        data.add_labels_to(app);
        data.add_ids_to(app);
        app.add_option("--checkpoint", checkpoint,
                       "save the state of the fit there from time to time; resume from it if it exists")
            ->type_name("FILE");
        app.add_flag("--json", json, "print the model's report as JSON");
        run.add_to(app);
    }

    void verify() const {
        if (is_stream(data.path) + is_stream(landmarks) + is_stream(weights) > 1)
            throw Failure(MERCER_E_ARGUMENT,
                          "only one of DATA, --landmarks and --weights can be read from standard input");
        if (is_stdout(output) + is_stdout(scores) + json > 1)
            throw Failure(MERCER_E_ARGUMENT, "only one of -o -, --scores - and --json can write to standard output");
        check_ending("-o", output, {".safetensors"}, true, ", as models do");
        form_of("--scores", scores, format);
        if (!scores.empty() && scores == output && !is_stdout(scores))
            throw Failure(MERCER_E_ARGUMENT, "-o and --scores name the same file " + output);
        for (const std::string &input : {data.path, landmarks, weights, checkpoint})
            check_apart(output, input), check_apart(scores, input);
        check_writable(output);
        check_writable(scores);
    }

    FILE *report_stream() const { return is_stdout(output) || is_stdout(scores) ? stderr : stdout; }
};

/* A column that the data borrow: array must outlive them. */
void attach(mercer_data *data, const char *what, std::optional<Array> &array) {
    if (!array) return;
    const mercer_view view = array->view();
    check(mercer_data_attach(data, what, &view));
}

double size_of(const std::optional<Array> &array) { return array ? static_cast<double>(array->bytes.size()) : 0; }

std::optional<mercer_forecast> forecast_of(mercer_recipe *recipe, mercer_data *data, const mercer_run *run) {
    auto forecast = sized<mercer_forecast>();
    if (mercer_recipe_forecast(recipe, data, run, &forecast) != MERCER_OK)
        return std::nullopt; // the fit itself will say why
    return forecast;
}

void report(const Options &options, mercer_model *model, const std::optional<mercer_forecast> &forecast,
            double seconds) {
    if (options.json) {
        std::printf("%s\n", fact_of(model, "").c_str());
        return;
    }
    FILE *stream = options.report_stream();
    print_headline(stream, model);
    std::fputc('\n', stream);
    print_importance(stream, importance_of(model));
    print_costs(stream, model, forecast, seconds);
    std::fputc('\n', stream);
    for (const auto &path : {options.output, options.scores})
        if (!path.empty() && !is_stdout(path)) std::fprintf(stream, "wrote %s\n", path.c_str());
}

} // namespace

void fit(mercer_context *context, const Words &words) {
    Options options;
    Arguments line("fit", "Fits a model to data and writes it to a file.", words);
    options.add_to(line.app());
    const Recipe recipe = recipe_of_method(line, context, options.method);
    line.parse();
    options.verify();
    line.apply(recipe.get());

    const Run run(options.run, options.checkpoint.empty() ? nullptr : options.checkpoint.c_str());
    std::optional<Array> landmarks, weights;
    if (!options.landmarks.empty()) landmarks = read_npy(options.landmarks);
    if (is_stream(options.weights) || std::filesystem::exists(options.weights))
        weights = read_npy(options.weights).as_f64();
    else
        options.data.weights = options.weights;
    const mercer_run beside = run_beside(*run.get(), size_of(landmarks) + size_of(weights), "landmarks and weights");
    const InputData data(context, options.data, &beside);
    attach(data.get(), "landmarks", landmarks);
    attach(data.get(), "weights", weights);
    const auto forecast = options.json ? std::nullopt : forecast_of(recipe.get(), data.get(), &beside);

    const auto start = std::chrono::steady_clock::now();
    const Model model = make<Model>(mercer_model_fit, recipe.get(), data.get(), &beside);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    write_model(model.get(), options.output);
    if (!options.scores.empty())
        write_outputs(model.get(), nullptr, data.get(), options.scores,
                      form_of("--scores", options.scores, options.format), &beside);
    const bool converged = fact_of(model.get(), "/outcome").find("not_converged") == std::string::npos;
    if (converged && fact_of(model.get(), "/checkpointed") == "true")
        std::remove(options.checkpoint.c_str()); // the model is safe
    clear_progress();
    report(options, model.get(), forecast, seconds);
    warn_of_outcome(model.get());
}

} // namespace cli
