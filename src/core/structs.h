// Structs that cross one of the two ABIs. The other side may have been compiled with another
// version of a struct, so no more than its struct_size bytes are read or written.
#pragma once
#include "error.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <mercer/mercer.h>

namespace mercer {

template <class T>
T &need(T *handle, const char *name) {
    if (!handle) fail(MERCER_E_ARGUMENT, "%s is NULL, must not be NULL", name);
    return *handle;
}

inline const char *text_of(const char *text, const char *name) { return &need(text, name); }

// A row-major view; stride 0: the rows lie one after the other. data is not written unless the view
// is an output.
inline mercer_view view_of_rows(int32_t dtype, int64_t rows, int64_t cols, const void *data, int64_t stride = 0) {
    return {.struct_size = sizeof(mercer_view),
            .dtype = dtype,
            .reserved = 0,
            .rows = rows,
            .cols = cols,
            .row_stride = stride ? stride : cols,
            .col_stride = 1,
            .data = const_cast<void *>(data)};
}

// Copies the caller's struct into one of this library's version. Fields that the caller's version
// does not have become 0. `required` is the smallest struct_size that is accepted.
template <class T>
T read_struct(const T *from, const char *name, size_t required) {
    need(from, name);
    if (from->struct_size < static_cast<int64_t>(required) || from->struct_size > 4096)
        fail(MERCER_E_ARGUMENT, "%s: struct_size = %" PRId64 ", must be sizeof(mercer_%s) = %zu", name,
             from->struct_size, name, sizeof(T));
    T out{};
    std::memcpy(&out, from, std::min(static_cast<size_t>(from->struct_size), sizeof(T)));
    return out;
}

// Copies as many bytes to the caller's struct as its struct_size allows; struct_size itself is not
// changed.
template <class T>
void write_struct(T *to, const T &from, const char *name) {
    need(to, name);
    if (to->struct_size < static_cast<int64_t>(sizeof(int64_t)) || to->struct_size > 4096)
        fail(MERCER_E_ARGUMENT, "%s: struct_size = %" PRId64 ", must be sizeof the struct = %zu", name, to->struct_size,
             sizeof(T));
    const int64_t size = to->struct_size;
    std::memcpy(to, &from, std::min(static_cast<size_t>(size), sizeof(T)));
    to->struct_size = size;
}

} // namespace mercer
