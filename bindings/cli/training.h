#ifndef MERCER_CLI_TRAINING_H
#define MERCER_CLI_TRAINING_H

#include "input.h"
#include "npy.h"

#include <optional>
#include <string>

namespace cli {

// The flags of `fit`. `forecast` takes the same flags, so a command line of one is valid for the
// other.
struct TrainingOptions {
    InputOptions data;
    std::string method = "auto", landmarks, weights;
    std::string output, scores, format, checkpoint; // what a fit writes; a forecast ignores them
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app);
    void verify_inputs() const; // throws if more than one of them is standard input
};

// What a fit reads: the data with their landmarks and weights.
class TrainingData {
  public:
    TrainingData(mercer_context *context, TrainingOptions &options, const mercer_run *run);

    mercer_data *get() const { return data_->get(); }
    // The run for the fit: the memory of landmarks and weights is subtracted from its budget.
    const mercer_run *run() const { return &beside_; }

  private:
    std::optional<Array> landmarks_, weights_; // borrowed by the data
    mercer_run beside_;
    std::optional<InputData> data_;
};

} // namespace cli

#endif
