#include "data.h"

#include "../core/run.h"
#include "../core/slabs.h"

#include <cinttypes>

namespace mercer {
namespace {

// Values for an i64 output are read as f64, which holds whole numbers up to this bound exactly.
constexpr double largest_whole = 0x1p53;

template <class To, class From>
void store_window(const Source &source, int64_t row0, int64_t count, const From *values, const mercer_view &out) {
    To *to = static_cast<To *>(out.data);
    for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < out.cols; ++j) {
            const From value = values[i * out.cols + j];
            if constexpr (std::is_integral_v<To>)
                if (!(std::fabs(value) <= largest_whole && value == std::floor(value)))
                    source.refuse(row0 + i, j,
                                  format("%g, must be a whole number from -2^53 to 2^53", double(value)).c_str());
            to[(row0 + i) * out.row_stride + j * out.col_stride] = static_cast<To>(value);
        }
}

template <class To, class From>
void read_rows_as(Run &run, const Source &source, const mercer_view &out) {
    constexpr int64_t window = 1 << 17; // number of entries
    const int64_t rows = std::min(out.rows, std::max<int64_t>(window / std::max<int64_t>(out.cols, 1), 1));
    Buffer<From> values = run.buffer<From>(rows, out.cols);
    for_windows(run, out.rows, rows, [&](int64_t row0, int64_t count) {
        source.fill(row0, count, values.data());
        store_window<To>(source, row0, count, values.data(), out);
        run.progress(1);
        return true;
    });
}

} // namespace

void read_rows(Run &run, std::shared_ptr<const Source> source, const mercer_view &out) {
    run.stage("read");
    if (source->kind() == Source::Kind::objects)
        fail(MERCER_E_UNSUPPORTED, "the data are objects, which have no columns to read");
    if (auto loaded = source->load(run)) source = std::move(loaded);
    if (out.rows != source->rows() || out.cols != source->cols())
        fail(MERCER_E_SHAPE, "out is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, out.rows, out.cols,
             source->rows(), source->cols());
    check_apart("out", out, "data", *source);
    if (out.dtype == MERCER_I64)
        read_rows_as<int64_t, double>(run, *source, out);
    else if (out.dtype == MERCER_F64)
        read_rows_as<double, double>(run, *source, out);
    else
        read_rows_as<float, float>(run, *source, out);
}

double scale_weights(CountedVector<double> &weights, int64_t n) {
    double sum = 0;
    for (double weight : weights) sum += weight;
    if (!std::isfinite(sum))
        fail(MERCER_E_DATA, "the sum of the weights of all %zu points overflows float64: divide them by a number",
             weights.size());
    if (!(sum > 0)) fail(MERCER_E_DATA, "the weights of all %zu points sum to %g, must be > 0", weights.size(), sum);
    for (double &weight : weights) weight = weight / sum * static_cast<double>(n);
    return sum;
}

Data data_of_subset(const Data &data, std::shared_ptr<const Source> source) {
    Data out = data;
    out.source = std::move(source), out.labels = {};
    if (!out.has_landmark_rows()) return out;
    const Source &rows = *out.source;
    choose_landmarks(out, 0, [&](int64_t number) {
        const int64_t row = find_number(rows, number);
        return row < rows.rows() && rows.number(row) == number;
    });
    return out;
}

int64_t find_number(const Source &rows, int64_t number) {
    int64_t from = 0; // bisection
    for (int64_t to = rows.rows(); from < to;) {
        const int64_t middle = (from + to) / 2;
        rows.number(middle) < number ? from = middle + 1 : to = middle;
    }
    return from;
}

} // namespace mercer
