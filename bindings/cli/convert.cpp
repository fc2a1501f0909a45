#include "commands.h"
#include "files.h"
#include "json.h"
#include "report.h"

#include <filesystem>

namespace cli {

namespace {

// A tensor in the list of the model's report.
struct Listed {
    std::string name;
    bool flat; // whether it has one dimension, not two
};

std::vector<Listed> tensors_of(mercer_model *model) {
    std::vector<Listed> out;
    for (const json::Value &tensor : json::parse(fact_of(model, "/tensors")).members)
        for (const json::Value &member : tensor.members)
            if (member.name == "shape") out.push_back({tensor.name, member.members.size() == 1});
    return out;
}

std::string values_json(const Array &array, bool flat) {
    std::vector<std::string> rows;
    for (int64_t i = 0; i < array.rows; ++i) {
        std::vector<std::string> row;
        for (int64_t j = 0; j < array.cols; ++j) row.push_back(json::number(array.at(i, j)));
        rows.push_back(flat ? row[0] : json::array(row));
    }
    return json::array(rows);
}

void write_text(const std::string &path, const std::string &text) {
    OutputFile file(path);
    file.write(text.data(), text.size());
    file.commit();
}

// Writes the report as JSON, with the arrays themselves in a member "values".
void to_json(mercer_model *model, const std::string &path) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto &[name, flat] : tensors_of(model))
        values.emplace_back(name, values_json(tensor_of(model, name), flat));
    std::string text = fact_of(model, "");
    text.resize(text.rfind('}'));
    write_text(path, text + ", \"values\": " + json::object(values) + "}\n");
}

// Writes NAME.npy for each tensor and, last, the report as model.json.
void to_folder(mercer_model *model, const std::string &folder) {
    std::error_code error;
    if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder, error))
        throw Failure(MERCER_E_IO, folder + " exists already, and is not an empty folder");
    std::filesystem::create_directory(folder, error);
    if (error) throw Failure(MERCER_E_IO, folder + ": " + error.message());
    for (const auto &[name, flat] : tensors_of(model))
        write_npy(folder + "/" + name + ".npy", tensor_of(model, name), flat);
    write_text(folder + "/model.json", fact_of(model, "") + "\n");
}

} // namespace

void convert(mercer_context *context, const Words &words) {
    std::string path, output;
    bool as_json = false;
    Arguments line("convert",
                   "Writes a model as one JSON file, or as a folder with its arrays as .npy files and its report.",
                   words);
    line.app().add_option("MODEL", path, "model file; - for standard input")->type_name("FILE")->required();
    line.app()
        .add_option("-o,--output", output, "F.json, - for JSON on standard output, or a new folder for .npy files")
        ->type_name("FILE|FOLDER")
        ->required();
    line.app().add_flag("--json", as_json, "print a description of the output as JSON");
    line.parse();

    if (is_stdout(output) && as_json) throw Failure(MERCER_E_ARGUMENT, "--json and -o - both write to standard output");
    check_apart(output, path);
    const bool is_folder = output.ends_with('/') || std::filesystem::is_directory(output);
    if (!is_folder) check_ending("-o", output, {".json"}, true, " or, for a folder with a dot in its name, in /");
    const Model model = read_model(context, path);
    if (!is_folder && (is_stdout(output) || is_device(output) || ending_of(output) == ".json"))
        to_json(model.get(), output);
    else
        to_folder(model.get(), output);
    std::vector<std::string> names;
    for (const Listed &tensor : tensors_of(model.get())) names.push_back(json::text(tensor.name));
    if (as_json)
        std::printf("%s\n", json::object({{"path", json::text(output)}, {"tensors", json::array(names)}}).c_str());
}

} // namespace cli
