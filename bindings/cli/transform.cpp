#include "commands.h"
#include "files.h"
#include "input.h"
#include "json.h"
#include "npy.h"
#include "report.h"
#include "run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace cli {

namespace {

constexpr const char *default_operation = "scores"; // the meaning of a null recipe in mercer.h

struct Options {
    InputOptions data;
    std::string model, output, format, what = default_operation;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        app.add_option("MODEL", model, "model file; - for standard input")->type_name("FILE")->required();
        data.add_to(app);
        data.add_ids_to(app);
        app.add_option("-o,--output", output, "file to write the output to, .csv or .npy; - for standard output")
            ->type_name("FILE")
            ->required();
        add_format_to(app, format);
        app.add_option("--what", what, "operation, or several such as scores,t2; see `mercer methods operations`")
            ->type_name("OPERATION,...")
            ->capture_default_str();
        app.add_flag("--json", json, "print a description of the output as JSON");
        run.add_to(app);
    }

    void verify() const {
        if (is_stream(model) && is_stream(data.path))
            throw Failure(MERCER_E_ARGUMENT, "model and data cannot both be read from standard input");
        if (is_stdout(output) && json)
            throw Failure(MERCER_E_ARGUMENT, "--json and -o - both write to standard output");
        form_of("-o", output, format);
        check_apart(output, data.path), check_apart(output, model);
        check_writable(output);
    }
};

// Adds the ids of the rows, if the data have them. The table borrows their texts from the data.
void add_ids(Table &table, mercer_data *data) {
    const mercer_data_facts facts = facts_of(data);
    if (!facts.ids) return;
    table.ids_name = json::member(json::parse(facts.names), "ids").text;
    const auto is_taken = [&](const Output &part) { return part.name == table.ids_name; };
    if (table.ids_name.find_first_not_of("0123456789") == std::string::npos ||
        std::any_of(table.parts.begin(), table.parts.end(), is_taken))
        // Digits are the number of a column without a name, and a name that an output has would
        // appear twice.
        table.ids_name = "id";
    const char *at = facts.ids;
    for (int64_t i = 0; i < facts.rows; ++i) {
        table.ids.emplace_back(at);
        at += table.ids.back().size() + 1;
    }
}

std::vector<mercer_output> outputs_of(mercer_model *model, mercer_recipe *what, mercer_data *data) {
    std::vector<mercer_output> outputs;
    for (int64_t index = 0, count = 1; index < count; ++index) {
        outputs.push_back(sized<mercer_output>());
        check(mercer_model_output(model, what, data, index, &outputs.back(), &count));
    }
    return outputs;
}

// The number of rows without output. With data.missing = rows, rows with missing values get NaN in
// place of numbers and -1 in place of labels.
int64_t count_left_out(const Table &table) {
    const auto some =
        std::find_if(table.parts.begin(), table.parts.end(), [](const Output &part) { return part.values.cols > 0; });
    int64_t count = 0;
    for (int64_t i = 0; some != table.parts.end() && i < some->values.rows; ++i) {
        const double value = some->values.at(i, 0);
        count += some->values.dtype == MERCER_I64 ? value < 0 : std::isnan(value);
    }
    return count;
}

// A hint for data with more columns than the model: if the columns have names, some may be no data,
// such as ids.
std::string hint_at_columns(mercer_model *model, mercer_data *data) {
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(model, &summary));
    const mercer_data_facts facts = facts_of(data);
    const bool named = !json::member(json::parse(facts.names), "columns").members.empty();
    return named && summary.d > 0 && facts.cols > summary.d
               ? ": name an id column with --id, or choose columns with --columns"
               : "";
}

} // namespace

std::vector<Output> apply(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_run *run) {
    const std::vector<mercer_output> shapes = outputs_of(model, what, data);
    double bytes = 0;
    for (const mercer_output &shape : shapes) bytes += bytes_like(shape.dtype, shape.rows, shape.cols);
    const mercer_run beside =
        run_beside(*run, bytes, std::string("the ") + (shapes.size() == 1 ? shapes[0].name : "outputs"));
    std::vector<Output> outputs;
    for (const mercer_output &output : shapes)
        outputs.push_back({output.name, array_like(output.dtype, output.rows, output.cols)});
    std::vector<mercer_view> views;
    for (Output &output : outputs) views.push_back(output.values.view());
    try {
        check(mercer_model_transform(model, what, data, views.data(), static_cast<int64_t>(views.size()), &beside));
    } catch (const Failure &failure) {
        if (failure.code != MERCER_E_SHAPE) throw;
        throw Failure(failure.code, failure.what() + hint_at_columns(model, data));
    }
    return outputs;
}

Table write_outputs(mercer_model *model, mercer_recipe *what, mercer_data *data, const std::string &path, Form form,
                    const mercer_run *run) {
    Table table;
    table.parts = apply(model, what, data, run);
    add_ids(table, data);
    write_table(path, form, table);
    return table;
}

void transform(mercer_context *context, const Words &words) {
    Options options;
    Arguments line("transform", "Applies a model to data: computes scores, density, residual, gradients ...", words);
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
    const Table written = write_outputs(model.get(), recipe.get(), data.get(), options.output,
                                        form_of("-o", options.output, options.format), run.get());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const int64_t left_out = count_left_out(written), rows = written.parts[0].values.rows;
    clear_progress();
    if (left_out > 0)
        std::fprintf(stderr, "mercer: warning: %lld of %lld rows have no output, because they have missing values\n",
                     static_cast<long long>(left_out), static_cast<long long>(rows));
    if (options.json)
        std::printf("%s\n", json::object({{"what", json::text(options.what)},
                                          {"outputs", json::array(parts_json(options.output, written))},
                                          {"left_out", std::to_string(left_out)},
                                          {"seconds", json::number(seconds)}})
                                .c_str());
}

} // namespace cli
