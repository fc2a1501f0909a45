// Reads NumPy's .npy files, versions 1 to 3, in both orders. The file is not trusted: header
// length, product of the shape and file size are checked against each other, and object arrays
// (pickle) are refused.
#pragma once
#include "files.h"
#include "source.h"

namespace mercer {

struct NpyHeader {
    char kind = 0; // of the entries: 'f' floating-point, 'i' integer, 'u' unsigned integer, 'b' bool
    int item = 0;  // bytes per entry
    bool column_major = false;
    int64_t rows = 0, cols = 0; // a vector has one column
    int64_t offset = 0;         // position of the first entry
};

// The longest header that is accepted, together with the bytes before it.
constexpr int64_t npy_header_bytes = 12 + 65536;
// Parses the header from the first `count` bytes of a file of file_size bytes; count must be
// file_size, or at least npy_header_bytes. E_DATA says what is wrong and names path. A matrix may
// have no rows, but it must have columns.
NpyHeader parse_npy_header(const unsigned char *bytes, int64_t count, int64_t file_size, const std::string &path);

bool is_npy(const InputFile &file); // true by the ending of its name or by its first bytes

// Returns the file as a source of rows. f4, integers of 8 and 16 bits and bool become f32,
// everything else f64. Each reader reads windows with pread through a buffer of at most 1 MiB
// (window_bytes). Memory holds only the header and, if the file is a pipe, all its bytes
// (stored_bytes). Integers beyond 2^53 are rounded. *integers tells whether the entries are
// integers (bool is not).
std::shared_ptr<Source> open_npy(std::unique_ptr<InputFile> file, bool *integers = nullptr);
inline std::shared_ptr<Source> open_npy(const std::string &path) { return open_npy(std::make_unique<InputFile>(path)); }

} // namespace mercer
