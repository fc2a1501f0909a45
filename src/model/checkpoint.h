// The checkpoint that an interrupted fit leaves for the next one (checkpoint.cpp).
#pragma once
#include "../host/task.h"
#include "model.h"

namespace mercer {

class Checkpoint : public Keeper {
  public:
    // Reads path if it is there. E_VALUE unless it is of a fit with this very identity (an object of plain values), naming
    // what differs; E_MODEL where it is damaged, E_BUDGET where it holds too much, E_IO where path cannot be written to.
    Checkpoint(Run &run, std::string path, Json identity);

    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;

    // The host's own part. said: what the file holds, null where there is none; say: asked at each write, adds what goes
    // with the solver's state and must not be named "solver.".
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
