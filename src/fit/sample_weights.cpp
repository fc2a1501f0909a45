#include "sample_weights.h"

#include <cinttypes>

namespace mercer {

RowWeights sample_weights(const Data &data, const Source &source) {
    const int64_t n = source.rows();
    if (!data.has_weights()) return RowWeights(n);
    CountedVector<double> weights(static_cast<size_t>(n));
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
    scale_weights(weights, n);
    if (std::all_of(weights.begin(), weights.end(), [&](double value) { return value == weights[0]; }))
        return RowWeights(n); // exactly as without weights, to the bit
    return weights;
}

} // namespace mercer
