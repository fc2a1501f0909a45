// A tile of squared distances comes from a product and norms; where less than `doubt` of the norms is left, the pair is
// recomputed by differences. The product errs by about e = 2 sqrt(d + 8) u of the norms (rounding errors of d terms add up
// like a random walk); doubt = 16 sqrt(e) balances the two: what is left of e is at most sqrt(e) / 16 of the distance (f64
// 2e-9, f32 5e-5 at d = 16), and few pairs are that close: below 1 % of the norms at d = 16 in f32, 3 % at d = 800. Rows
// are shifted to their training mean before, so that norms are no larger than the data's spread.
#include "tile.h"

#include "../core/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

template <class T>
constexpr int32_t dtype_of = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;

template <class T>
T doubt(int64_t d) {
    const double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    return static_cast<T>(16 * std::sqrt(2 * std::sqrt(static_cast<double>(d + 8)) * u));
}

template <class T>
mercer_view row_view(const T *data, int64_t rows, int64_t cols) {
    return {sizeof(mercer_view), dtype_of<T>, 0, rows, cols, cols, 1, const_cast<T *>(data)};
}

// One side sparse, the other not: a tile wants both alike.
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
                 "kernel = %s: objects that give distances need kernels of a distance (gaussian ...)", text.c_str());
        if (!objects.is_distance() && leaf.plugin)
            fail(MERCER_E_UNSUPPORTED, "kernel = %s: objects that give kernel values need the kernel 'user'",
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
    return (kernel_ && kernel_->calls_back() && !objects) || (objects && !objects->thread_safe());
}

template <class T>
TileScratch<T> Tiles<T>::scratch(Run &run) const {
    return TileScratch<T>(run, kernel_ ? static_cast<int64_t>(kernel_->leaves.size()) : 1,
                          x_->sparse() ? x_->cols() : 0);
}

template <class T>
int64_t Tiles<T>::scratch_bytes() const {
    int64_t tiles = kernel_ && kernel_->leaves.size() > 1 ? 3 : 1;
    return (tiles * tile_rows * tile_rows + (x_->sparse() ? x_->cols() : 0)) * static_cast<int64_t>(sizeof(T)) +
           (x_->objects() ? tile_rows * tile_rows * 24 : 0);
}

template <class T>
void Tiles<T>::sparse_dot(const Panel<T> &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    T *dense = scratch.row.data(); // x_i with its zeros; all zero between rows
    for (int64_t i = 0; i < x.rows; ++i) {
        for (int64_t k = x.offsets[i]; k < x.offsets[i + 1]; ++k) dense[x.columns[k]] = x.values[k];
        for (int64_t j = 0; j < y.rows; ++j) {
            T sum = 0;
            for (int64_t k = y.offsets[j]; k < y.offsets[j + 1]; ++k) sum += y.values[k] * dense[y.columns[k]];
            out[i * y.rows + j] = sum;
        }
        for (int64_t k = x.offsets[i]; k < x.offsets[i + 1]; ++k) dense[x.columns[k]] = 0;
    }
}

template <class T>
void Tiles<T>::object_values(const Panel<T> &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const size_t m = static_cast<size_t>(x.rows), n = static_cast<size_t>(y.rows);
    scratch.i.resize(m * n);
    scratch.j.resize(m * n);
    scratch.values.resize(m * n);
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
            scratch.i[i * n + j] = x.ids[i];
            scratch.j[i * n + j] = y.ids[j];
        }
    x_->objects()->pairs(scratch.i.data(), scratch.j.data(), x.rows * y.rows, scratch.values.data());
    std::copy(scratch.values.begin(), scratch.values.end(), out);
}

