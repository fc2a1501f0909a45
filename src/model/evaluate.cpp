#include "evaluate.h"

#include "../gram/object_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {

template <class T>
std::vector<LeafSpec> Evaluator<T>::specs(const Model &model, Panels panels) {
    if (model.has_frequencies()) return {{MERCER_DOT, false, {}, {}}};
    std::vector<LeafSpec> specs = leaf_specs(model.kernel());
    if (panels == Panels::rows)
        for (LeafSpec &spec : specs) spec.rate = 0; // a rate above 0 would make load() pack the rows
    return specs;
}

// Returns the row numbers of the centres among the objects. A matrix of queries may have one column
// for each centre instead of one for each row of the fit; the centres are then numbered from 0 to
// m - 1.
template <class T>
CountedVector<int64_t> Evaluator<T>::numbers(const Model &model, const Source &data) {
    CountedVector<int64_t> out;
    if (!model.indices()) return out;
    out.assign(model.indices(), model.indices() + model.m());
    const auto *matrix = dynamic_cast<const MatrixSource *>(&data);
    if (matrix && matrix->columns() != model.n()) std::iota(out.begin(), out.end(), int64_t{0});
    return out;
}

template <class T>
Evaluator<T>::Evaluator(Run &run, const Model &model, const std::shared_ptr<const Source> &data, Panels panels)
    : RowSums<T>(run, tiles_, model.has_frequencies()), numbers_(numbers(model, *data)),
      queries_(data, model.map(), specs(model, panels)),
      centres_(model.indices() ? Points<T>(data, {}, specs(model, panels), numbers_.data(), model.m())
                               : Points<T>(model.centres(), {}, specs(model, panels))),
      tiles_(model.has_frequencies() ? Tiles<T>(MERCER_DOT, queries_, centres_)
                                     : Tiles<T>(model.kernel(), queries_, centres_)) {
    if (model.tensor("v")) return; // relative_row needs the rows themselves
    queries_.lean();
    centres_.lean();
}

template <class T>
void Evaluator<T>::relative_row(const Weights<T> &w, int64_t row, double *sums) const {
    Run &run = this->run_;
    std::fill_n(sums, w.cols, 0.0);
    if (w.rows == 0) return;
    TileScratch<T> scratch = tiles_.scratch(run);
    Panel<T> x = queries_.load(run, row, 1);
    Buffer<T> logs = run.buffer<T>(centres_.rows());
    for (int64_t b = 0; b < blocks_of(centres_.rows()); ++b) {
        Panel<T> y = centres_.load(run, b);
        tiles_.compute_log(x, y, scratch);
        std::copy_n(scratch.tile.data(), y.rows, logs.data() + y.row0);
    }
    const T largest = *std::max_element(logs.begin(), logs.end());
    // If the largest logarithm is infinite or NaN, no ratio of kernel values is known, and the sums
    // stay 0.
    if (!std::isfinite(largest)) return;
    for (int64_t i = 0; i < w.rows; ++i) {
        double k = std::exp(static_cast<double>(logs[i] - largest));
        for (int64_t j = 0; j < w.cols; ++j) sums[j] += k * static_cast<double>(w.values[i * w.stride + j]);
    }
}

template class Evaluator<float>;
template class Evaluator<double>;

} // namespace mercer
