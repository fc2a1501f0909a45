// Which squared distances are recomputed. A tile of squared distances v = s - 2 x.y is computed
// from a matrix product and the norms, with s = |x|^2 + |y|^2. v errs by about e s, where
// e = sqrt(d + 8) u (the rounding errors of d terms add up like a random walk), and by at most
// 2 (d + 4) u s. Rows are first shifted by their training mean, so that s does not exceed the
// spread of the data. Pairs for which this error is too large are recomputed by differences, which
// have a relative error of (d + 2) u at most. The decision depends on the pair alone:
//   * For values of a kernel whose derivative k' = dk/dv is known, a pair is recomputed where
//     e s |k'| > 8 u kappa, with kappa = k(x, x). Two bounds avoid evaluating k' for every pair.
//     First, with r = sqrt(v), |k'| = |dk/dr| / (2 r) <= L / (2 r), where L is the kernel's
//     Lipschitz constant, so no pair with r > sqrt(d + 8) L s / (16 kappa) is recomputed. Second,
//     where |k'| decreases with v, a few of its values give a v beyond which no pair of a strip is
//     recomputed. Pairs with v below 4 (d + 8) u s are always recomputed, because v itself, and
//     with it k', is unreliable there; equal rows are among them and get a distance of exactly 0.
//   * For all other values, a pair is recomputed where v < doubt s. doubt = 16 sqrt(e) balances
//     accuracy and cost: the remaining relative error of v is at most sqrt(e) / 16 (f64 1e-9, f32
//     3e-5 at d = 16), and few pairs are that close: v must be below 1 % of s at d = 16 in f32, and
//     below 2 % at d = 800.
#include "tile.h"

#include "../core/structs.h"
#include "../core/threads.h"
#include "fused.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

template <class T>
constexpr int32_t dtype_of = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;

template <class T>
constexpr double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

double random_walk(int64_t d) { return std::sqrt(static_cast<double>(d + 8)); } // e / u, with e as above

// Returns the largest value of |k'| s for which a pair is not recomputed.
double slope_allowed(const Leaf &leaf, int64_t d) { return 8 * leaf.facts.kappa / random_walk(d); }

// Returns the smallest of the candidates v, v / sqrt 2, v / 2 ... at which |k'| is at most
// `steepest`; infinity if |k'| is larger even at v. |k'| must decrease, so that it is at most
// `steepest` at all larger squared distances, too.
double gentle_from(const Leaf &leaf, double v, double steepest) {
    constexpr int64_t steps = 24;
    double at[steps], slope[steps];
    for (int64_t i = 0; i < steps; ++i, v *= 0.7071067811865476) at[i] = slope[i] = v;
    leaf.derivative(MERCER_F64, slope, steps);
    int64_t i = 0;
    while (i < steps && std::fabs(slope[i]) <= steepest) ++i;
    return i > 0 ? at[i - 1] : INFINITY;
}

// Returns the thresholds of close pairs (forms.h). leaf: nullptr if the form itself is needed or
// the kernel's derivative is unknown; norms: the largest |x|^2 + |y|^2 of the pairs.
template <class T>
Close<T> close_pairs(const Leaf *leaf, int64_t d, double norms) {
    if (!leaf) return {static_cast<T>(16 * std::sqrt(random_walk(d) * unit<T>)), T(0)};
    const double steepest = std::isnan(leaf->facts.lipschitz) ? INFINITY : leaf->facts.lipschitz,
                 far = random_walk(d) * steepest / (16 * leaf->facts.kappa), v = far * norms * (far * norms);
    // keep_steep evaluates k' in T, with rounding errors, for which the factor 0.99 leaves room:
    // keep_steep would exclude every pair that `beyond` excludes. So whether a pair is computed
    // again depends on the pair alone, and not on the norms of others.
    const double beyond = leaf->slope_falls && v > 0 && std::isfinite(v)
                              ? gentle_from(*leaf, v, 0.99 * slope_allowed(*leaf, d) / norms)
                              : INFINITY;
    return {static_cast<T>(4 * static_cast<double>(d + 8) * unit<T>), static_cast<T>(far), static_cast<T>(beyond)};
}

