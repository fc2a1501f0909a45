#ifndef MERCER_CLI_NPY_H
#define MERCER_CLI_NPY_H

#include "handles.h"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/* A row-major matrix in memory, which the command owns. */
struct Array {
    int32_t dtype = MERCER_F64;
    int64_t rows = 0, cols = 1;
    std::vector<char> bytes;

    mercer_view view();
    double at(int64_t row, int64_t col) const;
    Array as_f64() const;
};

/* Room for rows x cols values, row-major, and how much that is. */
Array array_like(int32_t dtype, int64_t rows, int64_t cols);
double bytes_like(int32_t dtype, int64_t rows, int64_t cols);

/* A model's tensor, copied; empty where it has none of that name. */
Array tensor_of(mercer_model *model, const std::string &name);

/* Version 1, C order, little-endian; two dimensions, or one where flat is set. */
void write_npy(const std::string &path, const Array &array, bool flat = false);

/* What stands before the values of such a file; descr and shape as Python writes them: "'<f8'", "5, 2". */
std::string npy_header(const std::string &descr, const std::string &shape);

/* These first bytes, however few, may be those of a .npy file. */
bool begins_as_npy(std::string_view bytes);

/* "f4", "f8", "i8": NumPy's name of a dtype. */
const char *npy_dtype(int32_t dtype);

} // namespace cli

#endif
