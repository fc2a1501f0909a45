// Computes the input map, the bandwidths and the shifts from the columns, and decides whether f32
// and f64 can hold all later numbers. Cost: one pass over the rows (column_stats.cpp), and the
// distances within a sample of the rows if a bandwidth follows from a rule (bandwidth.cpp).
#include "prepare.h"

#include "../core/text.h"
#include "../gram/object_matrix.h"
#include "../gram/subset.h"
#include "../gram/tile.h"
#include "../gram/value_range.h"
#include "bandwidth.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

InputMap make_map(DataScale scale, const ColumnStats &stats) {
    InputMap map;
    if (scale == DataScale::none) return map;
    for (size_t k = 0; k < stats.mean.size(); ++k) {
        bool standard = scale == DataScale::standard;
        // The range tells whether a column is constant, because the standard deviation of a
        // constant column may differ from 0 by rounding.
        const bool constant = !(stats.hi[k] > stats.lo[k]);
        double spread = constant ? 0 : standard ? stats.deviation(k) : stats.hi[k] - stats.lo[k];
        if (!std::isfinite(stats.hi[k] - stats.lo[k]) || (spread > 0 && !std::isfinite(1 / spread)))
            fail(MERCER_E_DATA, "data.scale: column %zu, from %g to %g, has a range that is %s for f64", k, stats.lo[k],
                 stats.hi[k], spread > 1 ? "too wide" : "too narrow");
        map.shift.push_back(standard && !constant ? stats.mean[k] : stats.lo[k]);
        map.scale.push_back(spread > 0 ? 1 / spread : 1); // a constant column becomes 0
    }
    return map;
}

std::string column_name(const Data &data, size_t k) {
    return k < data.columns.size() ? "'" + printable(data.columns[k]) + "'" : format("%zu", k);
}

// Returns warnings about what a user may not have intended: constant columns, which cannot be
// scaled, and a column that hardly counts in distances because another one varies much more.
std::vector<std::string> scale_warnings(const Data &data, const ColumnStats &stats, DataScale scale,
                                        const Expression &kernel) {
    std::vector<std::string> out;
    std::string constant;
    size_t constants = 0, least = 0, most = 0;
    const auto is_constant = [&](size_t k) { return !(stats.hi[k] > stats.lo[k]); };
    for (size_t k = 0; k < stats.mean.size(); ++k) {
        if (is_constant(k)) {
            if (++constants <= 3) constant += (constants > 1 ? ", " : "") + column_name(data, k);
            continue;
        }
        if (is_constant(least) || stats.deviation(k) < stats.deviation(least)) least = k;
        if (is_constant(most) || stats.deviation(k) > stats.deviation(most)) most = k;
    }
    if (scale != DataScale::none && constants > 0 && constants == stats.mean.size())
        out.push_back("all columns are constant: all rows are equal, and nothing can be scaled");
    else if (scale != DataScale::none && constants > 0)
        out.push_back(
            format("column%s %s%s constant and cannot be scaled: other values in new rows count in their own unit",
                   constants > 1 ? "s" : "", constant.c_str(),
                   constants > 3   ? ", ... are"
                   : constants > 1 ? " are"
                                   : " is"));
    // A column whose standard deviation is smaller than another's by this factor contributes a
    // millionth as much to squared distances.
    constexpr double drowned = 1000;
    const bool by_distance = kernel.leaves.size() == 1 && kernel.leaves[0].columns.empty() &&
                             (kernel.leaves[0].form == MERCER_SQDIST || kernel.leaves[0].form == MERCER_L1);
    if (scale == DataScale::none && by_distance && stats.mean.size() > constants + 1 &&
        stats.deviation(most) > drowned * stats.deviation(least))
        out.push_back(format("column %s varies %.0f times as much as column %s, which hardly counts in distances: "
                             "data.scale = standard gives all columns the same weight",
                             column_name(data, most).c_str(), stats.deviation(most) / stats.deviation(least),
                             column_name(data, least).c_str()));
    return out;
}

