#include "npy.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mercer {
namespace {

static_assert(std::endian::native == std::endian::little, "entries are used in the byte order of the file");

struct Truth {
    unsigned char byte;
    template <class T>
    operator T() const {
        return byte != 0;
    }
};

// Calls f with a value of the type that the entries have in the file.
template <class F>
void with_type(const NpyHeader &header, F f) {
    switch (header.kind << 8 | header.item) {
    case 'f' << 8 | 4: return f(float{});
    case 'f' << 8 | 8: return f(double{});
    case 'u' << 8 | 1: return f(uint8_t{});
    case 'u' << 8 | 2: return f(uint16_t{});
    case 'u' << 8 | 4: return f(uint32_t{});
    case 'u' << 8 | 8: return f(uint64_t{});
    case 'i' << 8 | 1: return f(int8_t{});
    case 'i' << 8 | 2: return f(int16_t{});
    case 'i' << 8 | 4: return f(int32_t{});
    case 'i' << 8 | 8: return f(int64_t{});
    default: return f(Truth{});
    }
}

bool is_single(const NpyHeader &h) { return h.item <= 2 || (h.kind == 'f' && h.item == 4); }

class NpySource : public Source {
  public:
    NpySource(std::unique_ptr<InputFile> file, const NpyHeader &header)
        : Source(Kind::dense, header.rows, header.cols, is_single(header) ? MERCER_F32 : MERCER_F64),
          file_(std::move(file)), header_(header) {
        if (header.kind != 'f') be_finite();
        be_named(shown_path(file_->path()));
    }

    void fill(int64_t row0, int64_t count, float *out) const override { read_window(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { read_window(row0, count, out); }

    int64_t stored_bytes() const override { return file_->stored_bytes(); }
    int64_t window_bytes(int64_t count) const override {
        count = std::min(count, rows());
        int64_t entries = by_columns() ? std::min(count, block_rows) * std::min(cols(), block_cols)
                                       : std::min(count * cols(), block_rows * block_cols);
        return entries * header_.item;
    }

  private:
    // A block of a column-major file is read column by column and transposed in the second-level
    // cache; 16 columns of f32 fill one cache line of a row.
    static constexpr int64_t block_rows = 8192, block_cols = 16;

    bool by_columns() const { return header_.column_major && cols() > 1; }

    template <class To>
    void read_window(int64_t row0, int64_t count, To *out) const {
        if (row0 < 0 || count < 0 || row0 > rows() - count)
            fail(MERCER_E_INTERNAL, "rows %" PRId64 " + %" PRId64 " of %" PRId64, row0, count, rows());
        if (by_columns())
            read_columns(row0, count, out);
        else
            read_entries(row0 * cols(), count * cols(), out);
    }

    void fetch(int64_t entry, int64_t count, void *to) const {
        file_->read(header_.offset + entry * header_.item, to, count * header_.item);
    }

    template <class To>
    void read_entries(int64_t first, int64_t count, To *out) const {
        if (header_.kind == 'f' && header_.item == sizeof(To)) return fetch(first, count, out);
        int64_t most = std::min(count, block_rows * block_cols);
        Buffer<unsigned char> raw(most, header_.item);
        for (int64_t done = 0; done < count; done += most) {
            int64_t now = std::min(most, count - done);
            fetch(first + done, now, raw.data());
            with_type(header_, [&](auto type) {
                auto from = reinterpret_cast<const decltype(type) *>(raw.data());
                for (int64_t k = 0; k < now; ++k) out[done + k] = static_cast<To>(from[k]);
            });
        }
    }

    template <class To>
    void read_columns(int64_t row0, int64_t count, To *out) const {
        int64_t most = std::min(count, block_rows), width = std::min(cols(), block_cols);
        Buffer<unsigned char> raw(most * width, header_.item);
        for (int64_t i = 0; i < count; i += most)
            for (int64_t j = 0; j < cols(); j += width) {
                int64_t high = std::min(most, count - i), wide = std::min(width, cols() - j);
                for (int64_t c = 0; c < wide; ++c)
                    fetch((j + c) * rows() + row0 + i, high, raw.data() + c * high * header_.item);
                with_type(header_, [&](auto type) {
                    auto from = reinterpret_cast<const decltype(type) *>(raw.data());
                    for (int64_t r = 0; r < high; ++r)
                        for (int64_t c = 0; c < wide; ++c)
                            out[(i + r) * cols() + j + c] = static_cast<To>(from[c * high + r]);
                });
            }
    }

    std::unique_ptr<InputFile> file_;
    NpyHeader header_;
};

} // namespace

bool is_npy(const InputFile &file) {
    if (file.path().ends_with(".npy")) return true; // a damaged .npy file must not be read as CSV
    constexpr std::string_view magic = "\x93NUMPY";
    char start[magic.size()] = {};
    file.read(0, start, std::min<int64_t>(file.size(), magic.size()));
    return std::string_view(start, sizeof start) == magic;
}

std::shared_ptr<Source> open_npy(std::unique_ptr<InputFile> file, bool *integers) {
    std::vector<unsigned char> start(static_cast<size_t>(std::min(file->size(), npy_header_bytes)));
    file->read(0, start.data(), static_cast<int64_t>(start.size()));
    NpyHeader header = parse_npy_header(start.data(), static_cast<int64_t>(start.size()), file->size(), file->path());
    if (integers) *integers = header.kind == 'i' || header.kind == 'u';
    return std::make_shared<NpySource>(std::move(file), header);
}

} // namespace mercer
