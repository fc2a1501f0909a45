#include "points.h"

#include "fused.h"
#include "subset.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {

static_assert(tile_rows == fused_stride);

double fused_scale(double rate) { return std::sqrt(2 * rate * 1.4426950408889634); }

// The exponent of base 2 is a sum of d + 2 terms, and all partial sums are at most
// s = |a_i| + |a_j|. Rounding errors add up like a random walk, so the exponent errs by about
// e = sqrt(d + 4) / 2 u s, and the value k <= 1 errs by e k ln 2. Errors of 8 u are allowed in f32,
// and of 512 u in f64, which is still far below the tolerance of any solver here (value_error).
template <class T>
T fused_certain(int64_t d) {
    return static_cast<T>(2 * value_error(sizeof(T) == 4) /
                          (0.6931471805599453 * std::sqrt(static_cast<double>(d + 4))));
}
template <class T>
T fused_by_difference(int64_t d, const T *x, int64_t step, const T *y) {
    T square = 0;
    for (int64_t k = 0; k < d; ++k) {
        const T diff = x[k * step] - y[k * tile_rows];
        square += diff * diff;
    }
    return std::exp2(-square / 2);
}
template float fused_by_difference<float>(int64_t, const float *, int64_t, const float *);
template double fused_by_difference<double>(int64_t, const double *, int64_t, const double *);

template float fused_certain<float>(int64_t);
template double fused_certain<double>(int64_t);

std::vector<LeafSpec> leaf_specs(const Expression &kernel) {
    std::vector<LeafSpec> specs;
    for (const Leaf &leaf : kernel.leaves) {
        double rate =
            leaf.form == MERCER_SQDIST && leaf.plugin && leaf.plugin->kernel.profile
                ? -operate(*leaf.plugin, "profile", [&] { return leaf.plugin->kernel.profile(leaf.values()); })
                : 0;
        specs.push_back({leaf.form, (leaf.facts.flags & MERCER_NONNEGATIVE) != 0, leaf.columns, leaf.shift, rate});
    }
    return specs;
}

template <class T>
Points<T>::Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves)
    : source_(std::move(source)), map_(map), leaves_(std::move(leaves)) {
    // Sparse rows stay sparse only if every leaf is a function of the same dot products of whole
    // rows.
    for (const LeafSpec &leaf : leaves_)
        dense_ |= leaf.form > MERCER_SQDIST || !leaf.columns.empty() || !leaf.shift.empty() ||
                  (leaf.form == MERCER_COSINE) != (leaves_[0].form == MERCER_COSINE);
}

template <class T>
Points<T>::Points(std::shared_ptr<const Source> source, const InputMap &map, std::vector<LeafSpec> leaves,
                  const int64_t *index, int64_t count)
    : Points(std::move(source), map, std::move(leaves)) {
    index_ = index;
    count_ = count;
    // index holds numbers of the fitted objects, not positions in this source.
    if (source_->kind() == Source::Kind::objects) return;
    for (int64_t k = 0; k < count; ++k)
        if (index[k] < 0 || index[k] >= source_->rows())
            fail(MERCER_E_VALUE, "row number %" PRId64 " (entry %" PRId64 "), must be 0 to %" PRId64, index[k], k,
                 source_->rows() - 1);
}

template <class T>
Points<T> Points<T>::gathered(Run &run, const int64_t *index, int64_t count) const {
    return source_->costs_calls() ? Points(rows_in_memory(run, *source_, index, count), map_, leaves_)
                                  : only(index, count);
}

template <class T>
Panel<T> Points<T>::load(Run &run, int64_t row0, int64_t rows) const {
    Panel<T> panel;
    panel.row0 = row0;
    panel.rows = rows;
    panel.leaves.resize(leaves_.size());
    if (source_->kind() == Source::Kind::objects) {
        panel.ids.resize(static_cast<size_t>(rows));
        for (int64_t i = 0; i < rows; ++i) panel.ids[static_cast<size_t>(i)] = index_ ? index_[row0 + i] : row0 + i;
    } else if (sparse()) {
        load_sparse(run, panel);
    } else {
        load_dense(run, panel);
    }
    return panel;
}

