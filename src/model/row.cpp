// The centres are packed once, when the first row is requested, and stay with the model. A row
// costs m (d + r) multiplications and m exponentials; most of the time goes into reading C and A
// from the second-level cache. Kernel values are computed from differences, which costs nothing
// extra here and is accurate to (d + 2) u of the squared distance. Partial sums are in the type of
// the model, sums across them in f64.
#include "row.h"

#include "../gram/fused.h"
#include "model.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

template <class T>
class FusedRow : public RowScores {
  public:
    static std::unique_ptr<const RowScores> make(const Model &model) {
        const std::vector<LeafSpec> specs = leaf_specs(model.kernel());
        constexpr int64_t most_bytes = int64_t{64} << 20;
        if (specs.size() != 1 || !(specs[0].rate > 0) || model.kernel().terms()[0].weight != 1 || model.tensor("v") ||
            model.has_frequencies() || !model.centres() || model.centres()->kind() != Source::Kind::dense ||
            model.d() > most_columns || model.r() > most_components || model.r() == 0 || model.m() == 0 ||
            model.m() * (model.d_mapped() + model.r()) * static_cast<int64_t>(sizeof(T)) > most_bytes)
            return nullptr;
        std::unique_ptr<FusedRow> out(new FusedRow(model, specs[0]));
        const bool packed = std::all_of(out->panels_.begin(), out->panels_.end(),
                                        [](const Panel<T> &panel) { return !panel.leaves[0].packed.empty(); });
        return packed ? std::move(out) : nullptr;
    }

    // Measured for m = 500, d = 12, r = 8: below 32 rows, matrix products save less time than it
    // costs to round the number of rows up to full tiles.
    int64_t most_rows() const override {
        constexpr int64_t second_cache = int64_t{1} << 20;
        const int64_t bytes = static_cast<int64_t>(panels_.size()) * tile_rows * (d_ + r_) * int64_t{sizeof(T)};
        return bytes <= second_cache ? 32 : 4;
    }
    bool scores(const Source &data, const mercer_view &out) const override {
        bool stored = true;
        for (int64_t i = 0; i < data.rows(); ++i) stored &= row(data, i, out);
        return stored;
    }

  private:
    FusedRow(const Model &model, const LeafSpec &spec)
        : d_(static_cast<int64_t>(spec.columns.empty() ? static_cast<size_t>(model.d_mapped()) : spec.columns.size())),
          r_(model.r()), spec_(spec), map_(model.map()), scale_(fused_scale(spec.rate)),
          offset_(static_cast<size_t>(r_)) {
        RunSettings quiet;
        quiet.run.threads = 1;
        quiet.run.memory = model.settings().run.memory;
        Run run(quiet, nullptr);
        weights_ = run.buffer<T>(blocks_of(model.m()) * r_, tile_rows);
        Points<T> points(model.centres(), {}, {spec});
        points.lean();
        for (int64_t b = 0; b < blocks_of(model.m()); ++b) panels_.push_back(points.load(run, b));
        for (Panel<T> &panel : panels_) { // from here on the memory belongs to the model
            panel.leaves[0].packed.uncount();
            panel.leaves[0].half.uncount();
        }
        weights_.zero().uncount();
        const Tensor &a = *model.tensor("A");
        for (int64_t i = 0; i < model.m(); ++i)
            for (int64_t j = 0; j < r_; ++j)
                weights_[(i / tile_rows * r_ + j) * tile_rows + i % tile_rows] = tensor_data<T>(a)[i * r_ + j];
        if (const Tensor *b = model.tensor("b")) std::copy_n(tensor_data<double>(*b), r_, offset_.begin());
    }

    // Packs row `at` as Points does. It is read as U, which is double if the data are, so that
    // numbers become float32 after shift and scale and not before.
    template <class U>
    bool pack(const Source &data, int64_t at, T *x) const {
        U read[most_columns];
        data.fill(at, 1, read);
        // The general path decides about a value that is not finite, in whatever column: it refuses
        // the row or leaves it out.
        if (!std::all_of(read, read + data.cols(), [](U value) { return std::isfinite(value); })) return false;
        for (int64_t k = 0; k < d_; ++k) {
            const size_t own = static_cast<size_t>(k),
                         from = spec_.columns.empty() ? own : static_cast<size_t>(spec_.columns[own]);
            U value = read[from];
            if (!map_.identity())
                value = static_cast<U>((static_cast<double>(value) - map_.shift[from]) * map_.scale[from]);
            const double shift = spec_.shift.empty() ? 0 : spec_.shift[own];
            x[k] = static_cast<T>((static_cast<double>(value) - shift) * scale_);
        }
        return true;
    }

    bool row(const Source &data, int64_t at, const mercer_view &out) const {
        const double largest = out.dtype == MERCER_F32 ? double(FLT_MAX) : DBL_MAX;
        bool stored = true;
        T x[most_columns];
        double sums[most_components * fused_parts];
        std::fill_n(sums, r_ * fused_parts, 0.0);
        if (!(data.dtype() == MERCER_F64 ? pack<double>(data, at, x) : pack<T>(data, at, x))) return false;
        for (const Panel<T> &panel : panels_)
            fused_table<T>().row(panel.rows, d_, x, panel.leaves[0].packed.data(), r_,
                                 weights_.data() + panel.row0 * r_, sums);
        for (int64_t j = 0; j < r_; ++j) {
            const double *parts = sums + j * fused_parts;
            const double value = std::accumulate(parts, parts + fused_parts, -offset_[static_cast<size_t>(j)]);
            const int64_t to = at * out.row_stride + j * out.col_stride;
            stored &= std::fabs(value) <= largest;
            if (out.dtype == MERCER_F32)
                static_cast<float *>(out.data)[to] = static_cast<float>(value);
            else
                static_cast<double *>(out.data)[to] = value;
        }
        return stored;
    }

    int64_t d_, r_;
    LeafSpec spec_;
    InputMap map_;
    double scale_;
    std::vector<Panel<T>> panels_;
    // For each panel: A^T of its rows, r_ x tile_rows, with zeros beyond them.
    Buffer<T> weights_;
    std::vector<double> offset_;
};

} // namespace

std::unique_ptr<const RowScores> make_row_scores(const Model &model) {
    try {
        return model.dtype() == MERCER_F32 ? FusedRow<float>::make(model) : FusedRow<double>::make(model);
    } catch (const Error &error) {
        if (error.code() != MERCER_E_BUDGET) throw;
        return nullptr;
    }
}

} // namespace mercer
