#include "training.h"
#include "files.h"
#include "run.h"
#include "table.h"

#include <filesystem>

namespace cli {

namespace {

/* A column that the data borrow: array must outlive them. */
void attach(mercer_data *data, const char *what, std::optional<Array> &array) {
    if (!array) return;
    const mercer_view view = array->view();
    check(mercer_data_attach(data, what, &view));
}

double size_of(const std::optional<Array> &array) { return array ? static_cast<double>(array->bytes.size()) : 0; }

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

void TrainingOptions::verify_inputs() const {
    if (is_stream(data.path) + is_stream(landmarks) + is_stream(weights) > 1)
        throw Failure(MERCER_E_ARGUMENT, "only one of DATA, --landmarks and --weights can be read from standard input");
}

TrainingData::TrainingData(mercer_context *context, TrainingOptions &options, const mercer_run *run) {
    if (!options.landmarks.empty()) landmarks_ = read_npy(options.landmarks);
    if (is_stream(options.weights) || std::filesystem::exists(options.weights))
        weights_ = read_npy(options.weights).as_f64();
    else
        options.data.weights = options.weights;
    beside_ = run_beside(*run, size_of(landmarks_) + size_of(weights_), "landmarks and weights");
    data_.emplace(context, options.data, &beside_);
    attach(data_->get(), "landmarks", landmarks_);
    attach(data_->get(), "weights", weights_);
}

} // namespace cli
