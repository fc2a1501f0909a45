// Safetensors: the length of the header in 8 bytes, the header in JSON, raw tensors. The writer
// puts the model's JSON text in the header's __metadata__, with the CRC-32 (zlib) of each tensor
// and of the header itself. The CRC-32 of the header is computed with zeros in place of its own
// digits. The reader trusts nothing: tensors must leave no gaps and not overlap, header and tensors
// must fill the file, products of sizes are checked for overflow, and every CRC is checked.
#pragma once
#include "../core/memory.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mercer {

// A tensor of one or two dimensions in C order, which owns its bytes.
struct Tensor {
    int32_t dtype = 0; // MERCER_F32, MERCER_F64, MERCER_I64
    int64_t rows = 0, cols = 1;
    bool vector = false; // its shape in the file has one dimension
    Buffer<unsigned char> bytes;
};
int64_t dtype_size(int32_t dtype);

// A tensor to be written; it does not own its bytes.
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

// Returns true if the name has 1 to 128 printable ASCII characters without blanks, quotes and
// backslashes, and is not __metadata__. Such a name needs no escapes in JSON, and messages show it
// unchanged.
bool is_tensor_name(std::string_view name);

using ByteSink = std::function<void(const void *bytes, int64_t count)>;
// Reads up to capacity bytes and returns their number; 0 is the end.
using ByteSource = std::function<int64_t(void *bytes, int64_t capacity)>;

// Writes tensors in the order of their names, but those with entries of 8 bytes first, so that all
// are aligned. The same model gives the same bytes. Names must satisfy is_tensor_name.
void write_safetensors(const ByteSink &sink, const std::string &metadata_json,
                       const std::map<std::string, TensorView> &tensors);

// Returns the CRC of the header that write_safetensors would write, 8 hexadecimal digits. It covers
// the tensors through their own CRCs, which the header contains.
std::string safetensors_digest(const std::string &metadata_json, const std::map<std::string, TensorView> &tensors);

// Returns the CRC-32 (zlib) of bytes that follow other bytes, whose CRC-32 is `before`.
uint32_t crc_of(const void *bytes, int64_t count, uint32_t before = 0);

struct SafetensorsFile {
    std::string metadata_json;
    std::map<std::string, Tensor> tensors;
};
// Reads a file or a stream. `what` is its name for messages ("model.safetensors"); E_MODEL names
// the header or the tensor that is damaged. accept receives the JSON text before any tensor is
// read, and throws to refuse it.
// Declared sizes are trusted only as far as bytes arrive. A header that declares more than
// known_size bytes is refused; -1 means that the size is unknown. A stream is read tensor by
// tensor, in pieces, so that a false length cannot allocate more than 64 MiB ahead of the data. If
// a tensor has no entries, no byte of the file confirms its declared shape; more than 2^31 - 1 rows
// or columns are then refused.
SafetensorsFile read_safetensors(const ByteSource &source, int64_t known_size, const std::string &what,
                                 const std::function<void(const std::string &metadata_json)> &accept = nullptr);

} // namespace mercer
