// The state of a solver plugin in a checkpoint: the numbers and columns that it passes to the service
// `checkpoint` (plugin.h).
#pragma once
#include "../core/block.h"
#include "../host/problem.h"
#include "../model/checkpoint.h"

namespace mercer {

class SolverState : public Keeper, private CheckpointState {
  public:
    explicit SolverState(Checkpoint &checkpoint);
    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    // Only the first solve of a run continues from the state of an earlier run: once its columns have
    // been returned, the state is gone.
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;

  private:
    void store(Json &values, TensorViews &tensors) const override;
    void restore(const Json &values, std::map<std::string, Tensor> tensors) override;

    struct Saved { // what the solver passed to save(); borrowed from it until the file is written
        const double *numbers;
        int64_t count;
        const Columns *columns;
        int64_t ranges;
    };
    Checkpoint &checkpoint_;
    const Saved *saved_ = nullptr;
    std::map<std::string, Tensor> earlier_; // of an earlier run
    Checkpoint::Section section_;
};

} // namespace mercer
