#include "npy.h"
#include "files.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

// The format: "\x93NUMPY"; major and minor version; length of the header (2 bytes in version 1, 4
// in versions 2 and 3); the header, a Python dictionary that is padded with blanks and ended by a
// newline so that the values begin at a multiple of 64 bytes; the values.
namespace cli {

namespace {

struct Type {
    int32_t dtype;
    size_t size;
    const char *name;
};
constexpr std::array<Type, 3> types{{{MERCER_F32, 4, "f4"}, {MERCER_F64, 8, "f8"}, {MERCER_I64, 8, "i8"}}};

constexpr const char *magic = "\x93NUMPY";
constexpr size_t magic_size = 6, alignment = 64, most_header = 65535;

const Type &type_of(int32_t dtype) {
    for (const Type &type : types)
        if (type.dtype == dtype) return type;
    throw Failure(MERCER_E_UNSUPPORTED, "dtype " + std::to_string(dtype) + " cannot be written as .npy");
}

} // namespace

mercer_view Array::view() {
    auto v = sized<mercer_view>();
    v.dtype = dtype;
    v.rows = rows;
    v.cols = cols;
    v.row_stride = cols;
    v.col_stride = 1;
    v.data = bytes.data();
    return v;
}

double Array::at(int64_t row, int64_t col) const {
    const auto i = static_cast<size_t>(row * cols + col);
    const auto value = [&]<class T>(T x) {
        std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
        return static_cast<double>(x);
    };
    return dtype == MERCER_F32 ? value(float{}) : dtype == MERCER_I64 ? value(int64_t{}) : value(double{});
}

Array Array::as_f64() const {
    Array result = array_like(MERCER_F64, rows, cols);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {
            const double x = at(i, j);
            std::memcpy(result.bytes.data() + static_cast<size_t>(i * cols + j) * sizeof x, &x, sizeof x);
        }
    return result;
}

Array array_like(int32_t dtype, int64_t rows, int64_t cols) {
    const auto size = static_cast<int64_t>(type_of(dtype).size);
    if (rows < 0 || cols < 0 || (cols > 0 && rows > std::numeric_limits<int64_t>::max() / size / cols))
        throw Failure(MERCER_E_SHAPE, "an array of " + std::to_string(rows) + " x " + std::to_string(cols) + " values");
    Array a;
    a.dtype = dtype;
    a.rows = rows;
    a.cols = cols;
    a.bytes.resize(static_cast<size_t>(rows * cols * size));
    return a;
}

double bytes_like(int32_t dtype, int64_t rows, int64_t cols) {
    return static_cast<double>(type_of(dtype).size) * static_cast<double>(rows) * static_cast<double>(cols);
}

Array tensor_of(mercer_model *model, const std::string &name) {
    auto view = sized<mercer_view>();
    if (mercer_model_tensor(model, name.c_str(), &view) != MERCER_OK) return {};
    Array array = array_like(view.dtype, view.rows, view.cols);
    if (!array.bytes.empty()) std::memcpy(array.bytes.data(), view.data, array.bytes.size());
    return array;
}

std::string npy_header(const std::string &descr, const std::string &shape) {
    std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (" + shape + "), }";
    const size_t used = magic_size + 4 + header.size() + 1;
    header.append((alignment - used % alignment) % alignment, ' ');
    header += '\n';
    if (header.size() > most_header) throw Failure(MERCER_E_UNSUPPORTED, "too many fields for a .npy header");
    std::string start = std::string(magic) + '\1' + '\0';
    start += static_cast<char>(header.size() & 0xff);
    start += static_cast<char>(header.size() >> 8);
    return start + header;
}

void write_npy(const std::string &path, const Array &array, bool flat) {
    const std::string shape =
        flat ? std::to_string(array.rows) + "," : std::to_string(array.rows) + ", " + std::to_string(array.cols);
    const std::string header = npy_header(std::string("'<") + npy_dtype(array.dtype) + "'", shape);
    OutputFile file(path);
    file.write(header.data(), header.size());
    file.write(array.bytes.data(), array.bytes.size());
    file.commit();
}

bool begins_as_npy(std::string_view bytes) {
    return std::string_view(magic, magic_size).starts_with(bytes.substr(0, magic_size));
}

const char *npy_dtype(int32_t dtype) { return type_of(dtype).name; }

} // namespace cli
