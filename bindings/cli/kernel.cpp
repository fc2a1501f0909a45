#include "commands.h"
#include "files.h"
#include "input.h"
#include "json.h"
#include "run.h"

#include <optional>

namespace cli {

namespace {

struct Options {
    InputOptions data;
    std::string other, output, format;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        data.add_to(app);
        app.add_option(
               "OTHER", other,
               "second data file, with the same columns: its rows become the columns of the matrix (default: DATA)")
            ->type_name("FILE");
        app.add_option("-o,--output", output, "file to write the matrix to, .csv or .npy; - for standard output")
            ->type_name("FILE")
            ->required();
        add_format_to(app, format);
        app.add_flag("--json", json, "print a description of the output as JSON");
        run.add_to(app);
    }

    void verify() const {
        if (is_stream(data.path) && is_stream(other))
            throw Failure(MERCER_E_ARGUMENT, "only one of DATA and OTHER can be read from standard input");
        if (is_stdout(output) && json)
            throw Failure(MERCER_E_ARGUMENT, "--json and -o - both write to standard output");
        form_of("-o", output, format);
        for (const std::string &input : {data.path, other}) check_apart(output, input);
        check_writable(output);
    }
};

// The type of the matrix: that of the recipe's data.dtype if it names one, otherwise that of the
// data.
int32_t dtype_of(mercer_recipe *recipe, const mercer_data_facts &facts) {
    const std::string asked = value_of(recipe, "data.dtype");
    return asked == "f32" ? MERCER_F32 : asked == "f64" ? MERCER_F64 : facts.dtype;
}

bool says_what_values_are(const Row &row) {
    return row.name.starts_with("kernel") || row.name.starts_with("data.") || row.name == "seed";
}

} // namespace

void kernel(mercer_context *context, const Words &words) {
    Options options;
    Arguments line("kernel",
                   "Writes the matrix of kernel values between rows; columns are scaled, and the bandwidth is "
                   "computed, as in a fit on DATA.",
                   words);
    options.add_to(line.app());
    const Recipe recipe = line.recipe(context, "methods", "kpca", says_what_values_are);
    line.parse();
    options.verify();
    line.apply(recipe.get());

    const Run run(options.run);
    const InputData data(context, options.data, run.get());
    std::optional<InputData> other;
    InputOptions second = options.data;
    second.path = options.other;
    if (!options.other.empty()) other.emplace(context, second, run.get());
    const mercer_data_facts facts = facts_of(data.get());
    const int32_t dtype = dtype_of(recipe.get(), facts);
    const int64_t cols = other ? facts_of(other->get()).rows : facts.rows;
    const mercer_run beside = run_beside(*run.get(), bytes_like(dtype, facts.rows, cols), "the kernel values");
    Table table;
    table.parts.push_back({"k", array_like(dtype, facts.rows, cols)});
    Array &matrix = table.parts[0].values;
    const mercer_view view = matrix.view();
    check(mercer_recipe_kernel(recipe.get(), data.get(), other ? other->get() : nullptr, &view, &beside));
    write_table(options.output, form_of("-o", options.output, options.format), table);
    if (options.json)
        std::printf("%s\n",
                    json::object({{"path", json::text(options.output)},
                                  {"dtype", json::text(npy_dtype(matrix.dtype))},
                                  {"shape", json::array({std::to_string(matrix.rows), std::to_string(matrix.cols)})}})
                        .c_str());
}

} // namespace cli