// Changes the input map so that it also divides columns by their length scales, after all other
// scaling.
void divide(InputMap &map, const std::vector<double> &lengths, int64_t d) {
    if (lengths.empty()) return;
    if (lengths.size() != 1 && static_cast<int64_t>(lengths.size()) != d)
        fail(MERCER_E_SHAPE, "data.lengths: %zu numbers, must be 1 or %" PRId64 ", one per column", lengths.size(), d);
    if (map.identity()) map.shift.assign(static_cast<size_t>(d), 0.0), map.scale.assign(static_cast<size_t>(d), 1.0);
    for (size_t k = 0; k < map.scale.size(); ++k) {
        const double length = lengths[lengths.size() == 1 ? 0 : k], before = map.scale[k];
        map.scale[k] /= length;
        if (!(map.scale[k] > 0) || !std::isfinite(map.scale[k]))
            fail(MERCER_E_DATA, "data.lengths: column %zu is multiplied by %g / %g, which is out of the range of f64",
                 k, before, length);
    }
}

// Finds the first entry below 0 in this mapped column and fails with E_DATA, because the kernel
// needs values >= 0. The message gives the entry's place in the data of the caller.
void refuse_negative(const Prepared &prepared, int64_t column) {
    const Source &source = *prepared.source;
    std::vector<double> row(static_cast<size_t>(source.cols()));
    for (int64_t i = 0; i < source.rows(); ++i) {
        if (prepared.weights[static_cast<size_t>(i)] == 0) continue;
        source.read(i, 1, row.data());
        map_rows(prepared.map, source.cols(), row.data(), 1);
        if (const double value = row[static_cast<size_t>(column)]; value < 0)
            source.refuse(i, column, format("%g, but the kernel needs values >= 0", value).c_str());
    }
}

// Decides from the smallest and the largest entry of each column (it moves these arrays out of
// `stats`) whether squares of kernel values fit in f64, and whether f32 tiles could serve for the
// rough products of a solver. Fails if entries or kernel values are out of the range of the type of
// the fit, or entries out of the domain of the kernel.
void measure(Prepared &prepared, ColumnStats &stats) {
    Extent extent{std::move(stats.lo), std::move(stats.hi)};
    for (CountedVector<double> *ends : {&extent.lo, &extent.hi})
        for (size_t k = 0; k < ends->size() && !prepared.map.identity(); ++k)
            (*ends)[k] = ((*ends)[k] - prepared.map.shift[k]) * prepared.map.scale[k];
    for (const Leaf &leaf : prepared.kernel.leaves)
        for (size_t k = 0; leaf.facts.flags & MERCER_NONNEGATIVE && k < extent.lo.size(); ++k)
            if (const int64_t column = static_cast<int64_t>(k);
                extent.lo[k] < 0 &&
                (leaf.columns.empty() || std::count(leaf.columns.begin(), leaf.columns.end(), column)))
                refuse_negative(prepared, column);
    const Magnitude own = magnitude_of(prepared.kernel, extent, prepared.f32);
    own.check(prepared.kernel, prepared.f32);
    prepared.squares_hold = own.squares_hold();
    prepared.f32_serves = magnitude_of(prepared.kernel, extent, true).serves_f32();
}

} // namespace