bool has_slope(const Leaf &leaf) {
    return leaf.form == MERCER_SQDIST && leaf.plugin && leaf.plugin->kernel.derivative && leaf.facts.kappa > 0;
}

template <class T>
mercer_view row_view(const T *data, int64_t rows, int64_t cols) {
    return view_of_rows(dtype_of<T>, rows, cols, data);
}

// If one side is sparse and the other is not, the sparse side is expanded to dense rows.
template <class T>
void agree(Points<T> &x, Points<T> &y) {
    if (x.sparse() != y.sparse()) {
        x.densify();
        y.densify();
    }
}

} // namespace

void check_objects(const Expression &kernel, const ObjectSource &objects) {
    const std::string text = kernel.text();
    for (const Leaf &leaf : kernel.leaves) {
        if (objects.is_distance() && leaf.form != MERCER_SQDIST)
            fail(MERCER_E_UNSUPPORTED,
                 "kernel = %s: objects known by distances need a kernel of the distance, such as gaussian",
                 text.c_str());
        if (!objects.is_distance() && leaf.plugin)
            fail(MERCER_E_UNSUPPORTED, "kernel = %s: objects known by kernel values need the kernel 'user'",
                 text.c_str());
        if (!leaf.columns.empty()) fail(MERCER_E_UNSUPPORTED, "kernel = %s: objects have no columns", text.c_str());
    }
}

template <class T>
Tiles<T>::Tiles(const Expression &kernel, Points<T> &x, Points<T> &y) : kernel_(&kernel), x_(&x), y_(&y) {
    agree(x, y);
}
template <class T>
Tiles<T>::Tiles(int32_t, Points<T> &x, Points<T> &y) : kernel_(nullptr), x_(&x), y_(&y) {
    agree(x, y);
}

template <class T>
bool Tiles<T>::serial() const {
    const ObjectSource *objects = x_->objects();
    if (x_->source().in_passes() || y_->source().in_passes()) return true;
    return (kernel_ && kernel_->calls_back() && !objects) || (objects && !objects->thread_safe());
}

template <class T>
bool Tiles<T>::turns(const Panel<T> &x, const Panel<T> &y) const {
    auto packed = [](const LeafRows<T> &leaf) { return !leaf.packed.empty(); };
    return kernel_ && !x.leaves.empty() && std::all_of(x.leaves.begin(), x.leaves.end(), packed) &&
           std::all_of(y.leaves.begin(), y.leaves.end(), packed);
}

template <class T>
TileScratch<T> Tiles<T>::scratch(Run &run) const {
    return TileScratch<T>(run, kernel_ ? static_cast<int64_t>(kernel_->leaves.size()) : 1,
                          x_->sparse() ? x_->cols() : 0);
}

template <class T>
TileBytes Tiles<T>::bytes() const {
    TileBytes out;
    x_->measure(out);
    out.whole = whole();
    const int64_t tiles = kernel_ && kernel_->leaves.size() > 1 ? 3 : 1;
    out.scratch = (tiles * tile_rows * tile_rows + (x_->sparse() ? x_->cols() : 0)) * static_cast<int64_t>(sizeof(T)) +
                  (x_->objects() ? tile_rows * tile_rows * 24 : 0);
    return out;
}

template <class T>
void Tiles<T>::sparse_dot(const Strip &strip, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const Panel<T> &x = strip.x;
    T *dense = scratch.row.data(); // x_i with its zeros; set back to zeros after each row
    for (int64_t i = strip.row0; i < strip.row0 + strip.rows; ++i, out += tile_rows) {
        for (int64_t k = x.offsets[i]; k < x.offsets[i + 1]; ++k) dense[x.columns[k]] = x.values[k];
        for (int64_t j = 0; j < y.rows; ++j) {
            T sum = 0;
            for (int64_t k = y.offsets[j]; k < y.offsets[j + 1]; ++k) sum += y.values[k] * dense[y.columns[k]];
            out[j] = sum;
        }
        for (int64_t k = x.offsets[i]; k < x.offsets[i + 1]; ++k) dense[x.columns[k]] = 0;
    }
}

