// df/dx: the gradient of every component at every query, with respect to the columns as the caller
// gave them.
//
//     f_l(x) = sum_i A_il k(T x, c_i) - b_l
//     k = sum of terms, a term = weight * product of leaves k_j(v_j)
//
// For a leaf of form v let G_i = dk/dv = weight * (the other leaves of its term) * k_j'(v) at
// (T x, c_i). On the columns of this leaf
//
//     dot      df_l/dx = sum_i A_il G_i c_i
//     sqdist   df_l/dx = sum_i A_il G_i 2 (x - c_i) = 2 [ x (G A)_l - G (A_l o C) ]
//
// Both forms are one product of the tile G with W = [A_l o C, A_l], where o multiplies row i of C
// by A_il. W is made for each panel of centres, and the scale of T is applied at the end. The rows
// of a leaf are shifted to the training mean, which leaves differences unchanged.
// Cost: n m (kernel value + 2 r (d + 1)) flops. Memory: 256 x r d sums per thread. If that is more
// than 16 MiB, components are processed in groups, each of which computes the kernel values again.
// Error: that of G, and that of x, which is rounded by u |x - mean|. Near a centre x - c_i cancels,
// and the result is the gradient at a point that has moved by as much. A centre equal to x
// contributes nothing, even if the kernel has a cusp there.
#include "outputs.h"

#include "evaluate.h"

#include "../core/threads.h"

#include <algorithm>

namespace mercer {
namespace {

template <class T>
class Gradient {
  public:
    Gradient(Run &run, const Model &model, int64_t first, int64_t count)
        : run_(run), model_(model), first_(first), count_(count),
          stride_(padded_columns<T>(count * (model.d_mapped() + 1))),
          pool_([&] { return std::unique_ptr<Scratch>(new Scratch(run_, stride_)); }) {}

    // Adds the contributions of the centres in y to sums (x.rows x count d).
    void add(const Tiles<T> &tiles, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, double *sums) {
        auto own = pool_.take();
        for (size_t leaf = 0; leaf < model_.kernel().leaves.size(); ++leaf) {
            const int64_t d = y.leaves[leaf].d, width = padded_columns<T>(count_ * (d + 1));
            weigh(y, leaf, width, own->weights.data());
            for (int64_t row0 = 0; row0 < x.rows; row0 += strip_rows) {
                const typename Tiles<T>::Strip strip{x, row0, std::min(strip_rows, x.rows - row0)};
                tiles.derivative(leaf, strip, y, scratch);
                thin_table<T>().product(strip.rows, width, y.rows, scratch.tile.data(), tile_rows, 1,
                                        own->weights.data(), width, own->product.data(), width, false);
                spread(strip, leaf, own->product.data(), width, sums);
            }
        }
    }

  private:
    struct Scratch {
        Scratch(Run &run, int64_t stride)
            : weights(run.buffer<T>(tile_rows, stride)), product(run.buffer<T>(strip_rows, stride)) {}
        Buffer<T> weights, product;
    };

    // Row i holds, for each component l, the d numbers A_il c_i, then A_il.
    void weigh(const Panel<T> &y, size_t leaf, int64_t width, T *out) const {
        const Tensor &a = *model_.tensor("A");
        const int64_t d = y.leaves[leaf].d;
        for (int64_t i = 0; i < y.rows; ++i, out += width) {
            const T *row = y.leaves[leaf].x + i * d, *weight = tensor_data<T>(a) + (y.row0 + i) * a.cols + first_;
            T *to = out;
            for (int64_t l = 0; l < count_; ++l) {
                for (int64_t c = 0; c < d; ++c) *to++ = weight[l] * row[c];
                *to++ = weight[l];
            }
            std::fill(to, out + width, T(0));
        }
    }

    // Adds the products of a strip with W to the sums of its rows.
    void spread(const typename Tiles<T>::Strip &strip, size_t index, const T *product, int64_t width,
                double *sums) const {
        const Leaf &leaf = model_.kernel().leaves[index];
        const LeafRows<T> &rows = strip.x.leaves[index];
        const int64_t d = rows.d, all = model_.d_mapped();
        for (int64_t i = 0; i < strip.rows; ++i, product += width) {
            const T *x = rows.x + (strip.row0 + i) * d, *from = product;
            double *to = sums + (strip.row0 + i) * count_ * all;
            for (int64_t l = 0; l < count_; ++l, from += d + 1, to += all)
                for (int64_t c = 0; c < d; ++c) {
                    const double moved = static_cast<double>(from[c]);
                    const int64_t column = leaf.columns.empty() ? c : leaf.columns[static_cast<size_t>(c)];
                    to[column] += leaf.form == MERCER_DOT
                                      ? moved
                                      : 2 * (static_cast<double>(x[c]) * static_cast<double>(from[d]) - moved);
                }
        }
    }

    Run &run_;
    const Model &model_;
    // Components first_ ... first_ + count_ - 1 are computed. stride_: the largest padded length of
    // a row of W.
    int64_t first_, count_, stride_;
    Pool<Scratch> pool_;
};

} // namespace

template <class T>
void gradient(const Request<T> &request) {
    const Model &model = request.model;
    // The model's map of inputs (not the type T) scales columns one by one. The gradient therefore
    // has d columns, and the chain rule multiplies each of them by its scale.
    const int64_t r = model.r(), d = model.d();
    constexpr int64_t most = int64_t{1} << 21; // upper limit on the number of sums of a panel
    const int64_t group = std::max<int64_t>(most / (tile_rows * (d + 1)), 1);
    Evaluator<T> evaluator(request.run, model, request.data, Evaluator<T>::Panels::rows);
    for (int64_t first = 0; first < r; first += group) {
        const int64_t count = std::min(group, r - first);
        const double all = static_cast<double>(r);
        Run::Span span(request.run, static_cast<double>(first) / all, static_cast<double>(first + count) / all);
        Gradient<T> part(request.run, model, first, count);
        evaluator.accumulate(
            count * d,
            [&](const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, double *sums) {
                part.add(evaluator.tiles(), x, y, scratch, sums);
            },
            [&](const Panel<T> &x, double *sums) {
                for (int64_t i = 0; i < x.rows; ++i) {
                    double *row = sums + i * count * d;
                    for (int64_t k = 0; !model.map().identity() && k < count * d; ++k)
                        row[k] *= model.map().scale[static_cast<size_t>(k % d)];
                    request.outs[0].put(x.row0 + i, first * d, row, count * d);
                }
            });
    }
}
template void gradient(const Request<float> &);
template void gradient(const Request<double> &);

} // namespace mercer
