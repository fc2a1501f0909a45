// Checks that the tensors and the text of a model fit each other, and that their numbers are
// usable. A file may be hostile: what passes these checks must not lead any operation or derivation
// to access memory outside its arrays.
#include "model.h"

#include "../gram/value_range.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

namespace {

void need_finite(const Json &node, const Json::json_pointer &at) {
    if (node.is_number_float() && !std::isfinite(node.get<double>()))
        fail(MERCER_E_NUMERICAL,
             "the model's '%s' is %g, must be finite: it was computed from numbers that are too large",
             at.to_string().c_str(), node.get<double>());
    for (const auto &item : node.items())
        if (node.is_array())
            need_finite(item.value(), at / static_cast<size_t>(std::stoul(item.key())));
        else if (node.is_object())
            need_finite(item.value(), at / item.key());
}

// Returns the position of the first entry that is not finite, or -1.
int64_t first_not_finite(const Tensor &tensor) {
    const int64_t count = tensor.rows * tensor.cols;
    const int64_t at = tensor.dtype == MERCER_F32   ? find_not_finite(count, 1, tensor_data<float>(tensor))
                       : tensor.dtype == MERCER_F64 ? find_not_finite(count, 1, tensor_data<double>(tensor))
                                                    : count;
    return at < count ? at : -1;
}

} // namespace

void need_finite(const Json &text, const Tensors &tensors) {
    need_finite(text, Json::json_pointer());
    for (const auto &[name, tensor] : tensors)
        if (const int64_t at = first_not_finite(tensor); at >= 0)
            fail(MERCER_E_NUMERICAL,
                 "the model's tensor '%s': entry %" PRId64
                 " overflows its type: it was computed from numbers that are too large",
                 name.c_str(), at);
}

void Model::check_shapes() const {
    const int64_t features = has_frequencies() ? 2 * m() : m();
    auto expect = [&](const std::string &name, int64_t rows, int64_t cols, int32_t dtype) {
        const Tensor *found = tensor(name);
        if (!found) return;
        if (found->rows != rows || found->cols != cols || found->dtype != dtype)
            fail(MERCER_E_MODEL, "tensor '%s' is %s %" PRId64 " x %" PRId64 ", must be %s %" PRId64 " x %" PRId64,
                 name.c_str(), dtype_name(found->dtype), found->rows, found->cols, dtype_name(dtype), rows, cols);
    };
    expect("A", features, r(), dtype());
    for (const char *name : {"b", "lambda", "scatter", "variance"}) expect(name, r(), 1, MERCER_F64);
    expect("covariance", r(), r(), MERCER_F64);
    for (const char *name : {"nu", "w", "v"}) expect(name, m(), 1, MERCER_F64);
    expect("labels", m(), 1, MERCER_I64);
    expect("assignment", n(), 1, MERCER_I64);
    for (const char *name : {"T.shift", "T.scale"}) expect(name, d(), 1, MERCER_F64);
    if ((tensor("T.shift") == nullptr) != (tensor("T.scale") == nullptr))
        fail(MERCER_E_MODEL, "tensors 'T.shift' and 'T.scale' must be given together");
    for (const auto &[name, value] : *tensors_)
        if (const int64_t k = first_not_finite(value); k >= 0)
            fail(MERCER_E_MODEL, "tensor '%s': entry %" PRId64 " is not finite", name.c_str(), k);
    check_numbers("indices", 0, n());
    check_numbers("assignment", -1, m());
    if (const Tensor *shift = tensor("C.values") ? tensor("T.shift") : nullptr)
        for (int64_t k = 0; k < d(); ++k)
            if (tensor_data<double>(*shift)[k] != 0)
                fail(MERCER_E_MODEL,
                     "tensor 'T.shift': entry %" PRId64 ": shifting sparse centres would make them dense", k);
    check_clusters();
    if (has_frequencies() && (summary_.capabilities || tensor("v")))
        fail(MERCER_E_MODEL,
             "a model of random frequencies has scores only, and neither capabilities nor the tensor 'v'");
    if (can(MERCER_CAN_MEAN) && !tensor("nu")) fail(MERCER_E_MODEL, "capability 'mean' without the tensor 'nu'");
    if (can(MERCER_CAN_DENSITY) && !tensor("w")) fail(MERCER_E_MODEL, "capability 'density' without the tensor 'w'");
    if (tensor("covariance") && r() > Whitening::most_correlated)
        fail(MERCER_E_MODEL, "tensor 'covariance' is of %" PRId64 " components, must be of %" PRId64 " at most", r(),
             Whitening::most_correlated);
    if (tensor("variance") && tensor("lambda"))
        fail(MERCER_E_MODEL, "the tensors 'variance' and 'lambda' exclude each other");
    // The directions of features that are not rotated are orthonormal, too.
    if (can(MERCER_CAN_RESIDUAL) && !can(MERCER_CAN_ORTHONORMAL) && !tensor("variance"))
        fail(MERCER_E_MODEL, "capability 'residual' without 'orthonormal' or the tensor 'variance'");
}