namespace {

bool copies_rows(const LeafSpec &leaf) {
    return !leaf.columns.empty() || !leaf.shift.empty() || leaf.form == MERCER_COSINE;
}
bool has_norms(const LeafSpec &leaf) { return leaf.form <= MERCER_SQDIST || leaf.form == MERCER_MIN; }

} // namespace

template <class U>
void map_rows(const InputMap &map, int64_t d, U *rows, int64_t count) {
    if (map.identity()) return;
    for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < d; ++k) {
            size_t at = static_cast<size_t>(k);
            rows[i * d + k] = static_cast<U>((static_cast<double>(rows[i * d + k]) - map.shift[at]) * map.scale[at]);
        }
}
template void map_rows(const InputMap &, int64_t, float *, int64_t);
template void map_rows(const InputMap &, int64_t, double *, int64_t);

// Reads rows row0 ... row0 + rows - 1 and applies the input map to them.
template <class T>
template <class U>
void Points<T>::read_rows(int64_t row0, int64_t rows, U *out) const {
    const int64_t d = cols();
    if (!index_)
        source_->read(row0, rows, out);
    else
        source_->gather(index_ + row0, rows, out);
    map_rows(map_, d, out, rows);
}

// Calls body with the mapped rows of the panel: in f64 if narrows(), else in T, as panel.mapped.
template <class T>
template <class Body>
void Points<T>::with_rows(Run &run, Panel<T> &panel, Body &&body) const {
    if (narrows()) {
        Buffer<double> rows = run.buffer<double>(panel.rows, cols());
        read_rows(panel.row0, panel.rows, rows.data());
        return body(rows.data());
    }
    panel.mapped = run.buffer<T>(panel.rows, cols());
    read_rows(panel.row0, panel.rows, panel.mapped.data());
    body(panel.mapped.data());
}

template <class T>
template <class U>
void Points<T>::keep_rows(Run &run, const U *rows, Panel<T> &panel) const {
    if (!panel.mapped.empty()) return;
    panel.mapped = run.buffer<T>(panel.rows, cols());
    std::transform(rows, rows + panel.rows * cols(), panel.mapped.data(), [](U v) { return static_cast<T>(v); });
}

template <class T>
void Points<T>::load_dense(Run &run, Panel<T> &panel) const {
    with_rows(run, panel, [&](const auto *rows) { prepare_leaves(run, rows, panel); });
}

template <class T>
template <class U>
void Points<T>::prepare_leaves(Run &run, const U *rows, Panel<T> &panel) const {
    bool packed = true;
    for (size_t l = 0; packed && l < leaves_.size(); ++l)
        packed = pack_leaf(run, rows, panel.rows, leaves_[l], panel.leaves[l]);
    if (lean_ && packed) {
        panel.mapped = Buffer<T>();
        return;
    }
    keep_rows(run, rows, panel);
    for (size_t l = 0; l < leaves_.size(); ++l)
        if (panel.leaves[l].packed.empty()) prepare_leaf(run, rows, panel, leaves_[l], panel.leaves[l]);
}

// Packs rows in the layout of fused.h: k = 2^(x'.y' + a_i + a_j) with
// x' = sqrt(2 rate log2 e) (x - shift) and a = -|x'|^2 / 2, where a is computed from the rounded
// x'. Returns false if some row cannot be packed; the general forms are used then.
template <class T>
template <class U>
bool Points<T>::pack_leaf(Run &run, const U *rows, int64_t count, const LeafSpec &spec, LeafRows<T> &leaf) const {
    const double scale = fused_scale(spec.rate);
    if (!(spec.rate > 0) || !std::isfinite(scale)) return false;
    leaf.d = spec.columns.empty() ? cols() : static_cast<int64_t>(spec.columns.size());
    leaf.packed = run.buffer<T>(leaf.d, tile_rows);
    leaf.half = run.buffer<T>(tile_rows);
    bool narrow = true;
    for (int64_t k = 0; k < leaf.d; ++k) {
        const size_t at = static_cast<size_t>(k);
        const U *from = rows + (spec.columns.empty() ? k : spec.columns[at]);
        const double shift = spec.shift.empty() ? 0 : spec.shift[at];
        T *to = leaf.packed.data() + k * tile_rows;
        for (int64_t i = 0; i < count; ++i) {
            const double value = (static_cast<double>(from[i * cols()]) - shift) * scale;
            narrow &= std::fabs(value) < fused_widest<T>;
            to[i] = static_cast<T>(value);
        }
        std::fill(to + count, to + tile_rows, T(0));
    }
    fused_table<T>().halves(leaf.d, leaf.packed.data(), leaf.half.data());
    std::fill(leaf.half.begin() + count, leaf.half.end(), static_cast<T>(fused_padding));
    for (int64_t i = 0; i < count; ++i) leaf.half_most = std::max(leaf.half_most, -leaf.half[i]);
    if (!narrow) leaf = LeafRows<T>();
    return narrow;
}

