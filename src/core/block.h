// Blocks of tall columns as solvers hold them without seeing into them: n x cols, column-major, stored in f32 or f64 and read
// and written as f64. Columns are zero at first, and take memory and count in the budget from their first use on.
#pragma once
#include "run.h"

#include <mercer/plugin.h>

struct mercer_block { // named by plugin.h
    mercer_block() = default;
    mercer_block(mercer::Run &run, int64_t n, int64_t cols, bool f32);
    mercer_block(mercer_block &&) = default;
    mercer_block &operator=(mercer_block &&) = default;

    int64_t n() const { return n_; }
    int64_t cols() const { return cols_; }
    bool f32() const { return f32_; }
    // On one thread, before several write.
    void use(int64_t first, int64_t count);
    // f64 blocks: a column itself.
    double *column(int64_t j) { return wide_.data() + n_ * j; }
    const double *column(int64_t j) const { return wide_.data() + n_ * j; }
    // A column as it is stored, and those behind it.
    void *bytes(int64_t j) { return f32_ ? static_cast<void *>(narrow_.data() + n_ * j) : column(j); }
    // Rows row0 ... row0 + rows of column j; stride: between their places outside.
    void read(int64_t j, int64_t row0, int64_t rows, double *to, int64_t stride = 1) const;
    void write(int64_t j, int64_t row0, int64_t rows, const double *from, int64_t stride = 1);

  private:
    int64_t n_ = 0, cols_ = 0;
    bool f32_ = false;
    std::shared_ptr<mercer::Budget> budget_;
    mercer::Buffer<double> wide_; // places for all columns, uncounted
    mercer::Buffer<float> narrow_;
    std::vector<mercer::Claim> used_; // of each column
};

namespace mercer {

using Block = mercer_block;
using Columns = mercer_range;

// Of a block: its columns are the caller's to write even where it is handed on as const.
inline Columns columns(const Block &block, int64_t first, int64_t count) {
    return {const_cast<Block *>(&block), first, count};
}
inline bool overlap(Columns a, Columns b) {
    return a.block == b.block && a.first < b.first + b.count && b.first < a.first + a.count;
}
// E_PLUGIN unless they are columns of a block with n rows, or none.
void check_columns(const char *what, Columns x, int64_t n);
inline Columns columns(const Block &block) { return columns(block, 0, block.cols()); }

} // namespace mercer
