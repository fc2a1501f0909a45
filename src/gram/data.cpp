#include "data.h"

namespace mercer {

double scale_weights(CountedVector<double> &weights, int64_t n) {
    double sum = 0;
    for (double weight : weights) sum += weight;
    if (!(sum > 0) || !std::isfinite(sum))
        fail(MERCER_E_DATA, "the weights of all %zu points sum to %g, must be > 0", weights.size(), sum);
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