template <class T>
LeafRows<T> Points<T>::plain(Run &run, const Panel<T> &panel, size_t leaf) const {
    Panel<T> again; // rows are read again, because a lean panel has dropped them
    again.row0 = panel.row0, again.rows = panel.rows;
    LeafRows<T> out;
    with_rows(run, again, [&](const auto *rows) {
        keep_rows(run, rows, again);
        prepare_leaf(run, rows, again, leaves_[leaf], out);
    });
    if (out.own.empty()) out.own = std::move(again.mapped); // out.x points into these rows
    return out;
}

namespace {

// Scales a row to length 1; a row of zeros is left as it is. The row is first divided by its
// largest entry, so that no square overflows.
template <class T>
void normalise(int64_t count, T *row) {
    double most = 0, sum = 0;
    for (int64_t k = 0; k < count; ++k) most = std::max(most, std::fabs(static_cast<double>(row[k])));
    if (most == 0) return;
    for (int64_t k = 0; k < count; ++k) {
        const double share = static_cast<double>(row[k]) / most;
        sum += share * share;
    }
    const double root = std::sqrt(sum);
    for (int64_t k = 0; k < count; ++k) row[k] = static_cast<T>(static_cast<double>(row[k]) / most / root);
}

} // namespace

// rows: the mapped rows of the panel, before they are rounded to T.
template <class T>
template <class U>
void Points<T>::prepare_leaf(Run &run, const U *rows, const Panel<T> &panel, const LeafSpec &spec,
                             LeafRows<T> &leaf) const {
    const int64_t d = cols(), n = panel.rows;
    leaf.d = spec.columns.empty() ? d : static_cast<int64_t>(spec.columns.size());
    leaf.x = panel.mapped.data();
    if (copies_rows(spec)) {
        leaf.own = run.buffer<T>(n, leaf.d);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < leaf.d; ++k) {
                int64_t from = spec.columns.empty() ? k : spec.columns[static_cast<size_t>(k)];
                const double shift = spec.shift.empty() ? 0 : spec.shift[static_cast<size_t>(k)];
                leaf.own[i * leaf.d + k] = static_cast<T>(static_cast<double>(rows[i * d + from]) - shift);
            }
        for (int64_t i = 0; spec.form == MERCER_COSINE && i < n; ++i) normalise(leaf.d, leaf.own.data() + i * leaf.d);
        leaf.x = leaf.own.data();
    }
    if (spec.nonnegative)
        for (int64_t k = 0; k < n * leaf.d; ++k)
            if (leaf.x[k] < 0)
                source_->refuse(index_ ? index_[panel.row0 + k / leaf.d] : panel.row0 + k / leaf.d,
                                spec.columns.empty() ? k % leaf.d : spec.columns[static_cast<size_t>(k % leaf.d)],
                                format("%g, but the kernel needs values >= 0", static_cast<double>(leaf.x[k])).c_str());
    if (has_norms(spec)) {
        leaf.norms = run.buffer<T>(n);
        // Terms are added in the order of the columns, as for sparse rows.
        for (int64_t i = 0; i < n; ++i) {
            T sum = 0;
            for (int64_t k = 0; k < leaf.d; ++k) {
                T value = leaf.x[i * leaf.d + k];
                sum += spec.form == MERCER_MIN ? value : value * value;
            }
            leaf.norms[i] = spec.form == MERCER_COSINE ? T(sum > 0) : sum;
        }
    }
    if (spec.form >= MERCER_L1 && spec.form <= MERCER_HAMMING) {
        leaf.transposed = run.buffer<T>(leaf.d, n);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < leaf.d; ++k) leaf.transposed[k * n + i] = leaf.x[i * leaf.d + k];
    }
}

