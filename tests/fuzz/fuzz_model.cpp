// A model file, as it is and with its checksums repaired, so that what lies behind them is reached: a model that is accepted
// transforms, tells what it knows, and is written to bytes that are read again.
#include "fuzz.h"
#include "io/safetensors_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace mercer;
using Json = nlohmann::json;

namespace {

struct Stream {
    const std::string &bytes;
    size_t at = 0;
};
int32_t give(void *user, void *to, int64_t capacity, int64_t *count) {
    auto &stream = *static_cast<Stream *>(user);
    const size_t most = std::min(static_cast<size_t>(capacity), stream.bytes.size() - stream.at);
    std::memcpy(to, stream.bytes.data() + stream.at, most);
    stream.at += most;
    *count = static_cast<int64_t>(most);
    return 0;
}
int32_t take(void *user, const void *from, int64_t count) {
    static_cast<std::string *>(user)->append(static_cast<const char *>(from), static_cast<size_t>(count));
    return 0;
}

// Writes the CRC-32 of each tensor, then of the header, where the header has a place for it.
std::string repaired(std::string bytes) {
    uint64_t length = 0;
    if (bytes.size() < 8) return bytes;
    std::memcpy(&length, bytes.data(), 8);
    if (length > bytes.size() - 8) return bytes;
    std::string header = bytes.substr(8, length);
    const Json json = Json::parse(header, nullptr, false);
    if (!json.is_object()) return bytes;
    for (const auto &[name, entry] : json.items()) {
        const std::string key = "\"crc32." + name + "\":\"";
        const size_t at = header.find(key);
        if (at == header.npos || at + key.size() + 8 > header.size() || !entry.is_object()) continue;
        const Json offsets = entry.value("data_offsets", Json());
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

void use(mercer_model *model) {
    mercer_summary summary{};
    summary.struct_size = sizeof summary;
    FUZZ_NEED(mercer_model_summary(model, &summary) == MERCER_OK);
    const char *text = nullptr;
    FUZZ_NEED(mercer_model_info(model, "", &text) == MERCER_OK);
    const int64_t d = std::clamp<int64_t>(summary.d, 1, 64);
    std::vector<double> rows(static_cast<size_t>(3 * d), 0.5);
    mercer_view view{sizeof view, MERCER_F64, 0, 3, d, d, 1, rows.data()};
    mercer_data *data = nullptr;
    FUZZ_NEED(mercer_data_from_view(&data, fuzz_context(), &view) == MERCER_OK);
    for (const char *what : {"scores", "density", "residual", "t2", "gradient", "labels"}) {
        mercer_recipe *recipe = nullptr;
        FUZZ_NEED(mercer_recipe_create(&recipe, fuzz_context(), what) == MERCER_OK);
        mercer_output output{};
        output.struct_size = sizeof output;
        int64_t count = 0;
        if (mercer_model_output(model, recipe, data, 0, &output, &count) == MERCER_OK &&
            output.rows * output.cols < 1 << 20) {
            std::vector<double> out(static_cast<size_t>(output.rows * output.cols + 1));
            mercer_view to{sizeof to, output.dtype, 0, output.rows, output.cols, output.cols, 1, out.data()};
            mercer_model_transform(model, recipe, data, &to, 1, nullptr); // may be refused: NaN, other columns
        }
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(data);
}

void load(const std::string &bytes) {
    Stream stream{bytes};
    const mercer_source source{sizeof source, give, &stream};
    mercer_model *model = nullptr;
    const int32_t status = mercer_model_read(&model, fuzz_context(), &source);
    if (status != MERCER_OK) {
        FUZZ_NEED(!model);
        return need_refusal(status, {MERCER_E_MODEL, MERCER_E_PLUGIN, MERCER_E_MEMORY, MERCER_E_UNSUPPORTED});
    }
    use(model);
    std::string again;
    const mercer_sink sink{sizeof sink, take, &again};
    FUZZ_NEED(mercer_model_write(model, &sink) == MERCER_OK);
    mercer_model *copy = nullptr;
    Stream second{again};
    const mercer_source from{sizeof from, give, &second};
    FUZZ_NEED(mercer_model_read(&copy, fuzz_context(), &from) == MERCER_OK);
    mercer_model_destroy(copy);
    mercer_model_destroy(model);
}

} // namespace

void fuzz_one(const uint8_t *bytes, size_t count) {
    const std::string file(reinterpret_cast<const char *>(bytes), count), sound = repaired(file);
    load(file);
    if (sound != file) load(sound);
}
