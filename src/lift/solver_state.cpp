// The tensors of the state: `state` has the solver's numbers; `columns.K` has the columns of range
// K, in the type in which the blocks store them. Columns are written straight from the blocks,
// without a copy.
#include "solver_state.h"

#include <cstring>

namespace mercer {
namespace {

std::string name_of(int64_t range) { return "columns." + std::to_string(range); }

TensorView view_of(int32_t dtype, int64_t rows, int64_t cols, const void *data) {
    TensorView out;
    out.dtype = dtype, out.rows = rows, out.cols = cols, out.vector = cols == 1, out.data = data;
    out.bytes = rows * cols * dtype_size(dtype);
    return out;
}

// Returns the block of these columns, prepared so that their bytes lie one column after the other,
// as in the tensor.
Block &block_of(const Columns &columns) {
    columns.block->use(columns.first, columns.count);
    return *columns.block;
}

} // namespace

SolverState::SolverState(Checkpoint &checkpoint) : checkpoint_(checkpoint), section_(checkpoint.add("solver", *this)) {}

void SolverState::save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    const Saved saved{numbers, count, columns, ranges};
    saved_ = &saved;
    checkpoint_.save();
    saved_ = nullptr;
}

void SolverState::store(Json &, TensorViews &tensors) const {
    // Another part of the fit saves the checkpoint. If the solver has not resumed yet, its state is
    // still that of the earlier run, which must not be lost.
    if (!saved_) {
        tensors.insert(earlier_.begin(), earlier_.end());
        return;
    }
    tensors["state"] = view_of(MERCER_F64, saved_->count, 1, saved_->numbers);
    for (int64_t k = 0; k < saved_->ranges; ++k) {
        const Columns &columns = saved_->columns[k];
        const Block &block = block_of(columns);
        tensors[name_of(k)] = view_of(block.f32() ? MERCER_F32 : MERCER_F64, columns.count, block.n(),
                                      columns.block->bytes(columns.first));
    }
}

void SolverState::restore(const Json &, std::map<std::string, Tensor> tensors) { earlier_ = std::move(tensors); }

bool SolverState::resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    if (!earlier_.count("state")) return false;
    auto tensor = [&](const std::string &name, int32_t dtype, int64_t rows,
                      int64_t cols) -> const Buffer<unsigned char> & {
        const auto found = earlier_.find(name);
        if (found == earlier_.end() || found->second.dtype != dtype || found->second.rows != rows ||
            found->second.cols != cols)
            fail(MERCER_E_MODEL, "the checkpoint does not contain the state of this solver");
        return found->second.bytes;
    };
    std::memcpy(numbers, tensor("state", MERCER_F64, count, 1).data(), static_cast<size_t>(8 * count));
    for (int64_t k = 0; k < ranges; ++k) {
        Block &block = block_of(columns[k]);
        const std::string name = name_of(k);
        const auto &bytes = tensor(name, block.f32() ? MERCER_F32 : MERCER_F64, columns[k].count, block.n());
        std::memcpy(block.bytes(columns[k].first), bytes.data(), static_cast<size_t>(bytes.size()));
        earlier_.erase(name);
    }
    if (ranges > 0) earlier_.clear();
    return true;
}

} // namespace mercer
