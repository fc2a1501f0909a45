#include "value_range.h"

#include "../core/rounding.h"

#include "points.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace mercer {
namespace {

// f32 covers 2^-126 to 2^127. If the largest number is between f32_low and f32_high, numbers down
// to 2^-26 times it do not underflow, and sums over about 2^20 rows do not overflow. Numbers whose
// squares must not leave f64 may use about half of its range of exponents (square_low,
// square_high).
constexpr double f32_low = 0x1p-100, f32_high = 0x1p100, square_low = 0x1p-480, square_high = 0x1p480;

// As long as the largest number exceeds this, underflow of others has no more effect than rounding.
constexpr double lowest(bool f32) { return f32 ? 0x1p-120 : 0x1p-1015; }

bool within(double value, double low, double high) { return value == 0 || (value > low && value < high); }

// Returns a bound on the terms from which the form of two rows is summed: on |x|^2, |x.y|, or the
// largest sum of entries. A squared distance can be four times as large.
double size_of(const Leaf &leaf, const Extent &extent) {
    const bool squares =
        leaf.form == MERCER_DOT || leaf.form == MERCER_SQDIST || leaf.form == MERCER_CHI2 || leaf.form == MERCER_BLOCK;
    const size_t d = leaf.columns.empty() ? extent.lo.size() : leaf.columns.size();
    double size = 0;
    for (size_t k = 0; k < d; ++k) {
        const size_t at = leaf.columns.empty() ? k : static_cast<size_t>(leaf.columns[k]);
        const double shift = leaf.shift.empty() ? 0 : leaf.shift[k];
        const double reach = std::max(std::fabs(extent.lo[at] - shift), std::fabs(extent.hi[at] - shift));
        // A square that underflows must not become 0.
        size += !squares ? reach : reach > 0 ? std::max(reach * reach, DBL_TRUE_MIN) : 0;
    }
    return size;
}

bool bounded(const Leaf &leaf) { return std::isfinite(leaf.facts.lo) && std::isfinite(leaf.facts.hi); }

// True if an underflow of a form of this size would change k noticeably. A leaf without a map is
// its form itself: it is always affected unless it is bounded.
bool is_felt(const Leaf &leaf, double size, bool f32) {
    if (!leaf.plugin->kernel.map) return !bounded(leaf);
    if (size >= lowest(f32)) return false;
    double values[] = {0, leaf.form == MERCER_SQDIST ? 4 * size : size};
    leaf.map(MERCER_F64, values, 2);
    return !(std::fabs(values[1] - values[0]) <= value_error(f32) * unit_roundoff(f32) * std::fabs(values[0]));
}

// Returns the largest |k| of a leaf.
double value_of(const Leaf &leaf, double size) {
    if (bounded(leaf)) return std::max(std::fabs(leaf.facts.lo), std::fabs(leaf.facts.hi));
    if (!leaf.plugin->kernel.map) return size;
    const double form = leaf.form == MERCER_SQDIST ? 4 * size : size;
    double values[] = {0, form, leaf.form == MERCER_DOT ? -form : form};
    leaf.map(MERCER_F64, values, 3);
    return std::max({std::fabs(values[0]), std::fabs(values[1]), std::fabs(values[2])});
}

} // namespace

Extent extent_of(const Source &rows) {
    constexpr int64_t window = 1 << 17; // number of entries
    const int64_t n = rows.rows(), d = rows.cols(), step = std::max<int64_t>(window / std::max<int64_t>(d, 1), 1);
    const size_t columns = static_cast<size_t>(d);
    Extent out{CountedVector<double>(columns, INFINITY), CountedVector<double>(columns, -INFINITY)};
    Buffer<double> values(std::min(n, step), d);
    for (int64_t i = 0; i < n; i += step) {
        const int64_t count = std::min(step, n - i);
        rows.read(i, count, values.data());
        for (int64_t at = 0; at < count * d; ++at) {
            const size_t k = static_cast<size_t>(at % d);
            out.lo[k] = std::min(out.lo[k], values[at]);
            out.hi[k] = std::max(out.hi[k], values[at]);
        }
    }
    return out;
}

Magnitude magnitude_of(const Expression &kernel, const Extent &extent, bool f32) {
    Magnitude out;
    for (size_t k = 0; k < extent.lo.size(); ++k)
        out.entry = std::max({out.entry, std::fabs(extent.lo[k]), std::fabs(extent.hi[k])});
    const std::vector<LeafSpec> specs = leaf_specs(kernel);
    bool any = false; // some form is not 0
    // Largest |k| of each leaf: at most 1 for fused leaves; 1 is assumed for a caller's function.
    std::vector<double> values(specs.size(), 1.0);
    for (size_t l = 0; l < specs.size(); ++l) {
        const Leaf &leaf = kernel.leaves[l];
        if (!leaf.plugin || extent.lo.empty()) continue;
        const double size = size_of(leaf, extent), rate = specs[l].rate;
        if (rate > 0 && std::sqrt(size) * fused_scale(rate) < (f32 ? fused_widest<float> : fused_widest<double>))
            continue;
        out.fused = false;
        out.most = std::max(out.most, size);
        if (size > 0) out.least = std::min(out.least, size);
        if (size > 0 && is_felt(leaf, size, f32)) out.least_felt = std::min(out.least_felt, size);
        any |= size > 0;
        values[l] = value_of(leaf, size);
    }
    for (const Expression::Term &term : kernel.terms()) {
        double product = std::fabs(term.weight);
        for (size_t l : term.leaves) product *= values[l];
        out.value += product;
    }
    if (any && out.value < lowest(f32)) out.least_felt = 0; // all kernel values underflow, so check() fails
    return out;
}

namespace {
const char *name_of_type(bool f32) { return f32 ? "f32 (try data.dtype = f64)" : "f64"; }
} // namespace

// For squared distances, `most` bounds |x|^2. A squared distance can be 4 |x|^2, and the
// intermediate sums from which it is computed can be twice that. check() therefore requires room
// for a factor of 8.
void Magnitude::check_large(const Expression &kernel, bool f32, double room) const {
    const double high = (f32 ? static_cast<double>(FLT_MAX) : DBL_MAX) / room;
    if (!(entry <= high && most <= high && value <= high))
        fail(MERCER_E_DATA, "kernel = %s: with entries up to %.3g, its sums or values may overflow %s",
             kernel.text().c_str(), entry, name_of_type(f32));
}

void Magnitude::check_small(const Expression &kernel, bool f32) const {
    if (least_felt < lowest(f32))
        fail(MERCER_E_DATA, "kernel = %s: with entries no larger than %.3g, its values are too small for %s",
             kernel.text().c_str(), entry, name_of_type(f32));
}

bool Magnitude::serves_f32() const {
    return (fused || (entry < f32_high && most < f32_high && least > f32_low)) && within(value, f32_low, f32_high);
}

bool Magnitude::squares_hold() const { return within(value, square_low, square_high); }

} // namespace mercer
