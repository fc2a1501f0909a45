// Blocks of tall columns. Solvers hold them as opaque handles, without access to their contents. A
// block is n x cols, column-major, stored in f32 or f64, but read and written as f64. All columns
// are initially zero. A column takes memory, and counts in the budget, from its first use on.
#pragma once
#include "run.h"

#include <mercer/plugin.h>

struct mercer_block { // declared in plugin.h
    mercer_block() = default;
    mercer_block(mercer::Run &run, int64_t n, int64_t cols, bool f32);
    mercer_block(mercer_block &&) = default;
    mercer_block &operator=(mercer_block &&) = default;

    int64_t n() const { return n_; }
    int64_t cols() const { return cols_; }
    bool f32() const { return f32_; }
    // Sets the columns that were not used before to zero, and counts them in the budget.
    // One thread must call this before several threads write to the columns.
    void use(int64_t first, int64_t count);
    // The memory of a column; only for f64 blocks.
    double *column(int64_t j) { return wide_.data() + n_ * j; }
    const double *column(int64_t j) const { return wide_.data() + n_ * j; }
    // The address of the stored values of column j and of the columns after it, in f32 or f64.
    void *bytes(int64_t j) { return f32_ ? static_cast<void *>(narrow_.data() + n_ * j) : column(j); }
    // Copy rows row0 ... row0 + rows - 1 of column j out of the block (read) or into it (write).
    // stride is the distance between two entries of the array outside the block.
    void read(int64_t j, int64_t row0, int64_t rows, double *to, int64_t stride = 1) const;
    void write(int64_t j, int64_t row0, int64_t rows, const double *from, int64_t stride = 1);

  private:
    int64_t n_ = 0, cols_ = 0;
    bool f32_ = false;
    std::shared_ptr<mercer::Budget> budget_;
    // wide_ stores the columns of an f64 block, narrow_ those of an f32 block; the other one is
    // empty. The buffer has room for all columns but counts in no budget, because used_ counts each
    // column that is in use.
    mercer::Buffer<double> wide_;
    mercer::Buffer<float> narrow_;
    std::vector<mercer::Claim> used_; // one per column, held from its first use on
};

namespace mercer {

using Block = mercer_block;
using Columns = mercer_range;

// Returns a range of columns. Its columns can be written to, although the block is const here.
inline Columns columns(const Block &block, int64_t first, int64_t count) {
    return {const_cast<Block *>(&block), first, count};
}
inline bool overlap(Columns a, Columns b) {
    return a.block == b.block && a.first < b.first + b.count && b.first < a.first + a.count;
}
// Fails with E_PLUGIN unless x is empty or lies within a block of n rows.
void check_columns(const char *what, Columns x, int64_t n);
inline Columns columns(const Block &block) { return columns(block, 0, block.cols()); }

} // namespace mercer
