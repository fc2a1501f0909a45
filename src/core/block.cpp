#include "block.h"

#include <cinttypes>

using namespace mercer;

mercer_block::mercer_block(Run &run, int64_t n, int64_t cols, bool f32)
    : n_(n), cols_(cols), f32_(f32), budget_(run.budget()), used_(static_cast<size_t>(cols)) {
    if (f32)
        narrow_ = Buffer<float>(nullptr, n, cols);
    else
        wide_ = Buffer<double>(nullptr, n, cols);
}

void mercer_block::use(int64_t first, int64_t count) {
    for (int64_t j = first; j < first + count; ++j) {
        Claim &claim = used_[static_cast<size_t>(j)];
        if (claim.held()) continue;
        claim = Claim(budget_, n_ * (f32_ ? 4 : 8));
        if (f32_)
            std::fill_n(narrow_.data() + n_ * j, n_, 0.0f);
        else
            std::fill_n(column(j), n_, 0.0);
    }
}

void mercer_block::read(int64_t j, int64_t row0, int64_t rows, double *to, int64_t stride) const {
    if (!used_[static_cast<size_t>(j)].held()) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = 0;
        return;
    }
    auto from = [&](const auto *column) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = static_cast<double>(column[row0 + i]);
    };
    f32_ ? from(narrow_.data() + n_ * j) : from(column(j));
}

void mercer_block::write(int64_t j, int64_t row0, int64_t rows, const double *from, int64_t stride) {
    use(j, 1);
    if (f32_)
        for (int64_t i = 0; i < rows; ++i) narrow_[n_ * j + row0 + i] = static_cast<float>(from[i * stride]);
    else
        for (int64_t i = 0; i < rows; ++i) wide_[n_ * j + row0 + i] = from[i * stride];
}

void mercer::check_columns(const char *what, Columns x, int64_t n) {
    if (x.count == 0) return;
    if (!x.block || x.first < 0 || x.count < 0 || x.first > x.block->cols() - x.count)
        fail(MERCER_E_PLUGIN, "%s: %" PRId64 " columns starting at %" PRId64 ", of %" PRId64, what, x.count, x.first,
             x.block ? x.block->cols() : 0);
    if (x.block->n() != n)
        fail(MERCER_E_PLUGIN, "%s: columns of %" PRId64 " rows, must be %" PRId64, what, x.block->n(), n);
}