bool tile_is_f32(const Recipe &recipe, const Source &source) {
    const DataType dtype = static_cast<DataType>(recipe.values().data_dtype);
    return dtype == DataType::f32 || (dtype == DataType::as_given && source.dtype() == MERCER_F32);
}

Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source) {
    const Bytes scanned = column_stats_bytes(run, source);
    auto is_asked_for = [](const Leaf &leaf) {
        const int64_t rule = leaf.plugin ? leaf.params.table().find("bandwidth") : -1;
        return rule >= 0 && !leaf.params.group_is_set(rule);
    };
    const std::vector<Leaf> &leaves = recipe.kernel().leaves;
    if (std::none_of(leaves.begin(), leaves.end(), is_asked_for)) return scanned;
    return larger(scanned, 5 * 8 * source.cols() + bandwidth_bytes(run, source));
}

Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32) {
    Prepared out;
    out.source = data.source->load(run);
    if (!out.source) out.source = data.source;
    const Source &source = *out.source;
    if (source.rows() < 1) fail(MERCER_E_DATA, "the data have 0 rows, must be >= 1");
    out.weights = sample_weights(data, source, &out.weight_sum);
    const bool objects = source.kind() == Source::Kind::objects, sparse = source.kind() == Source::Kind::sparse;
    if (!objects && source.cols() < 1) fail(MERCER_E_DATA, "the data have 0 columns, must be >= 1");
    const CoreValues &values = recipe.values();
    out.f32 = f32.value_or(tile_is_f32(recipe, source));
    const DataScale scale = static_cast<DataScale>(values.data_scale);
    const std::vector<double> lengths = parse_lengths(values.data_lengths ? values.data_lengths : "");
    if (!lengths.empty() && objects) fail(MERCER_E_UNSUPPORTED, "data.lengths: objects have no columns");
    if (scale != DataScale::none && (sparse || objects))
        fail(MERCER_E_UNSUPPORTED, "data.scale: %s",
             sparse ? "shifting sparse data would make them dense" : "objects have no columns");
    out.kernel = recipe.kernel();
    if (out.kernel.has_user() && !out.kernel.user && !objects)
        fail(MERCER_E_ARGUMENT, "kernel = %s: set its function with mercer_recipe_set_kernel",
             out.kernel.text().c_str());
    ColumnStats stats = column_stats(run, source, out.weights);
    if (!objects && !sparse && lengths.empty()) out.warnings = scale_warnings(data, stats, scale, out.kernel);
    out.map = make_map(scale, stats);
    divide(out.map, lengths, source.cols());
    out.kernel.choose_forms();
    if (objects) check_objects(out.kernel, static_cast<const ObjectSource &>(source));
    if (const auto *matrix = dynamic_cast<const MatrixSource *>(&source)) matrix->check_fit(run);
    out.kernel.finish(run, source.cols(), Bandwidth(run, out, stats, out.weights, static_cast<uint64_t>(values.seed)));
    for (Leaf &leaf : out.kernel.leaves) {
        if (objects && !leaf.plugin && static_cast<const ObjectSource &>(source).psd()) leaf.facts.flags |= MERCER_PSD;
        if (leaf.form != MERCER_SQDIST || objects || sparse) continue;
        for (int64_t k = 0; k < out.kernel.leaf_columns(leaf, source.cols()); ++k) {
            size_t at = static_cast<size_t>(leaf.columns.empty() ? k : leaf.columns[static_cast<size_t>(k)]);
            double mean = stats.mean[at];
            leaf.shift.push_back(out.map.identity() ? mean : (mean - out.map.shift[at]) * out.map.scale[at]);
        }
    }
    measure(out, stats);
    return out;
}

std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source) {
    if (auto loaded = source->load(run)) source = std::move(loaded);
    if (static_cast<DataMissing>(recipe.values().data_missing) == DataMissing::rows)
        source = complete_rows(run, std::move(source));
    return source;
}

Data data_of(Run &run, const Recipe &recipe, const Data &given) {
    Data data = given;
    data.source = rows_of(run, recipe, given.source);
    if (data.source->rows() < 1 && data.source->given_rows() > 0)
        fail(MERCER_E_DATA, "every row of the data has a missing value");
    return data;
}

RowWeights sample_weights(const Data &data, const Source &source, double *sum) {
    const int64_t n = source.rows();
    if (sum) *sum = static_cast<double>(n);
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
    const double given = scale_weights(weights, n);
    if (sum) *sum = given;
    if (std::all_of(weights.begin(), weights.end(), [&](double value) { return value == weights[0]; }))
        return RowWeights(n); // so that the results have the same bits as those without weights
    return weights;
}

} // namespace mercer