template <class T>
void Tiles<T>::object_values(const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const size_t m = static_cast<size_t>(x.rows), n = static_cast<size_t>(y.rows);
    scratch.i.resize(m * n);
    scratch.j.resize(m * n);
    scratch.values.resize(m * n);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
            scratch.i[i * n + j] = x.x.ids[static_cast<size_t>(x.row0) + i];
            scratch.j[i * n + j] = y.ids[j];
        }
    x_->objects()->pairs(scratch.i.data(), scratch.j.data(), x.rows * y.rows, scratch.values.data());
    for (size_t i = 0; i < m; ++i)
        std::copy_n(scratch.values.data() + i * n, n, out + static_cast<int64_t>(i) * tile_rows);
}

// Unmarks those close pairs of a row whose kernel values are accurate enough, because the slope of
// the kernel is small there.
template <class T>
void Tiles<T>::keep_steep(const Leaf &leaf, int64_t d, int64_t n, T near, T x_norm, const T *y_norms, const T *values,
                          unsigned char *found) const {
    T slope[tile_rows];
    int32_t at[tile_rows];
    int64_t count = 0;
    for (int32_t j = 0; j < n; ++j)
        if (found[j] && values[j] > near * (x_norm + y_norms[j])) at[count] = j, slope[count++] = values[j];
    if (count == 0) return;
    leaf.derivative(dtype_of<T>, slope, count);
    const double most = slope_allowed(leaf, d);
    for (int64_t c = 0; c < count; ++c) {
        const double norms = static_cast<double>(x_norm + y_norms[at[c]]);
        if (std::fabs(static_cast<double>(slope[c])) * norms <= most) found[at[c]] = 0;
    }
}

template <class T>
void Tiles<T>::square_distances(const Strip &x, const LeafRows<T> &a, const LeafRows<T> &b, int64_t n, const Leaf *leaf,
                                T *out) const {
    const FormTable<T> &forms = form_table<T>();
    const T *norms = a.norms.data() + x.row0;
    const double most = static_cast<double>(*std::max_element(norms, norms + x.rows)) +
                        static_cast<double>(*std::max_element(b.norms.data(), b.norms.data() + n));
    const Close<T> close = close_pairs<T>(leaf, a.d, most);
    if (!forms.sqdist(x.rows, n, norms, b.norms.data(), close, out, tile_rows)) return;
    unsigned char found[tile_rows];
    for (int64_t i = 0; i < x.rows; ++i, out += tile_rows) {
        if (!forms.find(n, norms[i], b.norms.data(), close, out, found)) continue;
        if (leaf) keep_steep(*leaf, a.d, n, close.near, norms[i], b.norms.data(), out, found);
        forms.differences(n, a.d, a.x + (x.row0 + i) * a.d, b.x, found, out);
    }
}

