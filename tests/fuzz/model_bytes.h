// Helpers of the targets that read model files: streams of bytes in memory, and the repair of
// checksums.
#pragma once
#include "fuzz.h"
#include "io/safetensors_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace mercer {

using AnyJson = nlohmann::json;

struct Stream {
    const std::string &bytes;
    size_t at = 0;
};
inline int32_t give(void *user, void *to, int64_t capacity, int64_t *count) {
    auto &stream = *static_cast<Stream *>(user);
    const size_t most = std::min(static_cast<size_t>(capacity), stream.bytes.size() - stream.at);
    std::memcpy(to, stream.bytes.data() + stream.at, most);
    stream.at += most;
    *count = static_cast<int64_t>(most);
    return 0;
}
inline int32_t take(void *user, const void *from, int64_t count) {
    static_cast<std::string *>(user)->append(static_cast<const char *>(from), static_cast<size_t>(count));
    return 0;
}

// Writes the right CRC-32 of each tensor, then of the header, if the header has a field for it.
inline std::string repaired(std::string bytes) {
    uint64_t length = 0;
    if (bytes.size() < 8) return bytes;
    std::memcpy(&length, bytes.data(), 8);
    if (length > bytes.size() - 8) return bytes;
    std::string header = bytes.substr(8, length);
    const AnyJson json = AnyJson::parse(header, nullptr, false);
    if (!json.is_object()) return bytes;
    for (const auto &[name, entry] : json.items()) {
        const std::string key = "\"crc32." + name + "\":\"";
        const size_t at = header.find(key);
        if (at == header.npos || at + key.size() + 8 > header.size() || !entry.is_object()) continue;
        const AnyJson offsets = entry.value("data_offsets", AnyJson());
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned())
            continue;
        const uint64_t begin = offsets[0], end = offsets[1], there = bytes.size() - 8 - length;
        if (begin > end || end > there) continue;
        header.replace(
            at + key.size(), 8,
            safetensors::crc_text(crc_of(bytes.data() + 8 + length + begin, static_cast<int64_t>(end - begin))));
    }
    if (header.starts_with(safetensors::opening) && header.size() > safetensors::opening.size() + 8)
        header.replace(safetensors::opening.size(), 8, safetensors::crc_of_header(header));
    return bytes.replace(8, length, header);
}

// Returns the model in these bytes, or nullptr with the status of the refusal.
inline mercer_model *read_bytes(const std::string &bytes, int32_t *status) {
    Stream stream{bytes};
    const mercer_source source{sizeof source, give, &stream};
    mercer_model *model = nullptr;
    *status = mercer_model_read(&model, fuzz_context(), &source);
    FUZZ_NEED((*status == MERCER_OK) == (model != nullptr));
    return model;
}

// Checks that an operation on an accepted model succeeded, or was refused for a reason that it may
// have.
inline void need_status(int32_t status) {
    if (status != MERCER_OK)
        need_refusal(status, {MERCER_E_ARGUMENT, MERCER_E_SHAPE, MERCER_E_VALUE, MERCER_E_DATA, MERCER_E_NUMERICAL,
                              MERCER_E_UNSUPPORTED, MERCER_E_PLUGIN, MERCER_E_BUDGET, MERCER_E_MEMORY});
}

// Checks that the model can be written, and that the bytes can be read again.
inline void need_writable(mercer_model *model) {
    std::string again;
    const mercer_sink sink{sizeof sink, take, &again};
    FUZZ_NEED(mercer_model_write(model, &sink) == MERCER_OK);
    int32_t status = 0;
    mercer_model *copy = read_bytes(again, &status);
    FUZZ_NEED(copy);
    mercer_model_destroy(copy);
}

} // namespace mercer