template <class T>
void Tiles<T>::form(size_t index, const Panel<T> &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const LeafRows<T> &a = x.leaves[index], &b = y.leaves[index];
    const int64_t m = x.rows, n = y.rows, d = a.d;
    const FormTable<T> &forms = form_table<T>();
    switch (x_->leaves()[index].form) {
    case MERCER_DOT:
    case MERCER_SQDIST: {
        const bool distance = x_->leaves()[index].form == MERCER_SQDIST;
        if (x.sparse()) { // equal rows are at 0 because norms are summed in the same order
            sparse_dot(x, y, out, scratch);
            if (distance) forms.sqdist(m, n, d, nullptr, nullptr, x.norms.data(), y.norms.data(), T(-1), out, n);
            return;
        }
        gemm('T', 'N', n, m, d, T(1), b.x, d, a.x, d, T(0), out, n); // row-major out = (y x^T)^T in BLAS' order
        if (distance) forms.sqdist(m, n, d, a.x, b.x, a.norms.data(), b.norms.data(), doubt<T>(d), out, n);
        return;
    }
    case MERCER_L1: return forms.l1(m, n, d, a.x, b.transposed.data(), out, n);
    case MERCER_CHI2: return forms.chi2(m, n, d, a.x, b.transposed.data(), out, n);
    case MERCER_MIN: return forms.min(m, n, d, a.x, b.transposed.data(), out, n);
    default: return forms.hamming(m, n, d, a.x, b.transposed.data(), out, n);
    }
}

template <class T>
void Tiles<T>::map(const Leaf &leaf, T *values, int64_t count) const {
    if (leaf.plugin && leaf.plugin->kernel.map)
        leaf.plugin->kernel.map(&host_table(), leaf.values(), dtype_of<T>, values, count);
}

namespace {

template <class T>
void check_user_values(const Leaf &leaf, int64_t row0, const T *values, int64_t count) {
    for (int64_t k = 0; !leaf.plugin && k < count; ++k)
        if (!std::isfinite(values[k]))
            fail(MERCER_E_CALLBACK, "the user kernel gave %g in the block of row %" PRId64 ", must be finite",
                 static_cast<double>(values[k]), row0);
}

} // namespace

template <class T>
void Tiles<T>::leaf_values(size_t index, const Panel<T> &x, const Panel<T> &y, T *out, TileScratch<T> &scratch) const {
    const Leaf &leaf = kernel_->leaves[index];
    const int64_t m = x.rows, n = y.rows;
    if (x_->objects()) {
        object_values(x, y, out, scratch);
        return map(leaf, out, m * n);
    }
    if (leaf.form != MERCER_BLOCK) {
        form(index, x, y, out, scratch);
        return map(leaf, out, m * n);
    }
    mercer_view xs = row_view(x.leaves[index].x, m, x.leaves[index].d),
                ys = row_view(y.leaves[index].x, n, y.leaves[index].d);
    mercer_view ks = row_view(out, m, n);
    evaluate_block(leaf, scratch.task, xs, ys, ks);
    check_user_values(leaf, x.row0, out, m * n);
}

template <class T>
void Tiles<T>::evaluate_block(const Leaf &leaf, mercer_task &task, const mercer_view &x, const mercer_view &y,
                              const mercer_view &k) const {
    if (!leaf.plugin) return kernel_->user->tile(x, y, k);
    int32_t status = leaf.plugin->kernel.block(&host_table(), &task, leaf.values(), &x, &y, &k);
    task.arena.clear();
    task.check(status, *leaf.plugin);
}

