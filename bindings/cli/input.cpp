#include "input.h"
#include "files.h"
#include "json.h"
#include "report.h"
#include "run.h"

#include <algorithm>
#include <array>
#include <unistd.h>

namespace cli {

namespace {

// mercer.h's name for kernels that the library does not compute itself.
constexpr const char *kernel_of_values = "user";

char separator_of(const std::string &text) {
    static constexpr std::array<std::pair<const char *, char>, 5> names = {
        {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"blank", ' '}, {"bar", '|'}}};
    for (const auto &[name, character] : names)
        if (text == name || text == std::string(1, character)) return character;
    if (text.empty()) return '\0';
    throw Failure(MERCER_E_VALUE, "--separator = " + text + ", must be one of comma, semicolon, tab, blank, bar");
}

// Whether a file is an .npy file. False if it cannot be read: the code that opens it later reports
// the reason.
bool is_npy(const std::string &path) {
    constexpr size_t enough = 16;
    try {
        return path.ends_with(".npy") || begins_as_npy(read_file(path, enough));
    } catch (const Failure &) {
        return false;
    }
}

const char *or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

} // namespace

void InputOptions::add_to(CLI::App &app) {
    constexpr const char *group = "Data";
    app.add_option("DATA", path, "data file, .csv or .npy; - for standard input")->type_name("FILE")->required();
    app.add_option("--columns", columns,
                   "columns of the CSV file to use, by name or by number from 0 (default: all columns of numbers)")
        ->type_name("NAME,...")
        ->group(group);
    app.add_option("--separator", separator, "separator of the CSV file (default: detected)")
        ->type_name("comma|semicolon|tab|blank|bar")
        ->group(group);
    one_of(app.add_option("--header", header,
                          "whether the first line of the CSV file contains names (default: if it contains no number)"),
           {"yes", "no"})
        ->group(group);
    one_of(app.add_option("--precomputed", precomputed,
                          "the file contains a value for each pair of objects instead of rows"),
           {"kernel", "distances"})
        ->group(group);
}

void InputOptions::add_labels_to(CLI::App &app) {
    app.add_option("--labels", labels, "a column of the CSV file with a class or value per row; the fit ignores it")
        ->type_name("COLUMN");
}

void InputOptions::add_ids_to(CLI::App &app) {
    app.add_option("--id", ids,
                   "a column of the CSV file that identifies the rows: the fit ignores it, output files repeat it")
        ->type_name("COLUMN");
}

void InputData::open(mercer_context *context, const std::string &path, const InputOptions &options) {
    auto file = sized<mercer_file>();
    file.separator = separator_of(options.separator);
    file.header = options.header.empty() ? 0 : options.header == "yes" ? 1 : -1;
    file.values = options.precomputed.empty() ? 0 : options.precomputed == "kernel" ? MERCER_KERNEL : MERCER_DISTANCE;
    file.labels = or_null(options.labels);
    file.weights = or_null(options.weights);
    file.ids = or_null(options.ids);
    file.columns = or_null(options.columns.empty() && !is_npy(path) ? options.expected : options.columns);
    data_ = make<Data>(mercer_data_from_file, context, path.c_str(), &file);
}

InputData::InputData(mercer_context *context, const InputOptions &options, const mercer_run *run) {
    if (kind_of_file(options.path) == "a model")
        throw Failure(MERCER_E_DATA, "'" + options.path + "' is a model, not data (model and data swapped?)");
    mercer_run reading = *run;
    reading.checkpoint = nullptr;
    check(mercer_context_set_run(context, &reading));
    if (!is_stream(options.path) && !is_pipe(options.path)) {
        open(context, options.path, options);
        return;
    }
    descriptor_ = spool(options.path);
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
    call_in_messages(path, is_stream(options.path) ? "standard input" : options.path);
    try {
        open(context, path, options);
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

InputData::~InputData() {
    data_.reset();
    if (descriptor_ >= 0) ::close(descriptor_);
}

mercer_data_facts facts_of(mercer_data *data) {
    auto facts = sized<mercer_data_facts>();
    check(mercer_data_inspect(data, &facts));
    return facts;
}

Array array_of(mercer_data *data, int32_t dtype, const mercer_run *run) {
    const mercer_data_facts facts = facts_of(data);
    const mercer_run beside = run_beside(*run, bytes_like(dtype, facts.rows, facts.cols), "the values of a file");
    Array array = array_like(dtype, facts.rows, facts.cols);
    const mercer_view view = array.view();
    check(mercer_data_read(data, &view, &beside));
    return array;
}

Recipe recipe_of_method(Arguments &line, mercer_context *context, const std::string &method) {
    const std::string asked = line.peek("method");
    if (line.peek("precomputed") == "kernel" && line.peek("kernel").empty())
        line.append({"--kernel", kernel_of_values});
    return line.recipe(context, "methods", asked.empty() ? method : asked);
}

std::string columns_of(mercer_model *model) {
    std::string out;
    const std::string names = fact_of(model, "/columns");
    if (names.empty()) return out;
    for (const json::Value &name : json::parse(names).members) {
        std::string quoted = "\"";
        for (const char c : name.text) quoted += c == '"' ? "\"\"" : std::string(1, c);
        out += (out.empty() ? "" : ",") + quoted + "\"";
    }
    return out;
}

} // namespace cli