template <class T>
void Tiles<T>::form(size_t index, const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch,
                    const Leaf *leaf) const {
    const LeafSpec &spec = x_->leaves()[index];
    const int64_t m = x.rows, n = y.rows, ld = tile_rows;
    const FormTable<T> &forms = form_table<T>();
    if (x.x.sparse()) { // products and norms are summed in the same order, so equal rows have distance 0
        sparse_dot(x, y, out, scratch);
        if (spec.form == MERCER_SQDIST)
            forms.sqdist(m, n, x.x.norms.data() + x.row0, y.norms.data(), {T(0), T(0)}, out, ld);
        return;
    }
    LeafRows<T> plain_x, plain_y; // for packed rows that meet rows that could not be packed
    const LeafRows<T> *a = &x.x.leaves[index], *b = &y.leaves[index];
    if (!a->packed.empty()) plain_x = x_->plain(scratch.run, x.x, index), a = &plain_x;
    if (!b->packed.empty()) plain_y = y_->plain(scratch.run, y, index), b = &plain_y;
    const int64_t d = a->d;
    const T *rows = a->x + x.row0 * d;
    switch (spec.form) {
    case MERCER_DOT:
    case MERCER_COSINE:
    case MERCER_SQDIST:
        // BLAS is column-major: row-major out is computed as (y x^T)^T.
        gemm('T', 'N', n, m, d, T(1), b->x, d, rows, d, T(0), out, ld);
        if (spec.form == MERCER_SQDIST) square_distances(x, *a, *b, n, leaf, out);
        return;
    case MERCER_L1: return forms.l1(m, n, d, rows, b->transposed.data(), out, ld);
    case MERCER_CHI2: return forms.chi2(m, n, d, rows, b->transposed.data(), out, ld);
    case MERCER_MIN: return forms.min(m, n, d, rows, b->transposed.data(), out, ld);
    default: return forms.hamming(m, n, d, rows, b->transposed.data(), out, ld);
    }
}

// Computes exp(-rate |x - y|^2) by products where their rounding error is small enough
// (fused_certain), and by differences, with a relative error of (d + 2) u, for the other pairs. Once
// more than 1 % of the pairs of a strip need differences, this strip is computed entirely by
// differences, and so are the remaining strips of the slab, which have the same rows of x.
template <class T>
void Tiles<T>::fused(const Strip &x, const LeafRows<T> &a, const LeafRows<T> &b, int64_t cols, T *out,
                     TileScratch<T> &scratch) const {
    // Up to this many columns, differences cost no more than the search for pairs that need them.
    constexpr int64_t few = 32;
    // Beyond this many columns, a product by OpenBLAS and a second sweep are faster.
    constexpr int64_t in_registers = 512;
    const FusedTable<T> &table = fused_table<T>();
    const int64_t m = x.rows, d = a.d;
    const T *rows = a.packed.data() + x.row0, *half = a.half.data() + x.row0, *others = b.packed.data();
    const T most = fused_certain<T>(d);
    const bool sure = a.half_most + b.half_most <= most; // as k <= 1, no pair then needs differences
    if ((scratch.by_differences || d <= few) && !sure)
        return table.difference(m, cols, d, rows, half, others, b.half.data(), out);
    T worst = 0;
    if (d > in_registers) {
        gemm('N', 'T', cols, m, d, T(1), others, tile_rows, rows, tile_rows, T(0), out, tile_rows);
        if (sure) return table.finish(m, cols, half, b.half.data(), out);
        worst = table.finish_checked(m, cols, half, b.half.data(), out);
    } else {
        if (sure) return table.product(m, cols, d, rows, half, others, b.half.data(), out);
        worst = table.product_checked(m, cols, d, rows, half, others, b.half.data(), out);
    }
    if (worst <= most) return;
    int64_t found = 0;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < cols; ++j) found += out[i * tile_rows + j] * -(half[i] + b.half[j]) > most;
    if (found * 100 > m * cols) {
        scratch.by_differences = true;
        return table.difference(m, cols, d, rows, half, others, b.half.data(), out);
    }
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < cols; ++j) {
            T &value = out[i * tile_rows + j];
            if (value * -(half[i] + b.half[j]) > most) value = fused_by_difference(d, rows + i, tile_rows, others + j);
        }
}

template <class T>
void Tiles<T>::map(const Leaf &leaf, T *values, int64_t rows, int64_t cols) const {
    if (cols == tile_rows) return leaf.map(dtype_of<T>, values, rows * cols);
    for (int64_t i = 0; i < rows; ++i) leaf.map(dtype_of<T>, values + i * tile_rows, cols);
}

namespace {

template <class T>
void check_user_values(const Leaf &leaf, int64_t row0, const T *values, int64_t count) {
    for (int64_t k = 0; !leaf.plugin && k < count; ++k)
        if (!std::isfinite(values[k]))
            fail(MERCER_E_CALLBACK, "the user kernel returned %g in the block of row %" PRId64 ", must be finite",
                 static_cast<double>(values[k]), row0);
}

} // namespace