template <class T>
void Tiles<T>::compute(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) const {
    T *out = scratch.tile.data();
    const int64_t count = x.rows * y.rows;
    if (!kernel_) return x_->objects() ? object_values(x, y, out, scratch) : form(0, x, y, out, scratch);
    if (kernel_->leaves.size() == 1 && kernel_->terms()[0].weight == 1) return leaf_values(0, x, y, out, scratch);
    if (kernel_->leaves.size() == 1) {
        leaf_values(0, x, y, out, scratch);
        for (int64_t k = 0; k < count; ++k) out[k] *= static_cast<T>(kernel_->terms()[0].weight);
        return;
    }
    std::fill_n(out, count, T(0));
    T *product = scratch.product.data(), *factor = scratch.factor.data();
    for (const Expression::Term &term : kernel_->terms()) {
        leaf_values(term.leaves[0], x, y, product, scratch);
        for (size_t l = 1; l < term.leaves.size(); ++l) {
            leaf_values(term.leaves[l], x, y, factor, scratch);
            for (int64_t k = 0; k < count; ++k) product[k] *= factor[k];
        }
        const T weight = static_cast<T>(term.weight);
        for (int64_t k = 0; k < count; ++k) out[k] += weight * product[k];
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
    x_->objects() ? object_values(x, y, out, scratch) : form(0, x, y, out, scratch);
    leaf.plugin->kernel.log_map(&host_table(), leaf.values(), dtype_of<T>, out, x.rows * y.rows);
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
            std::fill(values.begin(), values.end(), T(0)); // sqdist, l1, chi2, hamming of a row with itself
            if (const ObjectSource *objects = x_->objects()) {
                std::vector<double> own(values.size());
                objects->self(x.ids.data(), n, queries, own.data());
                std::copy(own.begin(), own.end(), values.begin());
            } else if (leaf.form == MERCER_DOT || leaf.form == MERCER_MIN) {
                std::copy_n(x.sparse() ? x.norms.data() : rows.norms.data(), n, values.data());
            } else if (leaf.form == MERCER_BLOCK) {
                constexpr int64_t edge = 16; // small blocks: n / 16 calls, not n
                T block[edge * edge];
                for (int64_t i = 0; i < n; i += edge) {
                    int64_t m = std::min(edge, n - i);
                    mercer_view xs = row_view(rows.x + i * rows.d, m, rows.d), ks = row_view(block, m, m);
                    evaluate_block(leaf, task, xs, xs, ks);
                    check_user_values(leaf, x.row0 + i, block, m * m);
                    for (int64_t k = 0; k < m; ++k) values[static_cast<size_t>(i + k)] = block[k * m + k];
                }
            }
            if (leaf.form != MERCER_BLOCK || x_->objects()) map(leaf, values.data(), n);
            for (size_t i = 0; i < values.size(); ++i) product[i] *= values[i];
        }
        for (size_t i = 0; i < product.size(); ++i) out[i] += product[i];
    }
}

template <class T>
void sweep(Run &run, const Tiles<T> &tiles, int64_t row0, int64_t rows,
           const std::function<bool(const Tile<T> &)> &body, Range range) {
    // Panels of y are made once where they are small, else again for each slab (1/256 of its arithmetic).
    constexpr int64_t keep_bytes = int64_t{64} << 20;
    const int64_t y_blocks = blocks_of(tiles.y().rows());
    std::vector<Panel<T>> kept;
    if (y_blocks * tiles.y().panel_bytes() <= std::min(keep_bytes, run.budget()->left() / 4)) {
        kept.resize(static_cast<size_t>(y_blocks));
        for (int64_t b = 0; b < y_blocks; ++b) kept[static_cast<size_t>(b)] = tiles.y().load(run, b);
    }
    auto slab = [&](int64_t s) {
        TileScratch<T> scratch = tiles.scratch(run);
        Panel<T> x = tiles.x().load(run, row0 + s * tile_rows, std::min(tile_rows, rows - s * tile_rows));
        for (int64_t b = range == Range::upper ? s : 0; b < y_blocks; ++b) {
            if (run.stopped(static_cast<double>(s) / static_cast<double>(blocks_of(rows)))) return;
            Panel<T> loaded;
            if (kept.empty()) loaded = tiles.y().load(run, b);
            const Panel<T> &y = kept.empty() ? loaded : kept[static_cast<size_t>(b)];
            tiles.compute(x, y, scratch);
            if (!body({s, x, y, scratch.tile.data()})) break;
        }
    };
    if (tiles.serial())
        for (int64_t s = 0; s < blocks_of(rows); ++s) slab(s);
    else
        parallel_for(run, blocks_of(rows), slab);
    run.progress(1);
}

template class Tiles<float>;
template class Tiles<double>;
template void sweep(Run &, const Tiles<float> &, int64_t, int64_t, const std::function<bool(const Tile<float> &)> &,
                    Range);
template void sweep(Run &, const Tiles<double> &, int64_t, int64_t, const std::function<bool(const Tile<double> &)> &,
                    Range);

} // namespace mercer
