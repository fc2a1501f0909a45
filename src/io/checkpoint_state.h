// State of a job that a checkpoint can store, so that a later run of the same job continues from
// it: for instance the state of a solver or of a lift. The owner of such state implements this
// interface and registers it with the job's checkpoint (model/checkpoint.h).
#pragma once
#include "../core/json.h"
#include "safetensors.h"

namespace mercer {

using TensorViews = std::map<std::string, TensorView>;

class CheckpointState {
  public:
    virtual ~CheckpointState() = default;
    // Returns what the state depends on besides the job itself, as an object of plain values. A
    // later run restores the state only if its own identity() gives the same values.
    virtual Json identity() const { return Json::object(); }
    // Adds the state to `values`, an empty object, and to `tensors`, which is empty, too. The
    // memory of the tensors must stay unchanged until the file is written. The file replaces the
    // one before, so the whole state must be stored, not only what has changed.
    virtual void store(Json &values, TensorViews &tensors) const = 0;
    // Restores what store() gave in an earlier run. Fails with E_MODEL if something is missing or
    // has the wrong type or size. It may let exceptions of Json through, which the caller turns
    // into E_MODEL.
    virtual void restore(const Json &values, std::map<std::string, Tensor> tensors) = 0;
};

} // namespace mercer
