// The state of a solver plugin in a checkpoint: the numbers and columns that it passes to the
// service `checkpoint` (plugin.h).
#pragma once
#include "../core/block.h"
#include "../host/problem.h"
#include "../model/checkpoint.h"

namespace mercer {

class SolverState : public Keeper, private CheckpointState {
  public:
    explicit SolverState(Checkpoint &checkpoint);
    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    // Copies the state of an earlier run to the arguments; returns false if there is none. Once the
    // columns have been copied, the state is dropped, so that only the first solve of a run
    // continues from it.
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;

  private:
    void store(Json &values, TensorViews &tensors) const override;
    void restore(const Json &values, std::map<std::string, Tensor> tensors) override;

    struct Saved { // the arguments of save(); the solver's arrays are used until the file is written
        const double *numbers;
        int64_t count;
        const Columns *columns;
        int64_t ranges;
    };
    Checkpoint &checkpoint_;
    const Saved *saved_ = nullptr;          // nullptr unless save() is running
    std::map<std::string, Tensor> earlier_; // the state that an earlier run has saved, until it is resumed
    Checkpoint::Section section_;
};

} // namespace mercer
