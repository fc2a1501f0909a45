#include "source.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

template <class T>
int64_t find_not_finite(int64_t rows, int64_t cols, const T *values) {
    const int64_t count = rows * cols;
    // As 0 * NaN and 0 * Inf are NaN, one pass without branches suffices; a second pass only finds
    // the position.
    T sum[16] = {}, all = 0;
    int64_t k = 0;
    for (; k + 16 <= count; k += 16)
        for (int64_t l = 0; l < 16; ++l) sum[l] += 0 * values[k + l];
    for (; k < count; ++k) all += 0 * values[k];
    for (T part : sum) all += part;
    if (all == 0) return count;
    return std::find_if(values, values + count, [](T value) { return !std::isfinite(value); }) - values;
}
template int64_t find_not_finite(int64_t, int64_t, const float *);
template int64_t find_not_finite(int64_t, int64_t, const double *);

void Source::refuse(int64_t row, int64_t column, const char *what) const {
    const std::string file = name_.empty() ? "" : "'" + name_ + "': ";
    fail(MERCER_E_DATA, "%s%s is %s", file.c_str(), place(row, column).c_str(), what);
}

std::string Source::place(int64_t row, int64_t column) const {
    return format("row %" PRId64 ", column %" PRId64, number(row), column);
}

void Source::refuse_value(int64_t row, int64_t column, double value) const {
    refuse(row, column,
           std::isnan(value) ? "NaN, must be finite (data.missing = rows leaves such rows out)"
                             : "inf, must be finite");
}

template <class T>
void Source::check(int64_t row0, int64_t count, const T *values) const {
    if (finite_) return;
    const int64_t at = find_not_finite(count, cols_, values);
    if (at == count * cols_) return;
    refuse_value(row0 + at / cols_, at % cols_, static_cast<double>(values[at]));
}
template void Source::check(int64_t, int64_t, const float *) const;
template void Source::check(int64_t, int64_t, const double *) const;

template <class T>
void Source::pick_runs(const int64_t *numbers, int64_t count, T *out) const {
    each_run(numbers, count, [&](int64_t i, int64_t first, int64_t rows) { fill(first, rows, out + i * cols_); });
}
template void Source::pick_runs(const int64_t *, int64_t, float *) const;
template void Source::pick_runs(const int64_t *, int64_t, double *) const;

template <class T>
void Source::gather_checked(const int64_t *numbers, int64_t count, T *out) const {
    pick(numbers, count, out);
    if (finite_) return;
    const int64_t at = find_not_finite(count, cols_, out);
    if (at < count * cols_) refuse_value(numbers[at / cols_], at % cols_, static_cast<double>(out[at]));
}
template void Source::gather_checked(const int64_t *, int64_t, float *) const;
template void Source::gather_checked(const int64_t *, int64_t, double *) const;

} // namespace mercer