template <class T>
void Tiles<T>::leaf_values(size_t index, const Strip &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const Leaf &leaf = kernel_->leaves[index];
    const LeafRows<T> &a = x.x.leaves[index], &b = y.leaves[index];
    const int64_t m = x.rows, n = y.rows;
    if (!a.packed.empty() && !b.packed.empty()) return fused(x, a, b, n, out, scratch);
    if (leaf.form != MERCER_BLOCK || x_->objects()) {
        x_->objects() ? object_values(x, y, out, scratch)
                      : form(index, x, y, out, scratch, has_slope(leaf) ? &leaf : nullptr);
        return map(leaf, out, m, n);
    }
    mercer_view xs = row_view(a.x + x.row0 * a.d, m, a.d), ys = row_view(b.x, n, b.d);
    // Callbacks get contiguous blocks, whose rows are moved to the stride of tiles afterwards.
    mercer_view ks = row_view(out, m, n);
    evaluate_block(leaf, scratch.task, xs, ys, ks);
    check_user_values(leaf, x.x.row0 + x.row0, out, m * n);
    for (int64_t i = m - 1; i > 0 && n < tile_rows; --i)
        std::copy_backward(out + i * n, out + i * n + n, out + i * tile_rows + n);
}

template <class T>
void Tiles<T>::evaluate_block(const Leaf &leaf, mercer_task &task, const mercer_view &x, const mercer_view &y,
                              const mercer_view &k) const {
    if (!leaf.plugin) return kernel_->user->tile(x, y, k);
    const int32_t status = operate(*leaf.plugin, "block", [&] {
        return leaf.plugin->kernel.block(&host_table(), &task, leaf.values(), &x, &y, &k);
    });
    task.arena.clear();
    task.check(status, *leaf.plugin);
}

template <class T>
void Tiles<T>::compute(const Strip &x, const Panel<T> &y, TileScratch<T> &scratch) const {
    T *out = scratch.tile.data();
    if (!kernel_) return x_->objects() ? object_values(x, y, out, scratch) : form(0, x, y, out, scratch);
    const bool alone = kernel_->leaves.size() == 1;
    if (alone) leaf_values(0, x, y, out, scratch);
    if (alone && kernel_->terms()[0].weight == 1) return;
    auto each = [&](auto &&body) {
        for (int64_t i = 0; i < x.rows; ++i)
            for (int64_t k = i * tile_rows; k < i * tile_rows + y.rows; ++k) body(k);
    };
    if (alone) return each([&](int64_t k) { out[k] *= static_cast<T>(kernel_->terms()[0].weight); });
    each([&](int64_t k) { out[k] = 0; });
    T *product = scratch.product.data(), *factor = scratch.factor.data();
    for (const Expression::Term &term : kernel_->terms()) {
        leaf_values(term.leaves[0], x, y, product, scratch);
        for (size_t l = 1; l < term.leaves.size(); ++l) {
            leaf_values(term.leaves[l], x, y, factor, scratch);
            each([&](int64_t k) { product[k] *= factor[k]; });
        }
        const T weight = static_cast<T>(term.weight);
        each([&](int64_t k) { out[k] += weight * product[k]; });
    }
}

