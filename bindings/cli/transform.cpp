#include "commands.h"
#include "csv.h"
#include "files.h"
#include "input.h"
#include "json.h"
#include "npy.h"
#include "report.h"
#include "run.h"

#include <chrono>

namespace cli {

namespace {

constexpr const char *default_operation = "scores"; // what NULL means in mercer.h

struct Options {
    InputOptions data;
    std::string model, output, what = default_operation;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        app.add_option("MODEL", model, "the model's file; - for standard input")->type_name("FILE")->required();
        data.add_to(app);
        app.add_option("-o,--output", output, "where the array goes, .csv or .npy; - for standard output")
            ->type_name("FILE")
            ->required();
        app.add_option("--what", what, "the operation, see `mercer methods operations`")
            ->type_name("OPERATION")
            ->capture_default_str();
        app.add_flag("--json", json, "print what was written as JSON");
        run.add_to(app);
    }

    void verify() const {
        if (is_stream(model) && is_stream(data.path))
            throw Failure(MERCER_E_ARGUMENT, "model and data cannot both come from standard input");
        if (is_stream(output) && json) throw Failure(MERCER_E_ARGUMENT, "--json and -o - both want standard output");
        check_apart(output, data.path), check_apart(output, model);
        check_writable(output);
    }
};

/* Z.npy for the first output, Z.NAME.npy for another; the same with .csv. */
std::string path_of(const std::string &path, const std::string &name, size_t index) {
    if (index == 0 || is_stream(path)) return path;
    const size_t ending = path.ends_with(".npy") || is_csv_path(path) ? path.size() - 4 : path.size();
    return path.substr(0, ending) + "." + name + path.substr(ending);
}

std::vector<mercer_output> outputs_of(mercer_model *model, mercer_recipe *what, mercer_data *data) {
    std::vector<mercer_output> outputs;
    for (int64_t index = 0, count = 1; index < count; ++index) {
        outputs.push_back(sized<mercer_output>());
        check(mercer_model_output(model, what, data, index, &outputs.back(), &count));
    }
    return outputs;
}

} // namespace

std::vector<Output> apply(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_run *run) {
    const std::vector<mercer_output> shapes = outputs_of(model, what, data);
    double bytes = 0;
    for (const mercer_output &shape : shapes) bytes += bytes_like(shape.dtype, shape.rows, shape.cols);
    const mercer_run beside = run_beside(*run, bytes, std::string("the ") + shapes[0].name);
    std::vector<Output> outputs;
    for (const mercer_output &output : shapes)
        outputs.push_back({output.name, array_like(output.dtype, output.rows, output.cols)});
    std::vector<mercer_view> views;
    for (Output &output : outputs) views.push_back(output.values.view());
    check(mercer_model_transform(model, what, data, views.data(), static_cast<int64_t>(views.size()), &beside));
    return outputs;
}

std::vector<std::string> write_outputs(mercer_model *model, mercer_recipe *what, mercer_data *data,
                                       const std::string &path, const mercer_run *run) {
    std::vector<std::string> written;
    for (const auto &[name, values] : apply(model, what, data, run)) {
        const std::string file = path_of(path, name, written.size());
        is_csv_path(file) ? write_csv(file, values, name) : write_npy(file, values);
        written.push_back(
            json::object({{"name", json::text(name)},
                          {"path", json::text(file)},
                          {"dtype", json::text(npy_dtype(values.dtype))},
                          {"shape", json::array({std::to_string(values.rows), std::to_string(values.cols)})}}));
    }
    return written;
}

void transform(mercer_context *context, const Words &words) {
    Options options;
    Arguments line("transform", "Applies a model to data: scores of its components, density, residual, gradients ...",
                   words);
    options.add_to(line.app());
    const std::string what = line.peek("what");
    const Recipe recipe = line.recipe(context, "operations", what.empty() ? default_operation : what);
    line.parse();
    options.verify();
    line.apply(recipe.get());

    const auto start = std::chrono::steady_clock::now();
    const Run run(options.run);
    const Model model = read_model(context, options.model);
    options.data.expected = columns_of(model.get());
    const InputData data(context, options.data, run.get());
    const auto written = write_outputs(model.get(), recipe.get(), data.get(), options.output, run.get());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.json)
        std::printf("%s\n", json::object({{"what", json::text(options.what)},
                                          {"outputs", json::array(written)},
                                          {"seconds", json::number(seconds)}})
                                .c_str());
}

} // namespace cli
