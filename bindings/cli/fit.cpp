#include "commands.h"
#include "files.h"
#include "report.h"
#include "run.h"
#include "training.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace cli {

namespace {

void verify(const TrainingOptions &options) {
    options.verify_inputs();
    const std::string &output = options.output, &scores = options.scores;
    if (is_stdout(output) + is_stdout(scores) + options.json > 1)
        throw Failure(MERCER_E_ARGUMENT, "only one of -o -, --scores - and --json can write to standard output");
    check_ending("-o", output, {".safetensors"}, true, ", as models do");
    form_of("--scores", scores, options.format);
    if (!scores.empty() && scores == output && !is_stdout(scores))
        throw Failure(MERCER_E_ARGUMENT, "-o and --scores name the same file " + output);
    for (const std::string &input : {options.data.path, options.landmarks, options.weights, options.checkpoint})
        check_apart(output, input), check_apart(scores, input);
    check_writable(output);
    check_writable(scores);
}

FILE *report_stream(const TrainingOptions &options) {
    return is_stdout(options.output) || is_stdout(options.scores) ? stderr : stdout;
}

std::optional<mercer_forecast> forecast_of(mercer_recipe *recipe, mercer_data *data, const mercer_run *run) {
    auto forecast = sized<mercer_forecast>();
    if (mercer_recipe_forecast(recipe, data, run, &forecast) != MERCER_OK)
        return std::nullopt; // the fit itself will report the reason
    return forecast;
}

// Returns the flag that requests the next level of certificates above the recipe's level; "" if
// there is none.
std::string more_evidence(mercer_recipe *recipe) {
    for (const Row &row : rows_of(recipe)) {
        if (row.name != "report.certificates") continue;
        const auto at = std::find(row.choices.begin(), row.choices.end(), value_of(recipe, row.name));
        if (row.choices.end() - at > 1) return flag_of(row.name) + " " + at[1];
    }
    return "";
}

void report(const TrainingOptions &options, mercer_recipe *recipe, mercer_model *model,
            const std::optional<mercer_forecast> &forecast, double seconds) {
    if (options.json) {
        std::printf("%s\n", fact_of(model, "").c_str());
        return;
    }
    FILE *stream = report_stream(options);
    print_headline(stream, model);
    std::fputc('\n', stream);
    print_importance(stream, importance_of(model));
    print_accuracy(stream, model, more_evidence(recipe));
    print_costs(stream, model, forecast, seconds);
    std::fputc('\n', stream);
    for (const auto &path : {options.output, options.scores})
        if (!path.empty() && !is_stdout(path)) std::fprintf(stream, "wrote %s\n", path.c_str());
}

// Fits a model. If the fit is interrupted and has left a checkpoint, the failure says how to
// resume.
Model fitted(mercer_recipe *recipe, const TrainingData &data, const std::string &checkpoint) {
    try {
        return make<Model>(mercer_model_fit, recipe, data.get(), data.run());
    } catch (const Failure &failure) {
        if (failure.code != MERCER_E_CANCELLED || checkpoint.empty() || !std::filesystem::exists(checkpoint)) throw;
        throw Failure(failure.code, std::string(failure.what()) + "; the same command resumes from " + checkpoint);
    }
}

} // namespace

void fit(mercer_context *context, const Words &words) {
    TrainingOptions options;
    Arguments line("fit", "Fits a model to data and writes it to a file.", words);
    options.add_to(line.app());
    const Recipe recipe = recipe_of_method(line, context, options.method);
    line.parse();
    verify(options);
    line.apply(recipe.get());

    const Run run(options.run, options.checkpoint.empty() ? nullptr : options.checkpoint.c_str());
    const TrainingData data(context, options, run.get());
    const auto forecast = options.json ? std::nullopt : forecast_of(recipe.get(), data.get(), data.run());

    const auto start = std::chrono::steady_clock::now();
    const Model model = fitted(recipe.get(), data, options.checkpoint);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    write_model(model.get(), options.output);
    if (!options.scores.empty())
        write_outputs(model.get(), nullptr, data.get(), options.scores,
                      form_of("--scores", options.scores, options.format), data.run());
    const bool converged = fact_of(model.get(), "/outcome").find("not_converged") == std::string::npos;
    if (converged && fact_of(model.get(), "/checkpointed") == "true")
        std::remove(options.checkpoint.c_str()); // no longer needed: the model is written
    clear_progress();
    report(options, recipe.get(), model.get(), forecast, seconds);
    warn_of_outcome(model.get());
}

} // namespace cli
