#include "../core/json.h"
#include "safetensors_format.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <vector>
#include <zlib.h>

namespace mercer {

uint32_t crc_of(const void *bytes, int64_t count, uint32_t before) {
    return static_cast<uint32_t>(
        crc32_z(before, static_cast<const unsigned char *>(bytes), static_cast<size_t>(count)));
}

namespace safetensors {

std::string crc_text(uint32_t crc) { return format("%08" PRIx32, crc); }

std::string crc_of_header(std::string header) {
    uint64_t length = header.size();
    header.replace(opening.size(), no_digits.size(), no_digits);
    return crc_text(crc_of(header.data(), static_cast<int64_t>(length), crc_of(&length, sizeof length)));
}

} // namespace safetensors

bool is_tensor_name(std::string_view name) {
    return !name.empty() && name.size() <= 128 && name != "__metadata__" &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '\''; });
}

using namespace safetensors;

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

const DtypeName *find_dtype(int32_t dtype) {
    auto found = std::find_if(std::begin(dtypes), std::end(dtypes), [&](auto &row) { return row.dtype == dtype; });
    if (found == std::end(dtypes)) fail(MERCER_E_INTERNAL, "no tensor type %d", dtype);
    return found;
}

using Order = std::vector<std::pair<std::string, TensorView>>;

std::string make_header(const std::string &metadata_json, const Order &order) {
    Json header, metadata;
    metadata["crc32"] = no_digits;
    metadata["format"] = "mercer";
    metadata["mercer"] = metadata_json;
    for (auto &[name, tensor] : order) metadata["crc32." + name] = crc_text(crc_of(tensor.data, tensor.bytes));
    header["__metadata__"] = std::move(metadata);
    int64_t at = 0;
    for (auto &[name, tensor] : order) {
        Json &entry = header[name];
        entry["dtype"] = find_dtype(tensor.dtype)->name;
        entry["shape"] = Json::array({tensor.rows});
        if (!tensor.vector) entry["shape"].push_back(tensor.cols);
        entry["data_offsets"] = Json::array({at, at + tensor.bytes});
        at += tensor.bytes;
    }
    try {
        return header.dump();
    } catch (const Json::type_error &) {
        fail(MERCER_E_MODEL, "the model's text is not UTF-8");
    }
}

} // namespace

int64_t dtype_size(int32_t dtype) { return find_dtype(dtype)->size; }

namespace {

// Returns the header as it is written: with the length in front, padded, and with its own CRC.
std::string complete_header(const std::string &metadata_json, const Order &order) {
    for (auto &[name, tensor] : order)
        if (!is_tensor_name(name) || (tensor.vector && tensor.cols != 1) ||
            tensor.bytes != checked_bytes("a tensor", tensor.rows, tensor.cols, dtype_size(tensor.dtype)))
            fail(MERCER_E_INTERNAL, "tensor '%s' cannot be written: bad name or size", name.c_str());
    std::string header = make_header(metadata_json, order);
    uint64_t padded = (header.size() + 8 + alignment - 1) / alignment * alignment - 8;
    if (padded > longest_header) fail(MERCER_E_MODEL, "the model's text is too long: %zu bytes", header.size());
    header.resize(padded, ' ');
    header.replace(opening.size(), no_digits.size(), crc_of_header(header));
    header.insert(0, reinterpret_cast<const char *>(&padded), sizeof padded);
    return header;
}

Order order_of(const std::map<std::string, TensorView> &tensors) {
    Order order(tensors.begin(), tensors.end());
    std::stable_sort(order.begin(), order.end(),
                     [](auto &a, auto &b) { return dtype_size(a.second.dtype) > dtype_size(b.second.dtype); });
    return order;
}

} // namespace

void write_safetensors(const ByteSink &sink, const std::string &metadata_json,
                       const std::map<std::string, TensorView> &tensors) {
    const Order order = order_of(tensors);
    const std::string header = complete_header(metadata_json, order);
    sink(header.data(), static_cast<int64_t>(header.size()));
    for (auto &[name, tensor] : order)
        if (tensor.bytes > 0) sink(tensor.data, tensor.bytes);
}

std::string safetensors_digest(const std::string &metadata_json, const std::map<std::string, TensorView> &tensors) {
    return complete_header(metadata_json, order_of(tensors)).substr(8 + opening.size(), no_digits.size());
}

} // namespace mercer
