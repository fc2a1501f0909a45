#include "tensors.h"

namespace mercer {
namespace {

template <class T>
constexpr int32_t dtype_of = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;
template <>
constexpr int32_t dtype_of<int64_t> = MERCER_I64;

} // namespace

template <class T>
Tensor make_tensor(int64_t rows, int64_t cols, bool vector) {
    Tensor tensor;
    tensor.dtype = dtype_of<T>;
    tensor.rows = rows;
    tensor.cols = cols;
    tensor.vector = vector;
    tensor.bytes = Buffer<unsigned char>(checked_bytes("a tensor", rows, cols, sizeof(T)));
    return tensor;
}
template Tensor make_tensor<float>(int64_t, int64_t, bool);
template Tensor make_tensor<double>(int64_t, int64_t, bool);
template Tensor make_tensor<int64_t>(int64_t, int64_t, bool);

const Tensor *variances_of(const Tensors &tensors) {
    auto found = tensors.find("scatter");
    if (found == tensors.end()) found = tensors.find("lambda");
    return found == tensors.end() ? nullptr : &found->second;
}

double entry_of(const Tensor &tensor, int64_t at) {
    return tensor.dtype == MERCER_F32 ? static_cast<double>(tensor_data<float>(tensor)[at])
                                      : tensor_data<double>(tensor)[at];
}

Tensor copy_of(const Tensor &tensor) { return leading_part(tensor, tensor.rows, tensor.cols); }

Tensor leading_part(const Tensor &tensor, int64_t rows, int64_t cols) {
    const int64_t size = tensor.dtype == MERCER_F32 ? 4 : 8;
    Tensor out;
    out.dtype = tensor.dtype, out.rows = rows, out.cols = cols, out.vector = tensor.vector;
    out.bytes = Buffer<unsigned char>(checked_bytes("a tensor", rows, cols, size));
    for (int64_t i = 0; i < rows; ++i)
        std::copy_n(tensor.bytes.data() + i * tensor.cols * size, cols * size, out.bytes.data() + i * cols * size);
    return out;
}

const char *dtype_name(int32_t dtype) { return dtype == MERCER_F32 ? "f32" : dtype == MERCER_F64 ? "f64" : "i64"; }

} // namespace mercer
