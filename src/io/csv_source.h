// The rows of a CSV file, parsed once into memory.
#pragma once
#include "../core/text.h"
#include "source.h"

#include <algorithm>
#include <cinttypes>
#include <vector>

namespace mercer {

// The line of the file on which each row begins. Mostly a row begins one line after the row before
// it. Only the other rows, the jumps, are stored with their lines.
class RowLines {
  public:
    void add(int64_t row, int64_t line) {
        if (jumps_.empty() || line_of(row) != line) jumps_.push_back({row, line});
    }
    int64_t line_of(int64_t row) const { // counts from the last jump at or before the row
        const auto behind = std::upper_bound(jumps_.begin(), jumps_.end(), row,
                                             [](int64_t asked, const Jump &jump) { return asked < jump.row; });
        return behind[-1].line + row - behind[-1].row;
    }
    int64_t bytes() const { return static_cast<int64_t>(jumps_.size() * sizeof(Jump)); }

  private:
    struct Jump {
        int64_t row, line;
    };
    CountedVector<Jump> jumps_;
};

// The rows of a file. They are stored in pieces of equal length with all columns that were read, of
// which the source shows only those in `kept`.
class CsvSource : public Source {
  public:
    struct Column {
        int64_t slot;     // its position among all columns that were read
        std::string text; // its name in messages
    };
    CsvSource(const std::string &name, std::vector<Buffer<double>> pieces, RowLines lines, int64_t rows, int64_t width,
              std::vector<Column> kept)
        : Source(Kind::dense, rows, static_cast<int64_t>(kept.size()), MERCER_F64), pieces_(std::move(pieces)),
          lines_(std::move(lines)), width_(width), kept_(std::move(kept)) {
        be_named(name);
    }
    std::string place(int64_t row, int64_t column) const override {
        return format("line %" PRId64 ", ", lines_.line_of(row)) + kept_[static_cast<size_t>(column)].text;
    }
    void fill(int64_t row0, int64_t count, float *out) const override { gather(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { gather(row0, count, out); }
    int64_t stored_bytes() const override {
        int64_t bytes = lines_.bytes();
        for (const Buffer<double> &piece : pieces_) bytes += piece.bytes();
        return bytes;
    }

    static int64_t rows_of_piece(int64_t width) { return std::max<int64_t>(1, (int64_t{1} << 17) / width); }

  private:
    template <class T>
    void gather(int64_t row0, int64_t count, T *out) const {
        const int64_t most = rows_of_piece(width_), d = cols();
        for (int64_t i = row0; i < row0 + count; ++i, out += d) {
            const double *row = pieces_[static_cast<size_t>(i / most)].data() + i % most * width_;
            if (d == width_)
                std::copy_n(row, d, out);
            else
                for (int64_t k = 0; k < d; ++k) out[k] = static_cast<T>(row[kept_[static_cast<size_t>(k)].slot]);
        }
    }
    std::vector<Buffer<double>> pieces_;
    RowLines lines_;
    int64_t width_;
    std::vector<Column> kept_;
};

} // namespace mercer