// Uses the product rule: the leaf's own derivative times the other factors of its term. For equal
// rows the result is set to 0: d|x - y|^2/dx is 0 there, and at a cusp no better value is known.
template <class T>
void Tiles<T>::derivative(size_t index, const Strip &x, const Panel<T> &y, TileScratch<T> &scratch) const {
    T *out = scratch.tile.data(), *factor = scratch.factor.data();
    const Leaf &leaf = kernel_->leaves[index];
    auto each = [&](auto &&body) {
        for (int64_t i = 0; i < x.rows; ++i)
            for (int64_t k = i * tile_rows; k < i * tile_rows + y.rows; ++k) body(k);
    };
    if (leaf.plugin->kernel.derivative) {
        form(index, x, y, out, scratch);
        std::vector<int64_t> &equal = scratch.i;
        equal.clear();
        if (leaf.form == MERCER_SQDIST)
            each([&](int64_t k) {
                if (out[k] == 0) equal.push_back(k);
            });
        for (int64_t i = 0; i < x.rows; ++i) leaf.derivative(dtype_of<T>, out + i * tile_rows, y.rows);
        for (int64_t k : equal) out[k] = 0;
    } else { // there is no map either, so the kernel is its form
        each([&](int64_t k) { out[k] = 1; });
    }
    for (const Expression::Term &term : kernel_->terms()) {
        if (index < term.leaves.front() || index > term.leaves.back()) continue;
        for (size_t other : term.leaves) {
            if (other == index) continue;
            leaf_values(other, x, y, factor, scratch);
            each([&](int64_t k) { out[k] *= factor[k]; });
        }
        const T weight = static_cast<T>(term.weight);
        if (term.weight != 1) each([&](int64_t k) { out[k] *= weight; });
    }
}

template <class T>
bool Tiles<T>::has_log() const {
    return kernel_ && kernel_->leaves.size() == 1 && kernel_->leaves[0].plugin &&
           kernel_->leaves[0].plugin->kernel.log_map;
}

template <class T>
void Tiles<T>::compute_log(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) const {
    T *out = scratch.tile.data();
    const Leaf &leaf = kernel_->leaves[0];
    const Strip all{x, 0, x.rows};
    x_->objects() ? object_values(all, y, out, scratch) : form(0, all, y, out, scratch);
    for (int64_t i = 0; i < x.rows; ++i) leaf.log_map(dtype_of<T>, out + i * tile_rows, y.rows);
}

template <class T>
void Tiles<T>::self(Run &run, const Panel<T> &x, bool queries, T *out) const {
    const int64_t n = x.rows;
    mercer_task task(run, Random(0, Stage::gram));
    std::vector<T> values(static_cast<size_t>(n));
    std::fill_n(out, n, T(0));
    for (const Expression::Term &term : kernel_->terms()) {
        std::vector<T> product(static_cast<size_t>(n), static_cast<T>(term.weight));
        for (size_t l : term.leaves) {
            const Leaf &leaf = kernel_->leaves[l];
            const LeafRows<T> &rows = x.leaves[l];
            std::fill(values.begin(), values.end(), T(0)); // sqdist, l1, chi2 and hamming of equal rows are 0
            if (const ObjectSource *objects = x_->objects()) {
                std::vector<double> own(values.size());
                objects->self(x.ids.data(), n, queries, own.data());
                std::copy(own.begin(), own.end(), values.begin());
            } else if (leaf.form <= MERCER_COSINE || leaf.form == MERCER_MIN) {
                std::copy_n(x.sparse() ? x.norms.data() : rows.norms.data(), n, values.data());
            } else if (leaf.form == MERCER_BLOCK) {
                constexpr int64_t edge = 16; // blocks save calls, although only their diagonals are used
                T block[edge * edge];
                for (int64_t i = 0; i < n; i += edge) {
                    int64_t m = std::min(edge, n - i);
                    mercer_view xs = row_view(rows.x + i * rows.d, m, rows.d), ks = row_view(block, m, m);
                    evaluate_block(leaf, task, xs, xs, ks);
                    check_user_values(leaf, x.row0 + i, block, m * m);
                    for (int64_t k = 0; k < m; ++k) values[static_cast<size_t>(i + k)] = block[k * m + k];
                }
            }
            if (leaf.form != MERCER_BLOCK || x_->objects()) leaf.map(dtype_of<T>, values.data(), n);
            for (size_t i = 0; i < values.size(); ++i) product[i] *= values[i];
        }
        for (size_t i = 0; i < product.size(); ++i) out[i] += product[i];
    }
}

template class Tiles<float>;
template class Tiles<double>;

} // namespace mercer
