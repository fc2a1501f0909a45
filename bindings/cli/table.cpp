#include "table.h"
#include "csv.h"
#include "files.h"
#include "json.h"

#include <algorithm>
#include <cstring>

namespace cli {

namespace {

// The code points of a UTF-8 text, which the library has checked to be valid. NumPy's texts consist
// of code points.
std::vector<uint32_t> code_points(std::string_view text) {
    std::vector<uint32_t> out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80)
            out.push_back(byte);
        else if (byte < 0xc0)
            out.back() = out.back() << 6 | (byte & 0x3fU);
        else
            out.push_back(byte & (byte < 0xe0 ? 0x1fU : byte < 0xf0 ? 0x0fU : 0x07U));
    }
    return out;
}

// The name as a string literal of Python.
std::string quoted(const std::string &name) {
    std::string out = "'";
    for (const char c : name) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out + "'";
}

// The rows of a structured .npy array, one record each: a field for the id, if there are ids, and
// one for each part.
class Records {
  public:
    explicit Records(const Table &table) : table_(table) {
        for (const std::string_view id : table.ids) width_ = std::max(width_, code_points(id).size());
    }

    std::string descr() const {
        std::string out;
        if (!table_.ids.empty()) out = "(" + quoted(table_.ids_name) + ", '<U" + std::to_string(width_) + "'), ";
        for (const auto &[name, values] : table_.parts)
            out += "(" + quoted(name) + ", '<" + npy_dtype(values.dtype) +
                   (values.cols == 1 ? "'), " : "', (" + std::to_string(values.cols) + ",)), ");
        return "[" + out + "]";
    }

    void append(std::string &bytes, int64_t row) const {
        if (!table_.ids.empty()) {
            std::vector<uint32_t> id = code_points(table_.ids[static_cast<size_t>(row)]);
            id.resize(width_); // zeros at the end are not part of a NumPy text
            bytes.append(reinterpret_cast<const char *>(id.data()), id.size() * sizeof(uint32_t));
        }
        for (const Output &part : table_.parts) {
            const size_t size = part.values.bytes.size() / static_cast<size_t>(part.values.rows);
            bytes.append(part.values.bytes.data() + static_cast<size_t>(row) * size, size);
        }
    }

  private:
    const Table &table_;
    size_t width_ = 1;
};

void write_records(const std::string &path, const Table &table) {
    constexpr size_t chunk = 1 << 20;
    const Records records(table);
    const int64_t rows = table.parts[0].values.rows;
    OutputFile file(path);
    std::string bytes = npy_header(records.descr(), std::to_string(rows) + ",");
    for (int64_t i = 0; i < rows; ++i) {
        records.append(bytes, i);
        if (bytes.size() < chunk) continue;
        file.write(bytes.data(), bytes.size());
        bytes.clear();
    }
    file.write(bytes.data(), bytes.size());
    file.commit();
}

} // namespace

void add_format_to(CLI::App &app, std::string &format) {
    one_of(app.add_option("--format", format,
                          "format of the array (default: by the ending of the output's name, else npy)"),
           {"npy", "csv"});
}

Form form_of(const std::string &flag, const std::string &path, const std::string &format) {
    const Words known = {".npy", ".csv"};
    const std::string ending = ending_of(path);
    if (!format.empty() && ending != "." + format && std::find(known.begin(), known.end(), ending) != known.end())
        throw Failure(MERCER_E_ARGUMENT, "--format = " + format + ", but " + flag + " = " + path);
    if (format.empty()) check_ending(flag, path, known, true, "; --format csv writes CSV to any name");
    return format == "csv" || (format.empty() && ending == ".csv") ? Form::csv : Form::npy;
}

void write_table(const std::string &path, Form form, const Table &table) {
    if (form == Form::csv)
        write_csv(path, table);
    else if (table.parts.size() == 1 && table.ids.empty())
        write_npy(path, table.parts[0].values);
    else
        write_records(path, table);
}

std::vector<std::string> parts_json(const std::string &path, const Table &table) {
    std::vector<std::string> parts;
    for (const auto &[name, values] : table.parts)
        parts.push_back(
            json::object({{"name", json::text(name)},
                          {"path", json::text(path)},
                          {"dtype", json::text(npy_dtype(values.dtype))},
                          {"shape", json::array({std::to_string(values.rows), std::to_string(values.cols)})}}));
    return parts;
}

} // namespace cli
