#include "csv.h"
#include "files.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace cli {

namespace {

template <class T>
void append_number(std::string &line, const char *from) {
    char text[32];
    T value;
    std::memcpy(&value, from, sizeof value);
    line.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void append_value(std::string &line, const Array &array, int64_t i, int64_t j) {
    const size_t size = array.dtype == MERCER_F32 ? 4 : 8;
    const auto at = static_cast<size_t>(i * array.cols + j) * size;
    if (array.dtype == MERCER_F32)
        append_number<float>(line, &array.bytes[at]);
    else if (array.dtype == MERCER_I64)
        append_number<int64_t>(line, &array.bytes[at]);
    else
        append_number<double>(line, &array.bytes[at]);
}

// Appends a text, in double quotes if a reader of CSV would otherwise misread it.
void append_text(std::string &line, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == text.npos && !text.starts_with(' ') && !text.ends_with(' ')) {
        line += text;
        return;
    }
    line += '"';
    for (const char c : text) line.append(c == '"' ? 2 : 1, c);
    line += '"';
}

std::string header_of(const Table &table) {
    std::string header;
    if (!table.ids.empty()) append_text(header, table.ids_name);
    for (const auto &[name, values] : table.parts)
        for (int64_t j = 0; j < values.cols; ++j) {
            header.append(header.empty() ? "" : ",").append(name);
            if (values.cols > 1) header.append(".").append(std::to_string(j + 1));
        }
    return header;
}

} // namespace

void write_csv(const std::string &path, const Table &table) {
    constexpr size_t chunk = 1 << 20;
    OutputFile file(path);
    std::string text = header_of(table);
    for (int64_t i = 0; i < table.parts[0].values.rows; ++i) {
        text += '\n';
        bool first = table.ids.empty();
        if (!first) append_text(text, table.ids[static_cast<size_t>(i)]);
        for (const Output &part : table.parts)
            for (int64_t j = 0; j < part.values.cols; ++j) {
                if (!std::exchange(first, false)) text += ',';
                append_value(text, part.values, i, j);
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
