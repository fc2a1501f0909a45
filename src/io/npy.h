// NumPy's .npy, versions 1 to 3, both orders, for reading. Trusts nothing: header length, shape product and file size
// are checked against each other; object arrays (pickle) are refused.
#pragma once
#include "files.h"
#include "source.h"

namespace mercer {

struct NpyHeader {
    char kind = 0; // 'f' 'i' 'u' 'b'
    int item = 0;  // bytes of an entry
    bool column_major = false;
    int64_t rows = 0, cols = 0; // a vector is one column
    int64_t offset = 0;         // of the first entry
};

// From the first bytes of a file of file_size bytes (all, or npy_header_bytes of them); E_DATA says what is wrong and
// names path. An empty matrix has columns, but no rows.
constexpr int64_t npy_header_bytes = 12 + 65536; // the longest header that is read, with what precedes it
NpyHeader parse_npy_header(const unsigned char *bytes, int64_t count, int64_t file_size, const std::string &path);

bool is_npy(const InputFile &file); // by its name, or its first bytes

// The file as a source of rows: f4 and 8 and 16 bit integers and bool are f32, everything else f64. Windows are read
// with pread, through at most 1 MiB for each reader (window_bytes); nothing is kept but the header. Integers beyond
// 2^53 are rounded.
std::shared_ptr<Source> open_npy(std::unique_ptr<InputFile> file);
inline std::shared_ptr<Source> open_npy(const std::string &path) { return open_npy(std::make_unique<InputFile>(path)); }

} // namespace mercer
