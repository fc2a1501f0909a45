// Safetensors: 8 bytes length, JSON header, raw tensors. Written with the model's JSON text in __metadata__, and a
// CRC-32 (zlib) of each tensor and of the header with that field zeroed. The reader trusts nothing: no holes, no
// overlap, total equal to the file's size, checked products, every CRC.
#pragma once
#include "../core/memory.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

// A tensor of one or two dimensions in C order. Owns its bytes.
struct Tensor {
    int32_t dtype = 0; // MERCER_F32, MERCER_F64, MERCER_I64
    int64_t rows = 0, cols = 1;
    bool vector = false; // written with one dimension
    Buffer<unsigned char> bytes;
};
int64_t dtype_size(int32_t dtype);

// What is written: someone else's bytes.
struct TensorView {
    int32_t dtype = 0;
    int64_t rows = 0, cols = 1;
    bool vector = false;
    const void *data = nullptr;
    int64_t bytes = 0;
    TensorView() = default;
    TensorView(const Tensor &t)
        : dtype(t.dtype), rows(t.rows), cols(t.cols), vector(t.vector), data(t.bytes.data()), bytes(t.bytes.size()) {}
};

// Printable ASCII without blank, quotes and backslash: needs no escapes in JSON, and messages show it as it is.
bool is_tensor_name(std::string_view name);

using ByteSink = std::function<void(const void *bytes, int64_t count)>;
// Up to capacity bytes; 0 is the end.
using ByteSource = std::function<int64_t(void *bytes, int64_t capacity)>;

// Tensors are written by name, those with entries of 8 bytes first, so that all are aligned; the same model gives the
// same bytes. Names are printable ASCII without blanks, quotes and '\'.
void write_safetensors(const ByteSink &sink, const std::string &metadata_json,
                       const std::map<std::string, TensorView> &tensors);

// CRC-32 (zlib) of what comes after `before`.
uint32_t crc_of(const void *bytes, int64_t count, uint32_t before = 0);

struct SafetensorsFile {
    std::string metadata_json;
    std::map<std::string, Tensor> tensors;
};
// what: the file's name for messages ("model.safetensors"). E_MODEL names the header or the tensor that is damaged.
// Sizes are believed only as far as bytes arrive: a header that promises more than `known_size` (or -1) is refused, and
// a stream is read tensor by tensor, in pieces, so that a false length cannot allocate more than 64 MiB ahead of the
// data. Sides of a tensor without entries are at most 2^31 - 1, but otherwise nothing vouches for them. accept sees the text
// before any tensor is read, and throws to refuse it.
SafetensorsFile read_safetensors(const ByteSource &source, int64_t known_size, const std::string &what,
                                 const std::function<void(const std::string &metadata_json)> &accept = nullptr);

} // namespace mercer
