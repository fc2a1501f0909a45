#include "training.h"
#include "files.h"
#include "run.h"
#include "table.h"

#include <filesystem>

namespace cli {

namespace {

// Attaches an array, if there is one, to the data. They borrow it, so it must outlive them.
void attach(mercer_data *data, const char *what, std::optional<Array> &array) {
    if (!array) return;
    const mercer_view view = array->view();
    check(mercer_data_attach(data, what, &view));
}

InputOptions file_options(const std::string &path) {
    InputOptions options;
    options.path = path;
    return options;
}

// A file of landmarks or weights, and the type and the size that its values will have in memory.
struct Attachment {
    InputData file;
    int32_t dtype;
    double bytes;

    // `wanted` is the type. 0 means the file's own type, but MERCER_I64 if the file has a single
    // column of integers, because these are row numbers.
    Attachment(mercer_context *context, const std::string &path, const mercer_run *run, int32_t wanted)
        : file(context, file_options(path), run), dtype(wanted) {
        const mercer_data_facts facts = facts_of(file.get());
        if (dtype == 0) dtype = facts.integers && facts.cols == 1 ? int32_t{MERCER_I64} : facts.dtype;
        bytes = bytes_like(dtype, facts.rows, facts.cols);
    }
};

} // namespace

void TrainingOptions::add_to(CLI::App &app) {
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
    app.add_option("--landmarks", landmarks,
                   "row numbers from 0 (.npy, one column of integers) or points (.npy or .csv)")
        ->type_name("FILE");
    app.add_option("--weights", weights,
                   "weights, one number >= 0 for each row: a .npy or .csv file, or a column of the CSV file")
        ->type_name("FILE|COLUMN");
    data.add_labels_to(app);
    data.add_ids_to(app);
    app.add_option("--checkpoint", checkpoint,
                   "save the state of the fit there from time to time; resume from it if it exists")
        ->type_name("FILE");
    app.add_flag("--json", json, "print the model's report as JSON");
    run.add_to(app);
}

void TrainingOptions::verify_inputs() const {
    if (is_stream(data.path) + is_stream(landmarks) + is_stream(weights) > 1)
        throw Failure(MERCER_E_ARGUMENT, "only one of DATA, --landmarks and --weights can be read from standard input");
}

TrainingData::TrainingData(mercer_context *context, TrainingOptions &options, const mercer_run *run) {
    std::optional<Attachment> landmarks, weights;
    if (!options.landmarks.empty()) landmarks.emplace(context, options.landmarks, run, 0);
    if (is_stream(options.weights) || std::filesystem::exists(options.weights))
        weights.emplace(context, options.weights, run, MERCER_F64);
    else
        options.data.weights = options.weights;
    beside_ =
        run_beside(*run, (landmarks ? landmarks->bytes : 0) + (weights ? weights->bytes : 0), "landmarks and weights");
    if (landmarks) landmarks_ = array_of(landmarks->file.get(), landmarks->dtype, run);
    if (weights) weights_ = array_of(weights->file.get(), weights->dtype, run);
    data_.emplace(context, options.data, &beside_);
    attach(data_->get(), "landmarks", landmarks_);
    attach(data_->get(), "weights", weights_);
}

} // namespace cli
