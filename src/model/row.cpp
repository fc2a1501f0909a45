// The centres are packed once, when the first row is asked for, and stay with the model. Cost of a row: m (d + r)
// multiplications and m exponentials; values and sums as in gram/tile.cpp (fused) and evaluate.h, so that the error is theirs.
#include "row.h"

#include "../gram/fused.h"
#include "model.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

template <class T>
class FusedRow : public RowScores {
  public:
    static std::unique_ptr<const RowScores> make(const Model &model) {
        const std::vector<LeafSpec> specs = leaf_specs(model.kernel());
        const int64_t stride = padded_columns<T>(model.r());
        constexpr int64_t most_bytes = int64_t{64} << 20;
        if (specs.size() != 1 || !(specs[0].rate > 0) || model.kernel().terms()[0].weight != 1 || model.tensor("v") ||
            model.has_frequencies() || !model.centres() || model.centres()->kind() != Source::Kind::dense ||
            model.d() > most_columns || stride > most_components || model.r() == 0 || model.m() == 0 ||
            model.m() * (model.d() + stride) * static_cast<int64_t>(sizeof(T)) > most_bytes)
            return nullptr;
        std::unique_ptr<FusedRow> out(new FusedRow(model, specs[0]));
        const bool packed = std::all_of(out->panels_.begin(), out->panels_.end(),
                                        [](const Panel<T> &panel) { return !panel.leaves[0].packed.empty(); });
        return packed ? std::move(out) : nullptr;
    }

    void scores(const Source &data, const mercer_view &out) const override {
        for (int64_t i = 0; i < data.rows(); ++i) row(data, i, out);
    }

  private:
    FusedRow(const Model &model, const LeafSpec &spec)
        : d_(static_cast<int64_t>(spec.columns.empty() ? static_cast<size_t>(model.d()) : spec.columns.size())),
          r_(model.r()), stride_(padded_columns<T>(model.r())), spec_(spec), map_(model.map()),
          scale_(fused_scale(spec.rate)), most_(fused_certain<T>(d_)), weights_(nullptr, model.m(), stride_),
          offset_(static_cast<size_t>(r_)) {
        RunSettings quiet;
        quiet.run.threads = 1;
        quiet.run.memory = int64_t{1} << 40; // the model's own memory, no run's
        Run run(quiet, nullptr);
        Points<T> points(model.centres(), {}, {spec});
        points.lean();
        for (int64_t b = 0; b < blocks_of(model.m()); ++b) {
            panels_.push_back(points.load(run, b));
            panels_.back().leaves[0].packed.uncount();
            panels_.back().leaves[0].half.uncount();
        }
        weights_.zero();
        const Tensor &a = *model.tensor("A");
        for (int64_t i = 0; i < model.m(); ++i)
            std::copy_n(tensor_data<T>(a) + i * r_, r_, weights_.data() + i * stride_);
        if (const Tensor *b = model.tensor("b")) std::copy_n(tensor_data<double>(*b), r_, offset_.begin());
    }

    void row(const Source &data, int64_t at, const mercer_view &out) const {
        T read[most_columns], x[most_columns], values[tile_rows], part[most_components];
        double sums[most_components] = {};
        data.read(at, 1, read);
        T half = 0;
        for (int64_t k = 0; k < d_; ++k) {
            const size_t own = static_cast<size_t>(k),
                         from = spec_.columns.empty() ? own : static_cast<size_t>(spec_.columns[own]);
            T value = read[from];
            if (!map_.identity())
                value = static_cast<T>((static_cast<double>(value) - map_.shift[from]) * map_.scale[from]);
            const double shift = spec_.shift.empty() ? 0 : spec_.shift[own];
            x[k] = static_cast<T>((static_cast<double>(value) - shift) * scale_);
            half -= x[k] * x[k] / 2;
        }
        const FusedTable<T> &table = fused_table<T>();
        for (const Panel<T> &panel : panels_) {
            const LeafRows<T> &y = panel.leaves[0];
            table.row(panel.rows, d_, x, half, y.packed.data(), y.half.data(), values);
            for (int64_t j = 0; j < panel.rows && !(y.half_most - half <= most_); ++j)
                if (!(values[j] * -(half + y.half[j]) <= most_))
                    values[j] = fused_by_difference(d_, x, 1, y.packed.data() + j);
            table.weighted_sum(panel.rows, stride_, values, weights_.data() + panel.row0 * stride_, part);
            for (int64_t j = 0; j < r_; ++j) sums[j] += static_cast<double>(part[j]);
        }
        for (int64_t j = 0; j < r_; ++j) {
            const double value = sums[j] - offset_[static_cast<size_t>(j)];
            const int64_t to = at * out.row_stride + j * out.col_stride;
            if (out.dtype == MERCER_F32)
                static_cast<float *>(out.data)[to] = static_cast<float>(value);
            else
                static_cast<double *>(out.data)[to] = value;
        }
    }

    int64_t d_, r_, stride_;
    LeafSpec spec_;
    InputMap map_;
    double scale_;
    T most_;
    std::vector<Panel<T>> panels_;
    Buffer<T> weights_; // A, row-major
    std::vector<double> offset_;
};

} // namespace

std::unique_ptr<const RowScores> make_row_scores(const Model &model) {
    return model.dtype() == MERCER_F32 ? FusedRow<float>::make(model) : FusedRow<double>::make(model);
}

} // namespace mercer
