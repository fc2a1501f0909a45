// The arrays of a model, by name.
#pragma once
#include "../io/safetensors.h"

#include <algorithm>

namespace mercer {

using Tensors = std::map<std::string, Tensor>;
// The variances of the scores of the rows fitted on: the tensor `scatter` if the model has it,
// otherwise the eigenvalues; nullptr if it has neither.
const Tensor *variances_of(const Tensors &tensors);

// Returns a row-major tensor whose entries are not set. vector: the shape has one dimension; cols
// must then be 1.
template <class T>
Tensor make_tensor(int64_t rows, int64_t cols, bool vector = false);
template <class T>
T *tensor_data(Tensor &tensor) {
    return reinterpret_cast<T *>(tensor.bytes.data());
}
template <class T>
const T *tensor_data(const Tensor &tensor) {
    return reinterpret_cast<const T *>(tensor.bytes.data());
}
template <class Values>
Tensor vector_tensor(const Values &values) {
    Tensor tensor = make_tensor<double>(static_cast<int64_t>(values.size()), 1, true);
    std::copy(values.begin(), values.end(), tensor_data<double>(tensor));
    return tensor;
}

// Entry `at` of a tensor of real numbers.
double entry_of(const Tensor &tensor, int64_t at);
Tensor copy_of(const Tensor &tensor);
// Returns a copy of the first rows and columns.
Tensor leading_part(const Tensor &tensor, int64_t rows, int64_t cols);

const char *dtype_name(int32_t dtype); // "f32", "f64", "i64"

} // namespace mercer