template <class T>
void Points<T>::load_sparse(Run &run, Panel<T> &panel) const {
    const auto &source = static_cast<const SparseSource &>(*source_);
    auto row_of = [&](int64_t i) { return index_ ? index_[panel.row0 + i] : panel.row0 + i; };
    const bool nonnegative =
        std::any_of(leaves_.begin(), leaves_.end(), [](const LeafSpec &leaf) { return leaf.nonnegative; });
    const bool cosine = leaves_[0].form == MERCER_COSINE; // if one leaf is, all are
    panel.offsets = run.buffer<int64_t>(panel.rows + 1);
    panel.offsets[0] = 0;
    for (int64_t i = 0; i < panel.rows; ++i)
        panel.offsets[i + 1] = panel.offsets[i] + source.offsets()[row_of(i) + 1] - source.offsets()[row_of(i)];
    const int64_t count = std::max<int64_t>(panel.offsets[panel.rows], 1);
    panel.columns = run.buffer<int32_t>(count);
    panel.values = run.buffer<T>(count);
    panel.norms = run.buffer<T>(panel.rows);
    for (int64_t i = 0; i < panel.rows; ++i) {
        T sum = 0;
        for (int64_t k = panel.offsets[i], from = source.offsets()[row_of(i)]; k < panel.offsets[i + 1]; ++k, ++from) {
            double value = source.value(from);
            panel.columns[k] = source.columns()[from];
            panel.values[k] =
                static_cast<T>(map_.identity() ? value : value * map_.scale[static_cast<size_t>(panel.columns[k])]);
            if (!std::isfinite(panel.values[k] * panel.values[k]))
                fail(MERCER_E_DATA, "row %" PRId64 ", column %d is %g, whose square overflows the type", row_of(i),
                     panel.columns[k], value);
            if (nonnegative && panel.values[k] < 0)
                fail(MERCER_E_DATA, "row %" PRId64 ", column %d is %g, but the kernel needs values >= 0", row_of(i),
                     panel.columns[k], value);
            sum += panel.values[k] * panel.values[k];
        }
        panel.norms[i] = cosine ? T(sum > 0) : sum;
        if (cosine) normalise(panel.offsets[i + 1] - panel.offsets[i], panel.values.data() + panel.offsets[i]);
    }
}

// Packed leaves are padded to whole panels, so they count per panel. A lean panel releases its
// mapped rows once they are packed, so these count only while the panel is being loaded. So do the
// f64 rows from which an f32 panel is made (narrows()).
template <class T>
void Points<T>::measure(TileBytes &out) const {
    const int64_t size = sizeof(T), rows = std::min(tile_rows, std::max<int64_t>(this->rows(), 1));
    out.panel = out.row = out.loading_row = 0;
    if (source_->kind() == Source::Kind::objects) {
        out.row = 8;
        return;
    }
    out.loading_row = (source_->window_bytes(rows) + rows - 1) / rows;
    if (sparse()) {
        const auto &source = static_cast<const SparseSource &>(*source_);
        int64_t most = 0; // number of entries of the fullest panel
        for (int64_t b = 0; b < blocks_of(source.rows()); ++b)
            most = std::max(most, source.offsets()[std::min(source.rows(), (b + 1) * tile_rows)] -
                                      source.offsets()[b * tile_rows]);
        out.panel = std::max<int64_t>(most, 1) * (size + 4) + 8, out.row = size + 8;
        return;
    }
    bool packed = true;
    for (const LeafSpec &leaf : leaves_) {
        const int64_t d = leaf.columns.empty() ? cols() : static_cast<int64_t>(leaf.columns.size());
        packed &= leaf.rate > 0;
        if (leaf.rate > 0) {
            out.panel += tile_rows * (d + 1) * size;
            continue;
        }
        if (copies_rows(leaf)) out.row += d * size;
        if (has_norms(leaf)) out.row += size;
        if (leaf.form >= MERCER_L1 && leaf.form <= MERCER_HAMMING) out.row += d * size;
    }
    const bool mapped = !lean_ || !packed;
    if (mapped) out.row += cols() * size;
    if (narrows() || !mapped) out.loading_row += cols() * (narrows() ? 8 : size);
}

template class Points<float>;
template class Points<double>;

} // namespace mercer
