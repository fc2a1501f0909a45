#ifndef MERCER_CLI_NPY_H
#define MERCER_CLI_NPY_H

#include "handles.h"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

// A row-major matrix in memory that the command owns.
struct Array {
    int32_t dtype = MERCER_F64;
    int64_t rows = 0, cols = 1;
    std::vector<char> bytes;

    mercer_view view();
    double at(int64_t row, int64_t col) const;
    Array as_f64() const;
};

// array_like makes an array of rows x cols zeros; bytes_like returns how many bytes that takes.
Array array_like(int32_t dtype, int64_t rows, int64_t cols);
double bytes_like(int32_t dtype, int64_t rows, int64_t cols);

// A copy of a model's tensor; empty if it has none of that name.
Array tensor_of(mercer_model *model, const std::string &name);

// Writes version 1 of the format, in C order, little-endian, with two dimensions or, if `flat`,
// one.
void write_npy(const std::string &path, const Array &array, bool flat = false);

// The header of such a file. descr and shape are written as in Python: "'<f8'", "5, 2".
std::string npy_header(const std::string &descr, const std::string &shape);

// Whether a file that begins with these bytes, however few, may be an .npy file.
bool begins_as_npy(std::string_view bytes);

// NumPy's name of a type: "f4", "f8" or "i8".
const char *npy_dtype(int32_t dtype);

} // namespace cli

#endif
