#include "sample_weights.h"

#include <cinttypes>

namespace mercer {

CountedVector<double> sample_weights(const Data &data, const Source &source, double *sum) {
    const int64_t n = source.rows();
    if (sum) *sum = static_cast<double>(n);
    CountedVector<double> weights(static_cast<size_t>(n), 1.0);
    if (!data.has_weights()) return weights;
    const mercer_view &view = data.weights;
    if (view.rows != source.given_rows())
        fail(MERCER_E_SHAPE, "weights: %" PRId64 " weights for %" PRId64 " rows", view.rows, source.given_rows());
    for (int64_t i = 0; i < n; ++i) {
        const int64_t row = source.number(i), at = row * view.row_stride;
        double value = view.dtype == MERCER_F32 ? static_cast<double>(static_cast<const float *>(view.data)[at])
                                                : static_cast<const double *>(view.data)[at];
        if (!std::isfinite(value) || value < 0)
            fail(MERCER_E_DATA, "weights: row %" PRId64 " has %g, must be finite and >= 0", row, value);
        weights[static_cast<size_t>(i)] = value;
    }
    const double given = scale_weights(weights, n);
    if (sum) *sum = given;
    if (std::all_of(weights.begin(), weights.end(), [&](double value) { return value == weights[0]; }))
        weights.assign(weights.size(), 1.0); // equal weights give the same bits as no weights
    return weights;
}

} // namespace mercer