void Model::check_clusters() const {
    const Tensor *rule = tensor("clusters"), *labels = tensor("labels");
    if (can(MERCER_CAN_LABELS) && !rule) fail(MERCER_E_MODEL, "capability 'labels' without the tensor 'clusters'");
    if (rule && (rule->dtype != MERCER_F64 || rule->rows < 1 || rule->cols < 2 || rule->cols > r() + 2))
        fail(MERCER_E_MODEL,
             "tensor 'clusters' is %s %" PRId64 " x %" PRId64 ", must be f64, of 1 or more rows and 2 to %" PRId64
             " columns",
             dtype_name(rule->dtype), rule->rows, rule->cols, r() + 2);
    if (labels && !rule) fail(MERCER_E_MODEL, "tensor 'labels' without the tensor 'clusters'");
    if (labels) check_numbers("labels", 0, rule->rows);
}

void Model::check_numbers(const char *name, int64_t least, int64_t end) const {
    const Tensor *numbers = tensor(name);
    for (int64_t k = 0; numbers && k < numbers->rows; ++k)
        if (const int64_t value = tensor_data<int64_t>(*numbers)[k]; value < least || value >= end)
            fail(MERCER_E_MODEL, "tensor '%s': entry %" PRId64 " is %" PRId64 ", must be %" PRId64 " to %" PRId64, name,
                 k, value, least, end - 1);
}

void Model::see_ledger() {
    ledger_ = read_ledger(text_);
    if (ledger_ && can(MERCER_CAN_MERGE)) {
        if (!can(MERCER_CAN_ORTHONORMAL)) fail(MERCER_E_MODEL, "capability 'mergeable' without 'orthonormal'");
        if (!variances_of(*tensors_))
            fail(MERCER_E_MODEL, "capability 'mergeable' without the tensor 'scatter' or 'lambda'");
        return;
    }
    ledger_.reset();
    summary_.capabilities &= ~uint32_t{MERCER_CAN_MERGE};
}

namespace {

// Returns the Euclidean length of the longest sparse row. check_centres uses it instead of the
// range of each column: a small file can declare very many columns, so memory for one number per
// column must not be taken.
double longest_row(const SparseSource &rows) {
    double longest = 0;
    for (int64_t i = 0; i < rows.rows(); ++i) {
        double square = 0;
        for (int64_t k = rows.offsets()[i]; k < rows.offsets()[i + 1]; ++k) square += rows.value(k) * rows.value(k);
        longest = std::max(longest, std::sqrt(square));
    }
    return longest;
}

} // namespace

// Refuses centres with which kernel values may overflow, by the check that a fit applies to its
// data, and negative entries if the kernel needs values >= 0. The limits on overflow are twice as
// high here (they leave a factor of 4 instead of 8), because rounding may have moved the centres.
void Model::check_centres() const {
    if (!missing_.empty() || !centres_ || m() == 0 || has_frequencies()) return;
    const bool f32 = dtype() == MERCER_F32, sparse = centres_->kind() == Source::Kind::sparse;
    Extent extent;
    Expression kernel = kernel_;
    if (sparse) {
        const double length = longest_row(static_cast<const SparseSource &>(*centres_));
        extent.lo.push_back(-length), extent.hi.push_back(length);
        for (Leaf &leaf : kernel.leaves) leaf.columns.clear(), leaf.shift.clear();
    } else {
        extent = extent_of(*centres_);
    }
    try {
        magnitude_of(kernel, extent, f32).check_large(kernel, f32, 4);
    } catch (const Error &e) {
        fail(MERCER_E_MODEL, "the centres: %s", e.what());
    }
    for (const Leaf &leaf : kernel.leaves)
        for (int64_t k = 0;
             !sparse && leaf.facts.flags & MERCER_NONNEGATIVE && k < kernel.leaf_columns(leaf, d_mapped()); ++k) {
            const int64_t column = leaf.columns.empty() ? k : leaf.columns[static_cast<size_t>(k)];
            if (const double least = extent.lo[static_cast<size_t>(column)]; least < 0)
                fail(MERCER_E_MODEL, "the centres: column %" PRId64 " has %g, but the kernel %s needs values >= 0",
                     column, least, leaf.plugin->name.c_str());
        }
}

} // namespace mercer
