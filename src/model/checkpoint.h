// The checkpoint that an interrupted fit leaves for the next one (checkpoint.cpp).
#pragma once
#include "../host/task.h"
#include "model.h"

namespace mercer {

class Checkpoint : public Keeper {
  public:
    // Reads the file at path if it exists. Fails with E_VALUE, naming the differences, if the
    // checkpoint belongs to a fit with another identity (an object of plain values); with E_MODEL
    // if the file is damaged, E_BUDGET if its contents do not fit in the budget, and E_IO if path
    // cannot be written to.
    Checkpoint(Run &run, std::string path, Json identity);

    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;

    // The part of the file that belongs to the host. said() returns what the host stored in the
    // file, or null if there is no file. say is called before each write: it fills in the host's
    // numbers and may add tensors, whose names must not begin with "solver.".
    const Json &said() const { return said_; }
    const Tensor *tensor(const std::string &name) const;
    std::function<void(Json &said, std::map<std::string, TensorView> &tensors)> say;

  private:
    using Clock = std::chrono::steady_clock;
    Run &run_;
    std::string path_;
    Json identity_, said_;
    SafetensorsFile file_;
    Clock::time_point written_{};
    double cost_ = -1;     // seconds of the last write; negative: no write yet
    bool failing_ = false; // the last write failed, and a warning was logged
};

} // namespace mercer
