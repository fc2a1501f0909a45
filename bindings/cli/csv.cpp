#include "csv.h"
#include "files.h"

#include <charconv>
#include <cstring>

namespace cli {

namespace {

template <class T>
void append_number(std::string &line, const char *from) {
    char text[32];
    T value;
    std::memcpy(&value, from, sizeof value);
    line.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

} // namespace

bool is_csv_path(const std::string &path) { return path.ends_with(".csv"); }

void write_csv(const std::string &path, const Array &array, const std::string &name) {
    constexpr size_t chunk = 1 << 20;
    OutputFile file(path);
    std::string text;
    for (int64_t j = 0; j < array.cols; ++j) {
        text.append(j ? "," : "").append(name);
        if (array.cols > 1) text.append(".").append(std::to_string(j + 1));
    }
    const size_t size = array.dtype == MERCER_F32 ? 4 : 8;
    for (int64_t i = 0; i < array.rows; ++i) {
        text += '\n';
        for (int64_t j = 0; j < array.cols; ++j) {
            const auto at = static_cast<size_t>(array.by_columns ? j * array.rows + i : i * array.cols + j) * size;
            if (j) text += ',';
            if (array.dtype == MERCER_F32)
                append_number<float>(text, &array.bytes[at]);
            else if (array.dtype == MERCER_I64)
                append_number<int64_t>(text, &array.bytes[at]);
            else
                append_number<double>(text, &array.bytes[at]);
        }
        if (text.size() < chunk) continue;
        file.write(text.data(), text.size());
        text.clear();
    }
    text += '\n';
    file.write(text.data(), text.size());
    file.commit();
}

} // namespace cli
